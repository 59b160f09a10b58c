"""Destinations by their text."""

from jmsbridge.config import mask_url
from jmsbridge.config.backends import NETWORKED
from jmsbridge.destinations import Destination, destination_of
from jmsbridge.errors import ConfigurationError
from jmsbridge.spi import Address, registry

__all__ = ["destination_named"]

_KINDS = ("queue", "topic", "temp-queue", "temp-topic")


def destination_named(text: str) -> Destination:
    """A destination from its text: ``topic:news``, ``queue:orders``, or just ``orders`` for a queue."""
    kind, colon, name = text.partition(":")
    if not colon or kind not in _KINDS:
        _refuse_url(text)
        kind, name = "queue", text
    if not name:
        raise ConfigurationError("a destination needs a name, such as 'orders' or 'topic:news'")
    return destination_of(Address(name, kind.endswith("topic"), kind.startswith("temp-")))  # as `list` shows it


def _refuse_url(text: str) -> None:
    """Refuse a target in the place of a destination: it would become a queue name, its password included."""
    scheme, colon, rest = text.partition(":")
    known = colon and scheme.lower() in {*registry.names(), *NETWORKED}
    if (known and (rest.startswith("/") or "@" in rest)) or (text.startswith("//") and mask_url(text) != text):
        raise ConfigurationError(
            f"{mask_url(text)!r} is a target, not a destination: give it with --target (-t); "
            "for a queue of that name write 'queue:NAME'"
        )

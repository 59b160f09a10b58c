"""Names that a broker would not take, or not literally. Pure."""

from collections.abc import Sequence

from jmsbridge.spi import Address, AddressRefused, ClientIdRefused, Endpoint

__all__ = ["check_client_id", "check_key", "check_literal", "is_unicode"]


def is_unicode(text: str) -> bool:
    """Whether it can be written as UTF-8: it has no unpaired surrogate."""
    if text.isascii():  # most are, and faster
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_literal(address: Address, broker: str, syntax: Sequence[str] = (), wildcards: Sequence[str] = ()) -> None:
    """AddressRefused for a name that is not Unicode, or in which the broker finds a meaning.

    ``syntax`` are texts with a meaning of their own, ``wildcards`` words between full stops that are wildcards.
    """
    _check(address.name, address, broker, syntax)
    if wildcards and any(word in wildcards for word in address.name.split(".")):
        raise AddressRefused(f"{address}: a word {' or '.join(wildcards)} is a wildcard of {broker}")


def check_key(key: str, broker: str, syntax: Sequence[str] = ()) -> None:
    """AddressRefused for the name of a subscription that is not Unicode, or has a text with a meaning of its own."""
    _check(key, f"subscription {key!r}", broker, syntax)


def _check(name: str, what: object, broker: str, syntax: Sequence[str]) -> None:
    if not is_unicode(name):
        raise AddressRefused(f"{name!r} has an unpaired surrogate, which {broker} does not allow in names")
    for part in syntax:
        if part in name:
            raise AddressRefused(f"{what}: {part!r} has a meaning of its own in names of {broker}")


def check_client_id(endpoint: Endpoint) -> None:
    """ClientIdRefused for one that is not Unicode."""
    if endpoint.client_id is not None and not is_unicode(endpoint.client_id):
        raise ClientIdRefused(f"the client id {endpoint.client_id!r} has an unpaired surrogate")

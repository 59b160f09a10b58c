"""What the products differ in on the wire: destinations, texts, delays. Pure."""

from typing import Final

import msgspec

from jmsbridge.spi import Address, AddressRefused
from jmsbridge.transport.literal_names import check_literal

__all__ = ["ARTEMIS", "CLASSIC", "OLD_CLASSIC", "RABBITMQ", "Dialect"]

_TEMPORARY: Final = ("/remote-temp-queue/", "/remote-temp-topic/", "/temp-queue/", "/temp-topic/", "/reply-queue/")
_PREFIXES: Final = ("/queue/", "/topic/")
_SLASH: Final = "%2F"


class Dialect(msgspec.Struct, frozen=True, kw_only=True):
    """One product."""

    name: str
    routes: bool
    """Names have no prefix, and a header says whether a destination is a queue or a topic."""
    text_header: bool
    """A header marks a text whose length is given, so that it may contain NUL."""
    modified_utf8: bool = False
    """Texts are in Java's modified UTF-8."""
    keeps_timestamp: bool
    """The sender's ``timestamp`` becomes JMSTimestamp."""
    syntax: tuple[str, ...]
    """Texts with a meaning of their own in names."""
    wildcards: tuple[str, ...]
    """Words between full stops that are wildcards."""
    longest_name: int = 0
    """Bytes of any name, and of the texts that the broker keeps beside the headers; 0 if there is no such limit."""
    largest: int = 0
    """Bytes of a frame, without the command and its receipt; the broker ends the connection for more. 0: no limit."""
    amqp: bool = False
    """Headers become properties of AMQP 0-9-1: ``expiration`` is the time to live, ``timestamp`` is in seconds, some
    say how a queue is made, and a slash in a name is escaped."""
    reserved: frozenset[str] = frozenset()
    """More headers with a meaning, so that a property of such a name is carried in ``SIDE``."""

    def check(self, address: Address) -> None:
        """AddressRefused for a name in which this broker finds a wildcard, an option, or more than one name."""
        name = address.name
        if address.temporary and name.startswith(_TEMPORARY):
            return
        check_literal(address, self.name, self.syntax, self.wildcards)
        if self.routes and name.startswith(_PREFIXES):
            raise AddressRefused(f"{address}: {self.name} takes {' or '.join(_PREFIXES)} for a prefix, not for a name")
        if not name or name != name.strip() or "\0" in name:
            raise AddressRefused(f"{address}: {self.name} takes no empty name, no NUL, and no space at the ends of one")
        if not self.is_short(name):
            raise AddressRefused(f"{address}: {self.name} takes names of at most {self.longest_name} bytes")

    def is_short(self, text: str) -> bool:
        """Whether this is not too long for a name."""
        most = self.longest_name
        return not most or len(text) <= most // 4 or len(text.encode("utf-8", "replace")) <= most

    def hides(self, name: str) -> bool:
        """Whether a property of this name has no header of its own, although others of this form have."""
        return name in self.reserved or not self.is_short(name)

    def destination(self, address: Address) -> tuple[str, str]:
        """The value of ``destination``, and the routing type, which is empty if there is none."""
        if self.routes:
            return address.name, "MULTICAST" if address.topic else "ANYCAST"
        if address.temporary and address.name.startswith(_TEMPORARY):
            return address.name, ""
        name = address.name.replace("/", _SLASH) if self.amqp else address.name
        return f"/{'topic' if address.topic else 'queue'}/{name}", ""

    def creation(self, address: Address) -> tuple[tuple[str, str], ...]:
        """The headers with which a queue is made, if it is not there yet.

        It may otherwise be a quorum queue, which drops a message that has returned too often.
        """
        return (("x-queue-type", "classic"),) if self.amqp and not address.topic else ()

    def reply_to(self, address: Address) -> str:
        """The value of ``reply-to``, as Java programs understand it."""
        if self.routes:
            return f"{'temp-' if address.temporary else ''}{'topic' if address.topic else 'queue'}://{address.name}"
        return self.destination(address)[0]

    def reply_address(self, text: str) -> Address | None:
        """The destination that a ``reply-to`` names; None for an empty one."""
        if not text:
            return None
        if text.startswith(_TEMPORARY):
            return Address(text, "topic" in text.split("/")[1], temporary=True)
        for kind, topic in (("queue", False), ("topic", True)):
            for start, temporary in ((f"/{kind}/", False), (f"{kind}://", False), (f"temp-{kind}://", True)):
                if text.startswith(start):
                    name = text.removeprefix(start)
                    return Address(name.replace(_SLASH, "/") if self.amqp else name, topic, temporary)
        return Address(text)


ARTEMIS: Final = Dialect(
    name="Artemis",
    routes=True,
    text_header=False,
    keeps_timestamp=False,
    syntax=("::", "?", "queue://", "topic://"),
    wildcards=("*", "#"),
)
CLASSIC: Final = Dialect(
    name="ActiveMQ Classic",
    routes=False,
    text_header=True,
    keeps_timestamp=True,
    syntax=(",", "?"),
    wildcards=("*", ">"),
)
OLD_CLASSIC: Final = msgspec.structs.replace(CLASSIC, modified_utf8=True, text_header=False)
"""Before 5.18.6, and 6.0.0 to 6.1.3."""
RABBITMQ: Final = Dialect(
    name="RabbitMQ",
    routes=False,
    text_header=False,
    keeps_timestamp=False,
    syntax=(_SLASH, "\n", "\r"),
    wildcards=("*", "#"),
    longest_name=255,
    largest=(4 << 20) - 64,
    amqp=True,
    reserved=frozenset({"durable", "exclusive", "expiration"}),
)

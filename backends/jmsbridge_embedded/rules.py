"""What may be consumed by whom, and what a dead letter says."""

from typing import TYPE_CHECKING, Any, Final

import msgspec

from jmsbridge.spi import Address, AddressInUse, AddressRefused, Envelope, SelectorRefused

if TYPE_CHECKING:
    from jmsbridge.selectors import Selector
    from jmsbridge_embedded.link import Link

__all__ = [
    "DEAD_LETTERS",
    "DEAD_LETTER_ORIGIN",
    "DEAD_LETTER_REASON",
    "check_creatable",
    "check_owner",
    "compiled",
    "dead_letter",
]

DEAD_LETTERS: Final = Address("DLQ")
"""Where rejected messages go."""

DEAD_LETTER_REASON: Final = "JMS_jmsbridge_dead_letter_reason"
DEAD_LETTER_ORIGIN: Final = "JMS_jmsbridge_dead_letter_origin"


def compiled(selector: str | None) -> "Selector | None":
    """The selector ready for use."""
    if not selector:
        return None
    from jmsbridge.selectors import compile_selector  # here, since loading the grammar takes longer than connecting

    try:
        return compile_selector(selector)
    except ValueError as error:
        raise SelectorRefused(f"selector {selector!r}: {error}") from error


def check_owner(address: Address, owner: "Link | None", link: "Link") -> None:
    """Temporary destinations are consumed only by their link (section 4.1.3)."""
    if owner is not None and owner is not link:
        raise AddressInUse(f"{address} is a temporary destination of another connection; only that one may consume it")


def check_creatable(address: Address) -> None:
    """Queues and topics are made on first use, but temporary ones only by ``declare``."""
    if address.temporary:
        raise AddressRefused(f"{address} does not exist any more: it was deleted or its connection is gone")
    if not address.name:
        raise AddressRefused("a destination needs a name")


def dead_letter(envelope: Envelope, origin: str, deliveries: int) -> Envelope:
    """A rejected message as it lies in the dead-letter queue: it says why and whence, and does not expire."""
    properties: dict[str, Any] = dict(envelope.properties)
    properties[DEAD_LETTER_REASON] = f"rejected after {deliveries} {'delivery' if deliveries == 1 else 'deliveries'}"
    if envelope.address != DEAD_LETTERS:
        properties[DEAD_LETTER_ORIGIN] = origin
    return msgspec.structs.replace(
        envelope, address=DEAD_LETTERS, properties=properties, expiration=0, delivery_time=0, duplicate_id=None
    )

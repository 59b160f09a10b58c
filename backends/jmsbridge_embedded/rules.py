"""What may be consumed by whom, and what a dead letter says."""

from typing import TYPE_CHECKING, Final

import msgspec

from jmsbridge.spi import (
    Address,
    AddressInUse,
    AddressRefused,
    Envelope,
    SelectorRefused,
    dead_letter_notes,
)

if TYPE_CHECKING:
    from jmsbridge.selectors import Selector
    from jmsbridge_embedded.memory.link import Link

__all__ = [
    "DEAD_LETTERS",
    "check_creatable",
    "check_owner",
    "compiled",
    "dead_letter",
    "is_expired",
]

DEAD_LETTERS: Final = Address("DLQ")
"""Where rejected messages go, unless their subscription says otherwise."""


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


def dead_letter(
    envelope: Envelope, to: Address, origin: str, deliveries: int, now: int, reason: str | None = None
) -> Envelope:
    """A message as it lies in the queue where it is put aside: it says why, when and whence, and does not expire.

    Without a ``reason`` it was rejected.
    """
    notes = dead_letter_notes(reason, None if envelope.address == to else origin, deliveries, now)
    return msgspec.structs.replace(
        envelope,
        address=to,
        properties={**envelope.properties, **notes},
        expiration=0,
        delivery_time=0,
        duplicate_id=None,
    )


def is_expired(envelope: Envelope, now: int) -> bool:
    """Whether nobody is to get it any more."""
    return 0 < envelope.expiration <= now

"""Checks and error messages that the brokers in memory and in a file share, and the making of dead letters."""

from typing import TYPE_CHECKING, Final

import msgspec

from jmsbridge.spi import (
    Address,
    AddressInUse,
    AddressRefused,
    ClientIdRefused,
    Envelope,
    Interest,
    LinkLost,
    Mode,
    NotSupported,
    SelectorRefused,
    SendRefused,
    SubscriptionRefused,
    SubscriptionUnknown,
    Ticket,
    dead_letter_notes,
)
from jmsbridge.transport.tickets import Answer

if TYPE_CHECKING:
    from jmsbridge.selectors import Selector

__all__ = [
    "DEAD_LETTERS",
    "answer",
    "check_alive",
    "check_client_id",
    "check_creatable",
    "check_interest",
    "check_owner",
    "check_reusable",
    "check_transacted",
    "check_unsubscribe",
    "check_unused",
    "compiled",
    "dead_letter",
    "full",
    "is_expired",
]

DEAD_LETTERS: Final = Address("DLQ")
"""Where rejected messages go, unless their subscription names another queue."""


def compiled(selector: str | None) -> "Selector | None":
    """The compiled selector; ``SelectorRefused`` if it is not valid."""
    if not selector:
        return None
    from jmsbridge.selectors import compile_selector  # imported here: loading the grammar takes longer than connecting

    try:
        return compile_selector(selector)
    except ValueError as error:
        raise SelectorRefused(f"selector {selector!r}: {error}") from error


# -- links and destinations --------------------------------------------------------------------------------------


def answer(ticket: Ticket | None, lost: str | None) -> None:
    """Answer a verb: with success, or with ``LinkLost`` if its object is ``lost``; without a ticket, raise it."""
    with Answer(ticket):
        check_alive(lost)


def check_alive(lost: str | None) -> None:
    """Raise ``LinkLost`` if there is a reason why something is lost."""
    if lost is not None:
        raise LinkLost(lost)


def check_transacted(transaction: object) -> None:
    """Only a transacted channel can commit and roll back."""
    if transaction is None:
        raise NotSupported("this channel has no transaction: it was opened with transacted=False")


def check_client_id(client_id: str | None, in_use: bool, where: str) -> None:
    """A client id belongs to one live link at a time (section 6.1.2)."""
    if client_id == "":
        raise ClientIdRefused("the client id is empty; set a client id or leave it out")
    if in_use:
        raise ClientIdRefused(
            f"client id {client_id!r} is in use by another connection to {where}; close that one or use another id"
        )


def check_owner(address: Address, foreign: bool, doing: str = "consume") -> None:
    """Only the link that made a temporary destination may consume or delete it (section 4.1.3)."""
    if foreign:
        raise AddressInUse(f"{address} is a temporary destination of another connection; only that one may {doing} it")


def check_creatable(address: Address) -> None:
    """Queues and topics are created on first use, but temporary ones only by ``declare``."""
    if address.temporary:
        raise AddressRefused(f"{address} does not exist any more: it was deleted or its connection has ended")
    if not address.name:
        raise AddressRefused("a destination needs a name")


def check_unused(address: Address, consumers: bool, doing: str) -> None:
    """A destination that has consumers cannot be deleted or removed."""
    if consumers:
        raise AddressInUse(f"{address} has consumers; close them before {doing} it")


def full(where: str, stored: int, limit: int) -> SendRefused:
    """The error for a send beyond the limit of stored messages."""
    return SendRefused(
        f"{where} holds {stored} messages and takes no more from this connection; consume some or raise the option "
        f"max_messages ({limit})"
    )


# -- subscriptions -----------------------------------------------------------------------------------------------


def check_interest(interest: Interest, client_id: str | None) -> None:
    """Refuse browsing a topic, and an unshared durable subscription without a client id."""
    address = interest.address
    if address.topic and interest.mode is Mode.BROWSE:
        raise NotSupported(f"{address} is a topic; only queues can be browsed")
    if address.topic and interest.durable and not interest.shared and client_id is None:
        raise SubscriptionRefused(f"durable subscription {interest.key!r} needs a client id, or must be shared")


def check_reusable(interest: Interest, found: Address, shared: bool, same: bool, consumers: bool) -> None:
    """Check that the interest may reuse, or replace, the existing subscription of the same name.

    ``found`` is the topic of the existing one; ``same`` says that topic, selector and no-local flag are equal.
    """
    name = f"subscription {interest.key!r} on {found}"
    if shared != interest.shared:
        kind = "shared" if shared else "unshared"
        raise SubscriptionRefused(f"{name} is a {kind} durable subscription; unsubscribe it first or use another name")
    if not consumers:
        return
    if not shared:
        raise SubscriptionRefused(f"{name} has an active consumer; close it first")
    if not same:
        raise SubscriptionRefused(f"{name} has active consumers with another topic or selector")


def check_unsubscribe(client_id: str | None, key: str, exists: bool, consumers: bool, unsettled: bool) -> None:
    """Check that a durable subscription exists and may be deleted."""
    name = repr(key) if client_id is None else f"{key!r} of client id {client_id!r}"
    if not exists:
        raise SubscriptionUnknown(f"the embedded broker has no durable subscription {name}")
    if consumers:
        raise SubscriptionRefused(f"subscription {name} has an active consumer; close it first")
    if unsettled:
        raise SubscriptionRefused(
            f"subscription {name} has messages that the session of a closed consumer has not yet acknowledged or "
            "committed; do that first, or roll back"
        )


# -- messages ----------------------------------------------------------------------------------------------------


def dead_letter(
    envelope: Envelope, to: Address, origin: str, deliveries: int, now: int, reason: str | None = None
) -> Envelope:
    """The copy of a message for a dead-letter or expiry queue: it says why, when and from where, and does not expire.

    No ``reason`` means that it was rejected.
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
    """Whether the message has expired."""
    return 0 < envelope.expiration <= now

"""One message on its way to the application, its states, and what its inbox needs."""

from collections.abc import Callable
from enum import Enum, auto
from typing import TYPE_CHECKING, NamedTuple

from jmsbridge.config import RedeliveryPolicy
from jmsbridge.core.runtime.clock import Clock
from jmsbridge.spi import Arrival, Interest

if TYPE_CHECKING:
    from jmsbridge.core.receiving.inbox import Inbox
    from jmsbridge.core.receiving.returned_deliveries import ReturnedDeliveries

__all__ = ["Delivery", "DeliveryState", "DeliverySwitch", "Hand", "InboxSettings", "NoDelivery"]


class DeliveryState(Enum):
    """The state of a delivery."""

    TAKEN = auto()  # out of its inbox and in the session's ``Hand``; the application does not have it yet
    HANDED = auto()  # the application has it, or is just getting it; not settled
    WAITING = auto()  # in its inbox again, to be redelivered
    SETTLED = auto()  # the broker was told its outcome


_TAKEN = DeliveryState.TAKEN


class Delivery:
    """One message that left its inbox. ``state`` is written by its inbox, and by the session that hands it over."""

    __slots__ = ("arrival", "due", "inbox", "local_failures", "spent", "state", "uncounted")

    def __init__(self, arrival: Arrival, inbox: "Inbox") -> None:
        self.arrival = arrival
        self.inbox = inbox
        self.state = _TAKEN
        self.due = 0.0  # monotonic time before which it is not delivered again
        self.spent = False  # whether its credit was already counted, at an earlier delivery
        self.local_failures = 0  # deliveries that failed in this client and are not reported to the broker
        self.uncounted = 0  # these, and one if the application had it over a lost link and the broker does not say so

    @property
    def failures(self) -> int:
        """How many earlier deliveries failed, as far as broker and client know."""
        return (self.arrival.failures or 0) + self.local_failures

    @property
    def redelivered(self) -> bool:
        """JMSRedelivered."""
        return self.arrival.redelivered or self.uncounted > 0

    def failed(self) -> None:
        """The application saw it and it will be redelivered: update flag and counts."""
        self.local_failures += 1
        self.uncounted += 1


class NoDelivery(Enum):
    """Why a wait ended without a message."""

    TIMEOUT = auto()
    CLOSED = auto()  # the consumer was closed
    LINK_LOST = auto()  # continue with the consumer's next inbox
    NO_CREDIT = auto()  # without a window: no message was asked for, call ``fetch`` first


class DeliverySwitch:
    """Whether a connection delivers messages. Written by the connection, checked for each delivery."""

    __slots__ = ("on",)

    def __init__(self) -> None:
        self.on = False


class Hand:
    """The delivery, at most one, that a session has taken from an inbox and the application does not have yet.

    Set before the delivery is removed from its inbox, so that an interrupted call loses nothing. Cleared when the
    application has the message, or it is back in its inbox, or settled.
    """

    __slots__ = ("delivery",)

    def __init__(self) -> None:
        self.delivery: Delivery | None = None


class InboxSettings(NamedTuple):
    """The settings that all inboxes of one consumer, one per link, share."""

    interest: Interest
    redelivery: RedeliveryPolicy
    clock: Clock
    switch: DeliverySwitch
    hand: Hand
    is_unsettled: Callable[[Arrival], bool]
    returned: "ReturnedDeliveries"

    @property
    def line(self) -> str | None:
        """The queue or subscription whose messages the broker delivers again; None if it ends with its link."""
        interest = self.interest
        if not interest.address.topic:
            return str(interest.address)
        return None if interest.key is None else f"{'durable ' if interest.durable else ''}subscription {interest.key}"

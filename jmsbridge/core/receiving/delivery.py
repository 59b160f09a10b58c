"""One message on its way to the application, and the states that it goes through."""

from enum import Enum, auto
from typing import TYPE_CHECKING, Any

from jmsbridge.core.runtime.locks import CHECKS
from jmsbridge.spi import Arrival

if TYPE_CHECKING:
    from jmsbridge.core.receiving.inbox import Inbox

__all__ = ["Delivery", "DeliveryState", "DeliverySwitch", "Hand"]


class DeliveryState(Enum):
    """Where a delivery is; ``_NEXT`` says what may follow."""

    TAKEN = auto()  # out of its inbox and in the session's hand; the application does not know of it
    HANDED = auto()  # the application has it, or gets it in this moment; it is not settled
    WAITING = auto()  # in its inbox again, to be redelivered
    SETTLED = auto()  # the broker was told what became of it


_NEXT = {
    None: {DeliveryState.TAKEN},
    DeliveryState.TAKEN: {DeliveryState.HANDED, DeliveryState.WAITING, DeliveryState.SETTLED},
    DeliveryState.HANDED: {DeliveryState.HANDED, DeliveryState.WAITING, DeliveryState.SETTLED},
    DeliveryState.WAITING: {DeliveryState.WAITING, DeliveryState.TAKEN, DeliveryState.SETTLED},
    DeliveryState.SETTLED: {DeliveryState.SETTLED},
}


class Delivery:
    """One message that left its inbox. ``state`` is written by its inbox, and by the session that hands it over."""

    __slots__ = ("arrival", "due", "inbox", "local_failures", "spent", "state")

    def __init__(self, arrival: Arrival, inbox: "Inbox") -> None:
        self.arrival = arrival
        self.inbox = inbox
        self.state = DeliveryState.TAKEN
        self.due = 0.0  # monotonic time before which it is not delivered again
        self.spent = False  # its credit was counted when it was first handed out
        self.local_failures = 0  # deliveries that failed here and that the broker has not been told of

    @property
    def count(self) -> int:
        """JMSXDeliveryCount: this delivery counts (rule JX-1)."""
        return self.arrival.delivery_count + self.local_failures

    @property
    def failures(self) -> int:
        """How many deliveries failed before this one, as far as anybody knows."""
        return (self.arrival.failures or 0) + self.local_failures

    @property
    def redelivered(self) -> bool:
        """JMSRedelivered."""
        return self.arrival.redelivered or self.local_failures > 0

    def failed(self) -> None:
        """It was seen and comes again: flag and counts say so."""
        self.local_failures += 1


if CHECKS:  # in tests: no state follows one that it may not follow

    def _checked(delivery: Delivery, name: str, value: Any) -> None:
        if name == "state":
            before = getattr(delivery, "state", None)
            assert value in _NEXT[before], f"a delivery went from {before} to {value}"
        object.__setattr__(delivery, name, value)

    Delivery.__setattr__ = _checked  # type: ignore[method-assign,assignment]


class DeliverySwitch:
    """Whether a connection delivers messages. Written by the connection, looked at for each delivery."""

    __slots__ = ("on",)

    def __init__(self) -> None:
        self.on = False


class Hand:
    """What a session is about to give to the application: one delivery at most, between inbox and application.

    Filled before the delivery leaves its inbox, so that an interrupted call loses nothing. Emptied when the application
    has the message, or it is in line again or settled.
    """

    __slots__ = ("delivery",)

    def __init__(self) -> None:
        self.delivery: Delivery | None = None

"""When a delivered message is settled: one policy object per session, one class per acknowledgement mode.

``handing`` is called just before the application gets a message, ``handled`` after ``receive`` has done its work or
the listener returned. Settlements of several messages are one step per subscription, in delivery order.
"""

import time
from collections.abc import Callable, Iterable
from typing import Protocol

from jmsbridge.core.clock import Clock, Timer
from jmsbridge.core.inbox import Delivery, Inbox
from jmsbridge.core.locks import Rank, ranked
from jmsbridge.core.ticket import Waiter
from jmsbridge.spi import LinkLost, Outcome

__all__ = ["Automatic", "Deferred", "Early", "Individual", "Lazy", "Never", "Policy", "settle_all"]

_PARTS = 8  # of a window, one of which may be done with and not acknowledged
_TOO_LATE = "the connection was lost before these messages were acknowledged; the broker delivers them again"


def settle_all(deliveries: Iterable[Delivery], outcome: Outcome, wait: float | None = None) -> bool:
    """Settle in delivery order, one step per subscription; with ``wait`` until the broker has answered, that many
    seconds at most.

    Without ``wait``, a link that died meanwhile is no error: the broker delivers again, and the answer is False. With
    it, that is LinkLost.
    """
    groups: dict[Inbox, list[Delivery]] = {}
    for delivery in deliveries:
        groups.setdefault(delivery.inbox, []).append(delivery)
    waiters = []
    settled = True
    for inbox, group in groups.items():
        waiter = None if wait is None else Waiter()
        settled = inbox.settle(group, outcome, waiter) and settled
        if waiter is not None:
            waiters.append(waiter)
    deadline = time.monotonic() + (wait or 0)
    for waiter in waiters:
        waiter.wait_answer(max(0.0, deadline - time.monotonic()), "an acknowledgement")
    return settled


class Policy(Protocol):
    """One acknowledgement mode at work in one session; thread-safe."""

    automatic: bool
    """The client settles by itself; a listener that raises gets the message again (rule AC-9)."""
    deferred: bool
    """Settlements come late: brokers that count unsettled messages need a larger window."""
    presettled: bool
    """No settlement is ever sent."""
    transacted: bool
    """Settlements take effect at commit."""

    def handing(self, delivery: Delivery) -> None:
        """The application is about to get it."""

    def handled(self, delivery: Delivery) -> None:
        """The application got it, or its listener returned normally."""

    def disown(self, delivery: Delivery) -> bool:
        """An interrupt kept the application from getting it: forget it. False when it may be settled already."""

    def acknowledge(self, delivery: Delivery | None) -> None:
        """The application called ``acknowledge``: on this delivery's message, or on the session (None)."""

    def take_unsettled(self, into: list[Delivery]) -> None:
        """Move what is delivered and not settled to ``into``, in delivery order and in one step that no interrupt
        divides; settle what needs no more waiting.
        """

    def lose(self) -> bool:
        """The link died: nothing delivered over it can be settled any more. Whether there was anything."""


class _AtOnce:
    """What is settled with each message, so that nothing is ever left over."""

    deferred = False
    transacted = False

    def disown(self, delivery: Delivery) -> bool:
        """It is settled."""
        return False

    def acknowledge(self, delivery: Delivery | None) -> None:
        """Ignored (rule AC-4)."""

    def take_unsettled(self, into: list[Delivery]) -> None:
        """Nothing is ever left over."""

    def lose(self) -> bool:
        """Nothing is held."""
        return False


class Automatic(_AtOnce):
    """AUTO_ACKNOWLEDGE: each message when ``receive`` returns or the listener has returned (rule AC-1)."""

    automatic = True
    presettled = False

    def __init__(self, wait: float | None) -> None:
        self._wait = wait

    def handing(self, delivery: Delivery) -> None:
        """Nothing yet."""

    def handled(self, delivery: Delivery) -> None:
        """Settle it."""
        delivery.handing = True
        if self._wait is None:
            delivery.inbox.settle((delivery,), Outcome.ACCEPTED)
        else:
            settle_all((delivery,), Outcome.ACCEPTED, self._wait)


class Lazy:
    """DUPS_OK_ACKNOWLEDGE: every ``messages`` messages or every ``interval`` seconds, whichever comes first; 0
    switches one off.

    No batch exceeds an eighth of a consumer's window: a broker that counts unsettled messages would send less, or stop.
    ``wake`` runs ``settle_due`` soon on a thread that may call the SPI.
    """

    automatic = True
    deferred = False
    presettled = False
    transacted = False

    def __init__(
        self, messages: int, interval: float, clock: Clock, wake: Callable[[], None], wait: float | None
    ) -> None:
        self._messages = messages
        self._interval = interval
        self._clock = clock
        self._wake = wake
        self._wait = wait
        self._lock = ranked(Rank.CONSUMER)  # guards the fields below
        self._done: list[Delivery] = []
        self._timer: Timer | None = None
        self._due = False

    def handing(self, delivery: Delivery) -> None:
        """Nothing yet."""

    def handled(self, delivery: Delivery) -> None:
        """Add it to the batch; settle the batch when it is full."""
        enough = min(self._messages, max(1, delivery.inbox.window // _PARTS))
        with self._lock:
            delivery.handing = True
            self._done.append(delivery)
            full = 0 < enough <= len(self._done)
            arm = not full and self._interval > 0 and self._timer is None
            if arm:
                self._timer = self._clock.call_later(self._interval, self._on_time)
        if full:
            self._settle()

    def _on_time(self) -> None:
        self._due = True
        self._wake()

    def settle_due(self) -> None:
        """Settle the batch when its time is up; called on the delivery lane."""
        if self._due:
            self._settle()

    def _settle(self) -> None:
        with self._lock:
            batch, self._done = self._done, []
            timer, self._timer = self._timer, None
            self._due = False
        if timer is not None:
            timer.cancel()
        if batch:
            settle_all(batch, Outcome.ACCEPTED, self._wait)

    def disown(self, delivery: Delivery) -> bool:
        """Take it out of the batch, unless that was settled."""
        with self._lock:
            known = delivery in self._done
            if known:
                self._done.remove(delivery)
            return known

    def acknowledge(self, delivery: Delivery | None) -> None:
        """Ignored (rule AC-4)."""

    def take_unsettled(self, into: list[Delivery]) -> None:
        """Settle the batch: these messages count as acknowledged."""
        self._settle()

    def lose(self) -> bool:
        """Forget the batch; the broker sends it again (rule AC-2)."""
        with self._lock:
            done, self._done = self._done, []
        return bool(done)


class Deferred:
    """CLIENT_ACKNOWLEDGE and transactions: everything the session consumed, at once (rule AC-3)."""

    automatic = False
    deferred = True
    presettled = False

    def __init__(self, wait: float | None, *, transacted: bool = False) -> None:
        self._wait = wait
        self.transacted = transacted
        self._lock = ranked(Rank.LEAF)  # guards _held
        self._held: list[Delivery] = []
        self._lost = False  # a link died with messages that a confirmed acknowledgement can no longer reach

    def handing(self, delivery: Delivery) -> None:
        """Remember it."""
        with self._lock:
            delivery.handing = True
            self._held.append(delivery)

    def handled(self, delivery: Delivery) -> None:
        """Nothing: the application decides."""

    def disown(self, delivery: Delivery) -> bool:
        """Take it out."""
        with self._lock:
            if delivery in self._held:
                self._held.remove(delivery)
        return True

    def acknowledge(self, delivery: Delivery | None) -> None:
        """Settle all that the session consumed; ignored in a transaction (rule AC-4)."""
        if self.transacted:
            return
        held: list[Delivery] = []
        lost = False
        try:
            with self._lock:  # one step: a link that dies meanwhile leaves either the deliveries or the loss
                lost, self._lost = self._lost, False
                held += self._held
                self._held = []
            settle_all(held, Outcome.ACCEPTED, self._wait)
        except Exception:
            raise
        except BaseException:  # an interrupt: settled or not, they are with the next acknowledgement
            self._held, self._lost = [*held, *self._held], self._lost or lost
            raise
        if lost and self._wait is not None:
            raise LinkLost(_TOO_LATE)

    def take_unsettled(self, into: list[Delivery]) -> None:
        """All of it."""
        with self._lock:
            into += self._held  # signals are seen at the end of a call, and there is none before the next line's end
            self._held = []

    def lose(self) -> bool:
        """Forget it."""
        with self._lock:
            held, self._held = self._held, []
            self._lost = self._lost or bool(held)
        return bool(held)


class Individual:
    """INDIVIDUAL_ACKNOWLEDGE: each message by its own ``acknowledge``."""

    automatic = False
    deferred = True
    presettled = False
    transacted = False

    def __init__(self, wait: float | None) -> None:
        self._wait = wait
        self._lock = ranked(Rank.LEAF)  # guards _held
        self._held: dict[int, Delivery] = {}

    def handing(self, delivery: Delivery) -> None:
        """Remember it."""
        with self._lock:
            delivery.handing = True
            self._held[id(delivery)] = delivery

    def handled(self, delivery: Delivery) -> None:
        """Nothing: the application decides."""

    def disown(self, delivery: Delivery) -> bool:
        """Take it out."""
        with self._lock:
            self._held.pop(id(delivery), None)
        return True

    def acknowledge(self, delivery: Delivery | None) -> None:
        """Settle this one; None settles all."""
        if delivery is None:
            unsettled: list[Delivery] = []
            self.take_unsettled(unsettled)
            settle_all(unsettled, Outcome.ACCEPTED, self._wait)
            return
        with self._lock:
            known = self._held.pop(id(delivery), None)
        if known is not None:
            settle_all((delivery,), Outcome.ACCEPTED, self._wait)
        elif self._wait is not None and delivery.inbox.is_lost():
            raise LinkLost(_TOO_LATE)

    def take_unsettled(self, into: list[Delivery]) -> None:
        """All of it, in delivery order."""
        with self._lock:
            into += self._held.values()
            self._held = {}

    def lose(self) -> bool:
        """Forget it."""
        with self._lock:
            held, self._held = self._held, {}
        return bool(held)


class Early(Automatic):
    """PRE_ACKNOWLEDGE: settled before the application gets it, whatever becomes of it then."""

    automatic = False

    def handing(self, delivery: Delivery) -> None:
        """Settle it now."""
        super().handled(delivery)

    def handled(self, delivery: Delivery) -> None:
        """Already done."""


class Never(_AtOnce):
    """NO_ACKNOWLEDGE: the broker counts a message as done when it sends it."""

    automatic = False
    presettled = True

    def handing(self, delivery: Delivery) -> None:
        """No settlement; only the inbox counts it out."""
        delivery.handing = True
        if delivery.inbox.park is None:
            delivery.inbox.forget(1)
        else:  # an emulated selector, so the broker waits for an answer
            delivery.inbox.settle((delivery,), Outcome.ACCEPTED)

    def handled(self, delivery: Delivery) -> None:
        """Nothing."""

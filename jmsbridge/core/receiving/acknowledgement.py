"""When a delivered message is settled: one policy object per session, one class per acknowledgement mode.

``handing`` is called just before the application gets a message, ``handled`` when ``receive`` returns or the listener
has returned. Both may be called again for the same delivery, after an interrupted call, and do then what is missing.
Settlements of several messages are one step per subscription, in delivery order.
"""

import contextlib
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from jmsbridge.core.receiving.delivery import Delivery
from jmsbridge.core.receiving.inbox import Inbox
from jmsbridge.core.runtime.clock import Clock, Timer
from jmsbridge.core.runtime.locks import Rank, ranked
from jmsbridge.core.runtime.waiting import Waiter
from jmsbridge.spi import BackendError, LinkLost, Outcome

__all__ = [
    "AcknowledgePolicy",
    "AutoPolicy",
    "ClientPolicy",
    "DupsOkPolicy",
    "IndividualPolicy",
    "NoAcknowledgePolicy",
    "PreAcknowledgePolicy",
    "by_inbox",
    "settle_all",
    "tell_all",
]

_PARTS = 8  # of a window, one of which may be done with and not acknowledged
_TOO_LATE = "the connection was lost before these messages were acknowledged; the broker delivers them again"


def settle_all(deliveries: Sequence[Delivery], outcome: Outcome, wait: float | None = None) -> bool:
    """Settle in delivery order, one step per subscription; with ``wait`` until the broker has answered, that many
    seconds at most.

    Without ``wait``, a link that died meanwhile is no error: the broker delivers again, and the answer is False. With
    it, that is LinkLost.
    """
    try:
        return tell_all(deliveries, outcome, wait)
    finally:
        for inbox, group in by_inbox(deliveries):
            inbox.done(group)


def tell_all(deliveries: Iterable[Delivery], outcome: Outcome, wait: float | None = None) -> bool:
    """The same for a transaction: the broker is told, and the deliveries count as settled only when it is committed."""
    waiters = []
    told = True
    for inbox, group in by_inbox(deliveries):
        waiter = None if wait is None else Waiter()
        told = inbox.tell(group, outcome, waiter) and told
        if waiter is not None:
            waiters.append(waiter)
    deadline = time.monotonic() + (wait or 0)
    for waiter in waiters:
        waiter.wait_answer(max(0.0, deadline - time.monotonic()), "an acknowledgement")
    return told


def by_inbox(deliveries: Iterable[Delivery]) -> Iterable[tuple[Inbox, list[Delivery]]]:
    """Each inbox with its deliveries, in order."""
    groups: dict[Inbox, list[Delivery]] = {}
    for delivery in deliveries:
        groups.setdefault(delivery.inbox, []).append(delivery)
    return groups.items()


class AcknowledgePolicy(Protocol):
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

    def acknowledge(self, delivery: Delivery | None) -> None:
        """The application called ``acknowledge``: on this delivery's message, or on the session (None)."""

    def finish(self) -> None:
        """Do what an interrupted ``acknowledge`` may have left undone."""

    def settle_done(self) -> None:
        """Settle what the application is done with and what only waits for company."""

    def unsettled(self) -> tuple[Delivery, ...]:
        """What the application has, or is done with, and the broker was not told of, in delivery order."""

    def take_unsettled(self) -> list[Delivery]:
        """The same, taken out: somebody else settles or redelivers them. What is done with is settled instead."""

    def lose(self) -> None:
        """The link died: nothing delivered over it can be settled any more."""


class _AtOnce:
    """What is settled with each message, so that nothing is ever left over."""

    deferred = False
    transacted = False

    def acknowledge(self, delivery: Delivery | None) -> None:
        """Ignored (rule AC-4)."""

    def finish(self) -> None:
        """Nothing is ever left over."""

    def settle_done(self) -> None:
        """Nothing waits."""

    def unsettled(self) -> tuple[Delivery, ...]:
        """None."""
        return ()

    def take_unsettled(self) -> list[Delivery]:
        """None."""
        return []

    def lose(self) -> None:
        """Nothing is held."""


class AutoPolicy(_AtOnce):
    """AUTO_ACKNOWLEDGE: each message when ``receive`` returns or the listener has returned (rule AC-1)."""

    automatic = True
    presettled = False

    def __init__(self, wait: float | None) -> None:
        self._wait = wait

    def handing(self, delivery: Delivery) -> None:
        """Nothing yet."""

    def handled(self, delivery: Delivery) -> None:
        """Settle it."""
        if self._wait is None:
            delivery.inbox.accept(delivery)
        else:
            settle_all((delivery,), Outcome.ACCEPTED, self._wait)


class PreAcknowledgePolicy(AutoPolicy):
    """PRE_ACKNOWLEDGE: settled before the application gets it, whatever becomes of it then."""

    automatic = False

    def handing(self, delivery: Delivery) -> None:
        """Settle it now."""
        super().handled(delivery)

    def handled(self, delivery: Delivery) -> None:
        """Already done."""


class NoAcknowledgePolicy(_AtOnce):
    """NO_ACKNOWLEDGE: the broker counts a message as done when it sends it."""

    automatic = False
    presettled = True

    def handing(self, delivery: Delivery) -> None:
        """No settlement, unless a selector is emulated: then the broker waits for an answer."""
        if delivery.inbox.unmatched is None:
            delivery.inbox.done((delivery,))
        else:
            delivery.inbox.settle((delivery,), Outcome.ACCEPTED)

    def handled(self, delivery: Delivery) -> None:
        """Nothing."""


class DupsOkPolicy:
    """DUPS_OK_ACKNOWLEDGE: every ``messages`` messages or every ``interval`` seconds, whichever comes first; 0
    switches one off.

    No batch exceeds an eighth of a consumer's window: a broker that counts unsettled messages would send less, or stop.
    ``wake`` has ``settle_due`` called soon, on a thread that may call the SPI and runs no user code.
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
        self._done: dict[Delivery, None] = {}
        self._settling: list[dict[Delivery, None]] = []  # batches on their way; an interrupted call leaves its own here
        self._timer: Timer | None = None
        self._due = False

    def handing(self, delivery: Delivery) -> None:
        """Nothing yet."""

    def handled(self, delivery: Delivery) -> None:
        """Add it to the batch; settle the batch when it is full."""
        enough = min(self._messages, max(1, delivery.inbox.window // _PARTS))
        with self._lock:
            self._done[delivery] = None
            full = 0 < enough <= len(self._done) or delivery.inbox.retired
            if not full and self._interval > 0 and self._timer is None:
                self._timer = self._clock.call_later(self._interval, self._on_time)
        if full:
            self.settle_done()

    def _on_time(self) -> None:
        self._due = True
        self._wake()

    def settle_due(self) -> None:
        """Settle the batch when its time is up."""
        if self._due:
            self.settle_done()

    def settle_done(self) -> None:
        """Settle the batch."""
        with self._lock:
            batch = self._done
            self._settling.append(batch)  # first there, then not here any more: never nowhere
            self._done = {}
            timer, self._timer = self._timer, None
            self._due = False
        if timer is not None:
            timer.cancel()
        self._settle(batch)

    def _settle(self, batch: dict[Delivery, None]) -> None:
        try:
            if batch:
                settle_all(tuple(batch), Outcome.ACCEPTED, self._wait)
        except BackendError:
            self._settled(batch)
            raise
        self._settled(batch)

    def _settled(self, batch: dict[Delivery, None]) -> None:
        with contextlib.suppress(ValueError):  # settled a second time, after an interrupted call
            self._settling.remove(batch)

    def acknowledge(self, delivery: Delivery | None) -> None:
        """Ignored (rule AC-4)."""

    def finish(self) -> None:
        """Settle once more what an interrupted call may have left unsettled."""
        for batch in tuple(self._settling):
            self._settle(batch)

    def unsettled(self) -> tuple[Delivery, ...]:
        """The batch, and those on their way."""
        with self._lock:
            return tuple({delivery: None for batch in (*self._settling, self._done) for delivery in batch})

    def take_unsettled(self) -> list[Delivery]:
        """None: the batch counts as acknowledged, and is settled."""
        self.settle_done()
        return []

    def lose(self) -> None:
        """Forget the batch; the broker sends it again (rule AC-2)."""
        with self._lock:
            self._done = {}


class ClientPolicy:
    """CLIENT_ACKNOWLEDGE: everything the session consumed, at once (rule AC-3)."""

    automatic = False
    deferred = True
    presettled = False
    transacted = False

    def __init__(self, wait: float | None) -> None:
        self._wait = wait
        self._lock = ranked(Rank.LEAF)  # guards the fields below
        self._held: dict[Delivery, None] = {}
        self._acknowledging: tuple[Delivery, ...] = ()
        self._lost = False  # a link died with messages that a confirmed acknowledgement can no longer reach

    def handing(self, delivery: Delivery) -> None:
        """Remember it."""
        with self._lock:
            self._held[delivery] = None

    def handled(self, delivery: Delivery) -> None:
        """Nothing: the application decides."""

    def acknowledge(self, delivery: Delivery | None) -> None:
        """Settle all that the session consumed."""
        with self._lock:  # one step: a link that dies meanwhile leaves either the deliveries or the loss
            self._acknowledging = tuple(self._held)
            lost, self._lost = self._lost, False
        self._settle()
        if lost and self._wait is not None:
            raise LinkLost(_TOO_LATE)

    def _settle(self) -> None:
        batch = self._acknowledging
        try:
            settle_all(batch, Outcome.ACCEPTED, self._wait)
        except BackendError:
            self._forget(batch)
            raise
        self._forget(batch)

    def _forget(self, batch: Sequence[Delivery]) -> None:
        with self._lock:
            for delivery in batch:
                self._held.pop(delivery, None)
            self._acknowledging = ()

    def finish(self) -> None:
        """What an interrupted ``acknowledge`` had begun to settle is settled."""
        if self._acknowledging:
            self._settle()

    def settle_done(self) -> None:
        """The application decides."""

    def unsettled(self) -> tuple[Delivery, ...]:
        """All that the session consumed since the last acknowledgement."""
        with self._lock:
            return tuple(self._held)

    def take_unsettled(self) -> list[Delivery]:
        """The same, taken out."""
        with self._lock:
            held, self._held = self._held, {}
        return list(held)

    def lose(self) -> None:
        """Forget it."""
        with self._lock:
            self._lost = self._lost or bool(self._held)
            self._held = {}


class IndividualPolicy(ClientPolicy):
    """INDIVIDUAL_ACKNOWLEDGE: each message by its own ``acknowledge``."""

    def acknowledge(self, delivery: Delivery | None) -> None:
        """Settle this one; None settles all."""
        if delivery is None:
            super().acknowledge(None)
            return
        with self._lock:
            self._acknowledging = (delivery,) if delivery in self._held else ()
        if self._acknowledging:
            self._settle()
        elif self._wait is not None and delivery.inbox.is_lost():
            raise LinkLost(_TOO_LATE)

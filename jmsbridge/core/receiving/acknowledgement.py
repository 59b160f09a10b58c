"""When a delivered message is settled: one policy object per session, one class per acknowledgement mode.

``before_handover`` is called just before the application gets a message, ``after_handover`` when ``receive`` returns or
the listener has returned. After an interrupted call both may be called again for the same delivery, and do what is
missing. Several messages are settled in one step per subscription, in delivery order.
"""

import contextlib
import time
from collections.abc import Callable, Iterable, Sequence

from jmsbridge.core.receiving.delivery import Delivery
from jmsbridge.core.receiving.inbox import Inbox
from jmsbridge.core.runtime.clock import Clock, Timer
from jmsbridge.core.runtime.locks import Rank, ranked
from jmsbridge.core.runtime.waiting import Waiter
from jmsbridge.errors import IllegalStateException
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
    "settle_in_transaction",
]

_PARTS = 8  # a batch of unacknowledged messages is at most a window divided by this
_TOO_LATE = "the connection was lost before these messages were acknowledged; the broker delivers them again"


def settle_all(deliveries: Sequence[Delivery], outcome: Outcome, wait: float | None = None) -> bool:
    """Settle in delivery order, in one step per subscription.

    With ``wait``, wait at most so many seconds for the broker's answer, and raise LinkLost if the link is lost. Without
    it, return False if the link is lost: the broker then delivers the messages again.
    """
    try:
        return settle_in_transaction(deliveries, outcome, wait)
    finally:
        for inbox, group in by_inbox(deliveries):
            inbox.done(group)


def settle_in_transaction(deliveries: Iterable[Delivery], outcome: Outcome, wait: float | None = None) -> bool:
    """Settle as part of a transaction: the deliveries count as settled only when it is committed."""
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


class AcknowledgePolicy:
    """One acknowledgement mode at work in one session; thread-safe.

    The defaults are for modes in which the application does not acknowledge and no message waits to be settled.
    """

    automatic = False
    """The client settles by itself; a listener that raises gets the message again (rule AC-9)."""
    deferred = False
    """Settlements come late, so brokers that count unsettled messages need a larger window."""
    presettled = False
    """No settlement is ever sent."""
    transacted = False
    """Settlements take effect at commit."""

    def before_handover(self, delivery: Delivery) -> None:
        """The application is about to get this message."""

    def after_handover(self, delivery: Delivery) -> None:
        """``receive`` returns it, or the listener returned normally."""

    def drop(self, delivery: Delivery) -> None:
        """The application does not get this message: settle it."""
        delivery.inbox.settle((delivery,), Outcome.ACCEPTED)

    def acknowledge(self, delivery: Delivery | None) -> None:
        """The application called ``acknowledge``: on this delivery's message, or on the session (rule AC-4)."""

    def finish(self) -> None:
        """Complete an interrupted ``acknowledge``."""

    def settle_batch(self) -> None:
        """Settle the messages that are acknowledged and wait only for their batch to fill."""

    def unsettled(self) -> tuple[Delivery, ...]:
        """Deliveries that the application got and that are not settled at the broker, in delivery order."""
        return ()

    def take_unsettled(self) -> list[Delivery]:
        """Remove and return the unsettled deliveries, for the caller to settle or redeliver.

        Those that count as acknowledged are settled instead.
        """
        return []

    def close(self) -> list[Delivery]:
        """The session is being closed: ``take_unsettled``; an ``acknowledge`` that another thread has begun fails."""
        return self.take_unsettled()

    def lose(self) -> None:
        """The link is lost: messages delivered over it can no longer be settled."""


class AutoPolicy(AcknowledgePolicy):
    """AUTO_ACKNOWLEDGE: each message when ``receive`` returns or the listener has returned (rule AC-1)."""

    automatic = True

    def __init__(self, wait: float | None) -> None:
        self._wait = wait

    def after_handover(self, delivery: Delivery) -> None:
        """Settle it."""
        if self._wait is None:
            delivery.inbox.accept(delivery)
        else:
            settle_all((delivery,), Outcome.ACCEPTED, self._wait)


class PreAcknowledgePolicy(AutoPolicy):
    """PRE_ACKNOWLEDGE: each message is settled before the application gets it."""

    automatic = False

    def before_handover(self, delivery: Delivery) -> None:
        """Settle it now."""
        super().after_handover(delivery)

    def after_handover(self, delivery: Delivery) -> None:
        """Already done."""


class NoAcknowledgePolicy(AcknowledgePolicy):
    """NO_ACKNOWLEDGE: the broker counts a message as consumed when it sends it."""

    presettled = True

    def before_handover(self, delivery: Delivery) -> None:
        """Settle only where a selector is emulated: there the broker expects settlements."""
        if delivery.inbox.unmatched is None:
            delivery.inbox.done((delivery,))
        else:
            delivery.inbox.settle((delivery,), Outcome.ACCEPTED)


class DupsOkPolicy(AcknowledgePolicy):
    """DUPS_OK_ACKNOWLEDGE: every ``messages`` messages or every ``interval`` seconds, whichever comes first; 0
    switches one off.

    A batch is at most an eighth of a consumer's window: a broker that counts unsettled messages would otherwise send
    less, or stop. ``wake`` has ``settle_due`` called soon, on a thread that may call the SPI and runs no user code.
    """

    automatic = True

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
        self._settling: list[dict[Delivery, None]] = []  # batches being settled, also by interrupted calls
        self._timer: Timer | None = None
        self._due = False

    def after_handover(self, delivery: Delivery) -> None:
        """Add it to the batch; settle the batch when it is full."""
        enough = min(self._messages, max(1, delivery.inbox.window // _PARTS))
        with self._lock:
            self._done[delivery] = None
            full = 0 < enough <= len(self._done) or delivery.inbox.retired
            if not full and self._interval > 0 and self._timer is None:
                self._timer = self._clock.call_later(self._interval, self._on_time)
        if full:
            self.settle_batch()

    def _on_time(self) -> None:
        self._due = True
        self._wake()

    def settle_due(self) -> None:
        """Settle the batch if its interval is over."""
        if self._due:
            self.settle_batch()

    def settle_batch(self) -> None:
        """Settle the batch."""
        with self._lock:
            batch = self._done
            self._settling.append(batch)  # before it is removed, so that it is always in one of the two places
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

    def finish(self) -> None:
        """Settle again the batches that an interrupted call may have left unsettled."""
        for batch in tuple(self._settling):
            self._settle(batch)

    def unsettled(self) -> tuple[Delivery, ...]:
        """The current batch and those being settled."""
        with self._lock:
            return tuple({delivery: None for batch in (*self._settling, self._done) for delivery in batch})

    def take_unsettled(self) -> list[Delivery]:
        """Settle the batch, which counts as acknowledged, and return nothing."""
        self.settle_batch()
        return []

    def lose(self) -> None:
        """Forget the batch; the broker delivers it again (rule AC-2)."""
        with self._lock:
            self._done = {}


class ClientPolicy(AcknowledgePolicy):
    """CLIENT_ACKNOWLEDGE: all messages that the session consumed, at once (rule AC-3)."""

    deferred = True

    def __init__(self, wait: float | None) -> None:
        self._wait = wait
        self._lock = ranked(Rank.LEAF)  # guards the fields below
        self._held: dict[Delivery, None] = {}
        self._acknowledging: tuple[Delivery, ...] = ()
        self._lost = False  # whether a link was lost while messages received over it were unsettled
        self._closed = False

    def before_handover(self, delivery: Delivery) -> None:
        """Remember it."""
        with self._lock:
            self._held[delivery] = None

    def acknowledge(self, delivery: Delivery | None) -> None:
        """Settle all that the session consumed."""
        with self._lock:  # one step: if the link is lost meanwhile, either the deliveries or ``_lost`` are seen
            self._check_open()
            self._acknowledging = tuple(self._held)
            lost, self._lost = self._lost, False
        self._settle()
        if lost and self._wait is not None:
            raise LinkLost(_TOO_LATE)

    def _check_open(self) -> None:
        if self._closed:
            raise IllegalStateException("the session was closed before the messages were acknowledged")

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
        """Settle what an interrupted ``acknowledge`` had begun to settle."""
        if self._acknowledging:
            self._settle()

    def unsettled(self) -> tuple[Delivery, ...]:
        """All that the session consumed since the last acknowledgement."""
        with self._lock:
            return tuple(self._held)

    def take_unsettled(self) -> list[Delivery]:
        """Remove and return them."""
        with self._lock:
            held, self._held = self._held, {}
        return list(held)

    def close(self) -> list[Delivery]:
        """Settle what an ``acknowledge`` has begun to settle, and return the rest."""
        with self._lock:
            self._closed = True
        self.finish()
        return self.take_unsettled()

    def lose(self) -> None:
        """Forget the unsettled messages."""
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
            self._check_open()
            self._acknowledging = (delivery,) if delivery in self._held else ()
        if self._acknowledging:
            self._settle()
        elif self._wait is not None and delivery.inbox.is_lost():
            raise LinkLost(_TOO_LATE)

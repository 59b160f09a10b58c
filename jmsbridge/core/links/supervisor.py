"""Keeps a connection supplied with a link: reconnects.

A lost link is not used again; the supervisor opens another one. Each link has a number, its epoch; events of an earlier
epoch are ignored. Recovery has phases: *interrupted* (inboxes emptied, senders wait), *connected*,
*recovered* (channels, temporary destinations and subscriptions exist again, without credit), *restored* (credit
granted, senders continue).
"""

import contextlib
import copy
import itertools
import logging
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Protocol

import msgspec

from jmsbridge.config import Options
from jmsbridge.core.links.pauses import pause_after
from jmsbridge.core.plan import Plan
from jmsbridge.core.runtime.clock import Clock
from jmsbridge.core.runtime.executor import SerialExecutor
from jmsbridge.core.runtime.interrupts import Work
from jmsbridge.core.runtime.locks import Rank, ranked
from jmsbridge.core.runtime.waiting import WaitSet
from jmsbridge.core.sending.throttle import Throttle
from jmsbridge.spi import AuthenticationFailed, Backend, BackendError, Channel, Endpoint, Link, LinkLost, Subscription

__all__ = ["Supervised", "Supervisor"]

log = logging.getLogger("jmsbridge.link")

_PATIENT_ATTEMPTS = 5  # attempts during which the broker may not have noticed that the old link is lost
_SHORT_LIFE = 1.0  # seconds
_LONGEST = 0.25  # seconds; the pause after links that lived so short is no longer, since they may have been of use
_KEPT_CHANNELS = 100  # lost channels to remember, because the session that opens one may not be registered yet


class Supervised(Protocol):
    """What the supervisor asks of the connection; all but ``on_lost`` and ``on_channel_lost`` on the
    supervisor's own thread.
    """

    def on_lost(self) -> None:
        """The link is lost: sends must no longer use it. Called on any thread; takes no lock."""

    def on_interrupted(self, error: BackendError) -> None:
        """The link is lost: discard what was received over it."""

    def on_connected(self, link: Link, plan: Plan, epoch: int, patient: bool) -> None:
        """Restore everything on the new link, without credit; an error makes the supervisor try again.

        If ``patient``, the broker may not have noticed the loss of the old link yet.
        """

    def on_restored(self) -> None:
        """Grant credit and wake senders."""

    def on_failed(self, error: BackendError) -> None:
        """The connection is lost for good."""

    def on_channel_lost(self, channel: Channel) -> None:
        """One channel is lost: sends must no longer use it. Called on any thread; takes leaf locks only."""

    def on_channel_ended(self, channel: Channel, error: BackendError) -> None:
        """One channel is lost: open another one for its session."""

    def on_subscription_lost(self, subscription: Subscription, error: BackendError) -> None:
        """The broker ended a consumer's subscription."""


class _Events:
    """The ``LinkEvents`` of one link; ignores events unless its epoch is the current one."""

    def __init__(self, supervisor: "Supervisor", epoch: int) -> None:
        self._supervisor = supervisor
        self.epoch = epoch
        self.death: BackendError | None = None
        self.is_throttled = False

    def lost(self, error: BackendError) -> None:
        self.death = error
        self._supervisor.lose(self.epoch, error)

    def channel_lost(self, channel: Channel, error: BackendError) -> None:
        self._supervisor.lose_channel(self.epoch, channel, error)

    def subscription_lost(self, subscription: Subscription, error: BackendError) -> None:
        self._supervisor.subscription_lost(self.epoch, subscription, error)

    def throttled(self, active: bool) -> None:
        self.is_throttled = active
        self._supervisor.throttled(self.epoch, active)


class _Opened(NamedTuple):
    """A link just opened, with its plan and its events."""

    link: Link
    plan: Plan
    events: _Events


class Supervisor:
    """Owns the current link of one connection. Thread-safe."""

    def __init__(
        self,
        name: str,
        backend: Backend,
        endpoints: tuple[Endpoint, ...],
        options: Options,
        backend_options: Any,
        clock: Clock,
        owner: Supervised,
    ) -> None:
        self.executor = SerialExecutor(f"jmsbridge-{name}-supervisor", self._work)
        self.throttle = Throttle()
        self._backend = backend
        self._endpoints = tuple(
            msgspec.structs.replace(one, connect_timeout=options.connect_timeout, close_timeout=options.close_timeout)
            for one in endpoints
        )
        self._numbers = itertools.count(1)
        self._options = options
        self._backend_options = backend_options
        self._clock = clock
        self._owner = owner
        self._changed = WaitSet()
        self._lock = ranked(Rank.LEAF)  # guards the fields below
        self._tasks: deque[Callable[[], None]] = deque()
        self._lost_channels: deque[tuple[Channel, BackendError]] = deque(maxlen=_KEPT_CHANNELS)
        self._link: Link | None = None
        self._plan: Plan | None = None
        self._warned: dict[tuple[str, str], object] = {}
        self._ready = False  # whether the application may use the link
        self._closed = False
        self._failure: BackendError | None = None
        self._lost_epoch = 0
        self._installed_at = 0.0
        self._short_lives = 0  # links in a row that were lost soon: something that comes with each link ends it
        self.epoch = 0

    # ---- the link

    def connect(self) -> None:
        """Open the first link, trying each endpoint once; BackendError of the last one that failed."""
        opened = self._open_any(self._endpoints)
        self.epoch = opened.events.epoch
        self._install(opened)

    def wait_reopened(self, client_id: str, timeout: float) -> None:
        """Replace the link by one with this client id (rule CI-3); if that cannot be opened, keep the old one.

        Waits for a reconnect in progress, LinkLost after ``timeout`` seconds.
        """
        work = Work(lambda: self._reopen(client_id))

        def run() -> None:
            work.run()
            self._changed.notify()

        self.submit(run)  # there, because the old link may be lost meanwhile: one of the two replaces it
        in_time = self._changed.wait_for(lambda: work.is_done or self._closed, timeout)
        if work.cancel():
            raise LinkLost("the connection is closed") if in_time else self._no_link(timeout)
        work.wait_done()
        if work.error is not None:
            raise work.error

    def _reopen(self, client_id: str) -> None:
        if self._failure is not None:
            raise copy.copy(self._failure)
        endpoints = tuple(msgspec.structs.replace(one, client_id=client_id) for one in self._endpoints)
        opened = self._open_any(endpoints)
        with self._lock:
            old, self._endpoints = self._link, endpoints
            self.epoch, self._ready = opened.events.epoch, False  # from now on events of the old link are ignored
        self._owner.on_lost()
        self._owner.on_interrupted(LinkLost("the link is replaced by one with a client id"))
        if old is not None:
            with contextlib.suppress(BackendError):
                old.close()
        try:
            self._restore(opened, patient=False)
        except BackendError as error:  # as if it had been lost a moment later
            self.lose(opened.events.epoch, error)

    def _install(self, opened: _Opened) -> bool:
        with self._lock:
            if self._closed:
                return False
            self._link, self._plan = opened.link, opened.plan
            self._lost_channels.clear()
            self._ready = opened.events.death is None
            self._installed_at = self._clock.monotonic()
        self._changed.notify()
        self.throttle.set(opened.events.is_throttled, f"asked by {opened.link.broker}")
        if opened.events.death is not None and self._lost_epoch != opened.events.epoch:
            self.lose(opened.events.epoch, opened.events.death)
        return True

    def _open_any(self, endpoints: tuple[Endpoint, ...]) -> _Opened:
        problem: BackendError | None = None
        for endpoint in endpoints:
            events = _Events(self, next(self._numbers))
            try:
                link = self._backend.open(endpoint, self._backend_options, events)
            except BackendError as error:
                log.info("no link to %s: %s", endpoint, error)
                problem = error
                continue
            log.info("link %d to %s (%s)", events.epoch, endpoint, link.broker)
            return _Opened(link, Plan(link.native, self._options.emulation, link.broker, self._warned), events)
        assert problem is not None
        raise problem

    def wait_link(self, timeout: float) -> tuple[Link, Plan, int]:
        """The usable link; waits for a reconnect, LinkLost after ``timeout`` seconds."""
        deadline = self._clock.monotonic() + timeout
        while self._changed.wait_for(self._has_news, deadline - self._clock.monotonic()):
            with self._lock:
                if self._ready and self._link is not None and self._plan is not None:
                    return self._link, self._plan, self.epoch
                if self._failure is not None:
                    raise copy.copy(self._failure)  # a copy, because raising adds a traceback
        raise self._no_link(timeout)

    def _no_link(self, timeout: float) -> LinkLost:
        places = " or ".join(map(str, self._endpoints))
        return LinkLost(f"no link to {places} within {timeout:g} s (option send_timeout)")

    def living(self, epoch: int) -> tuple[Link, Plan] | None:
        """The link of ``epoch`` and its plan; None if it is lost or replaced."""
        with self._lock:
            if not self._ready or self.epoch != epoch or self._link is None or self._plan is None:
                return None
            return self._link, self._plan

    def _has_news(self) -> bool:
        return self._ready or self._failure is not None

    def is_current(self, epoch: int) -> bool:
        """Whether the link of ``epoch`` is the current one and not known to be lost."""
        return self.epoch == epoch != self._lost_epoch

    @property
    def is_over(self) -> bool:
        """Whether there will be no link again: it was lost for good, or closed, or this is a forked child."""
        return self._failure is not None

    @property
    def link(self) -> Link | None:
        """The current link, which may be lost."""
        return self._link

    @property
    def state(self) -> str:
        """``connected``, ``reconnecting``, ``failed`` (for good) or ``closed``."""
        with self._lock:
            if self._closed:
                return "closed"
            if self._failure is not None:
                return "failed"
            return "connected" if self._ready else "reconnecting"

    def wait_known_lost(self, epoch: int, timeout: float) -> bool:
        """Wait until the link of ``epoch`` is known to be lost; False after ``timeout`` seconds."""
        return self._changed.wait_for(lambda: self.epoch != epoch or self._lost_epoch == epoch or self._closed, timeout)

    # ---- events of links, from any thread

    def lose(self, epoch: int, error: BackendError) -> None:
        """The link of ``epoch`` is lost."""
        with self._lock:
            if epoch != self.epoch or self._closed:
                return
            self._ready = False
            self._lost_epoch = epoch
            self._owner.on_lost()
            self._tasks.append(lambda: self._recover(epoch, error))
        self._changed.notify()
        self.throttle.set(False, "the link whose broker asked for the pause is lost")
        self.executor.wake()

    def lose_channel(self, epoch: int, channel: Channel, error: BackendError) -> None:
        """One channel of the link of ``epoch`` is lost."""
        with self._lock:
            if epoch != self.epoch or self._closed:
                return
            self._lost_channels.append((channel, error))
        self._owner.on_channel_lost(channel)
        self.submit(partial(self._owner.on_channel_ended, channel, error))

    def tell_again(self, channel: Channel) -> None:
        """Repeat ``on_channel_ended`` if this channel, which a session has just registered, is already lost."""
        with self._lock:
            errors = [error for lost, error in self._lost_channels if lost is channel]
        for error in errors:
            self.submit(partial(self._owner.on_channel_ended, channel, error))

    def throttled(self, epoch: int, active: bool) -> None:
        """The broker of the link of ``epoch`` asks senders to pause or to continue."""
        if epoch == self.epoch:
            self.throttle.set(active, "asked by the broker")

    def subscription_lost(self, epoch: int, subscription: Subscription, error: BackendError) -> None:
        """The broker ended a subscription."""
        with self._lock:
            if epoch != self.epoch:
                return
        self.submit(lambda: self._owner.on_subscription_lost(subscription, error))

    def submit(self, task: Callable[[], None]) -> None:
        """Run ``task`` on the supervisor's thread, after what is queued there."""
        with self._lock:
            if self._closed:
                return
            self._tasks.append(task)
        self.executor.wake()

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._tasks:
                    return
                task = self._tasks.popleft()
            try:
                task()
            except Exception:
                log.exception("unexpected error in the supervisor")

    # ---- recovery, on the supervisor's thread

    def _recover(self, epoch: int, error: BackendError) -> None:
        if epoch != self.epoch or self._failure is not None:
            return
        log.warning("link %d lost: %s", epoch, error)
        self._owner.on_interrupted(error)
        attempts, reached, limit = 0, 0, self._options.reconnect_attempts
        is_short = self._clock.monotonic() - self._installed_at < _SHORT_LIFE
        self._short_lives = self._short_lives + 1 if is_short else 0
        pause = min(pause_after(self._short_lives, self._options), _LONGEST)
        while not self._closed:
            if limit is not None and attempts >= limit:
                self._fail(error)
                return
            self._changed.wait_for(lambda: self._closed, pause)
            attempts += 1
            pause = pause_after(attempts + 1, self._options)
            before = self.epoch
            try:
                self._restore(self._open_any(self._endpoints), patient=reached < _PATIENT_ATTEMPTS)
                return
            except AuthenticationFailed as problem:  # further attempts with the same password could lock the account
                self._fail(problem)
                return
            except BackendError as problem:
                log.info("reconnect attempt %d failed: %s", attempts, problem)
                error = problem
            except Exception:
                log.exception("reconnect attempt %d failed", attempts)
            reached += self.epoch != before  # attempts that did not reach the broker do not count

    def _restore(self, opened: _Opened, patient: bool) -> None:
        # before anything is rebuilt: sessions that join later start on this one
        self.epoch = epoch = opened.events.epoch
        opened.plan.is_quiet = True
        try:
            self._owner.on_connected(opened.link, opened.plan, epoch, patient)
        except BaseException as problem:
            opened.link.close()
            # what is rebuilt already may have credit and messages, whose tokens mean something on this link only
            self._owner.on_interrupted(LinkLost(f"recovery failed: {problem}"))
            raise
        opened.plan.is_quiet = False
        if not self._install(opened):
            opened.link.close()
            return
        self._owner.on_restored()
        log.info("restored on link %d", epoch)

    def _fail(self, error: BackendError) -> None:
        log.error("reconnecting has failed for good: %s", error)
        with self._lock:
            self._failure = error
        self._changed.notify()
        self._owner.on_failed(error)

    # ---- ends

    def close(self) -> None:
        """Close the link and stop supervising; idempotent."""
        with self._lock:
            self._closed = True
            self._ready = False
            self._failure = self._failure or LinkLost("the connection is closed")
            self._tasks.clear()
            link, self._link = self._link, None
        self._changed.notify()
        self.throttle.set(False, "the connection is closed")
        self.executor.close()
        if link is not None:
            link.close()

    def abandon(self, error: BackendError) -> None:
        """In a forked child: no link of the parent may be used or closed."""
        self._lock = ranked(Rank.LEAF)
        self._changed = WaitSet()
        self._closed, self._ready, self._link, self._failure = True, False, None, error

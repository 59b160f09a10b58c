"""The core of one connection: its link, its sessions, its temporary destinations, its state."""

import itertools
import logging
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from jmsbridge.config import Target
from jmsbridge.core.links import claims
from jmsbridge.core.links.supervisor import Supervisor
from jmsbridge.core.links.temporaries import Temporaries
from jmsbridge.core.naming import sequence
from jmsbridge.core.plan import Plan
from jmsbridge.core.receiving.delivery import DeliverySwitch
from jmsbridge.core.receiving.lost_deliveries import LostDeliveries
from jmsbridge.core.receiving.returned_deliveries import ReturnedDeliveries
from jmsbridge.core.runtime import clock as clocks
from jmsbridge.core.runtime.clock import Clock
from jmsbridge.core.runtime.closing import CloseState, State
from jmsbridge.core.runtime.executor import ON_THREADS, Executors, SerialExecutor
from jmsbridge.core.runtime.interrupts import wait_whole
from jmsbridge.core.runtime.locks import Rank, ranked
from jmsbridge.core.runtime.waiting import WaitSet
from jmsbridge.core.session import SessionCore, SessionSettings
from jmsbridge.core.translate import raise_first, translate, translated
from jmsbridge.destinations import TemporaryQueue, TemporaryTopic
from jmsbridge.errors import IllegalStateException, InvalidClientIDException, JMSException
from jmsbridge.spi import Address, Backend, BackendError, Channel, Interest, Link, LinkLost, Native, Subscription
from jmsbridge.transport.network.forking import at_fork

__all__ = ["ConnectionCore"]

log = logging.getLogger("jmsbridge.connection")

_KEPT_REPORTS = 10_000  # reports that wait for a slow exception listener; further ones only go to the log

_connections: "weakref.WeakSet[ConnectionCore]" = weakref.WeakSet()


class ConnectionCore:
    """Belongs to a Connection; thread-safe."""

    def __init__(self, target: Target, backend: Backend) -> None:
        self.name = f"c{next(sequence)}"
        self.options = target.options
        self.target = target
        self.clock: Clock = clocks.system
        self.life = CloseState(Rank.CONNECTION)
        self.delivery = DeliverySwitch()
        self.exception_listener: Callable[[Any], None] | None = None
        self.client_id = target.endpoints[0].client_id
        self._configured_id = self.client_id is not None
        self._reports: deque[JMSException] = deque()
        self._told = WaitSet()
        self._exceptions = SerialExecutor(f"jmsbridge-{self.name}-exceptions", self._tell_all)
        self._claim: tuple[str, ...] | None = None
        self._topics: dict[str, Address] = {}  # of durable subscriptions, by name
        self.is_used = False
        self.is_forked = False
        self._numbers = itertools.count(1)
        self._lock = ranked(Rank.CONNECTION)  # guards _sessions, _claim
        self._sessions: dict[SessionCore, None] = {}
        self.temporaries = Temporaries(self._has_consumer)
        self.returned = ReturnedDeliveries()
        self.lost = LostDeliveries()
        self.supervisor = Supervisor(
            self.name, backend, target.endpoints, target.options, target.backend_options, self.clock, self
        )
        with translated:
            self.supervisor.connect()
        try:
            if self.client_id is not None:
                self._claim_client_id(self.client_id)
        except BaseException:
            self.supervisor.close()
            raise
        _connections.add(self)

    def new_session(self, settings: SessionSettings, executors: Executors = ON_THREADS) -> SessionCore:
        """A session, which ``open`` adds to the connection."""
        return SessionCore(self, settings, executors)

    @property
    def sessions(self) -> "tuple[SessionCore, ...]":
        """All open sessions, in creation order."""
        return tuple(self._sessions)

    # ---- guards

    def check_open(self) -> None:
        """IllegalState unless open, or called in a callback that close waits for."""
        if self.life.state is State.OPEN:
            return
        if self.life.state is State.CLOSING and self._in_callback():
            return
        raise IllegalStateException(f"the connection {self.name} is closed")

    def _in_callback(self, *, completion: bool = True) -> bool:
        return any(session.is_in_callback(completion=completion) for session in self.sessions)

    def use(self) -> None:
        """Note that the connection is used: its client id can no longer be set (rule CI-1)."""
        self.is_used = True

    # ---- client id

    def set_client_id(self, client_id: Any) -> None:
        """Rules CI-1 to CI-4."""
        self.check_open()
        if self._configured_id:
            raise IllegalStateException(
                f"the client id {self.client_id!r} comes from the option client_id; change it there"
            )
        if self.client_id is not None:
            raise IllegalStateException(f"the client id is already {self.client_id!r}")
        if self.is_used:
            raise IllegalStateException(
                "the client id must be set before the connection is used: set it first, or by the option client_id"
            )
        if not isinstance(client_id, str) or not client_id:
            raise InvalidClientIDException(f"{client_id!r} is not a client id: it must be a non-empty string")
        wait_whole(lambda: self._take_client_id(client_id))

    def _take_client_id(self, client_id: str) -> None:
        self._claim_client_id(client_id)
        try:
            self.supervisor.wait_reopened(client_id, self.options.send_timeout)
        except BackendError as error:
            self._release_client_id()
            raise translate(error) from error
        self.client_id = client_id

    def _claim_client_id(self, client_id: str) -> None:
        plan = self.wait_link()[1]
        if plan.outcome(Native.CLIENT_ID) == "native":
            return
        plan.require(Native.CLIENT_ID)
        claim = (self._broker_name(), client_id)
        if not claims.take(claim):
            raise InvalidClientIDException(
                f"client id {client_id!r} is in use by another connection of this process: close it or use another id"
            )
        self._claim = claim

    def _release_client_id(self) -> None:
        with self._lock:
            claim, self._claim = self._claim, None
        claims.release(claim)

    def _broker_name(self) -> str:
        one = self.target.endpoints[0]
        return f"{one.scheme}:{one.host}:{one.port}{one.path}"

    def claim_durable(self, interest: Interest, plan: Plan) -> tuple[str, ...] | None:
        """Keep an unshared durable subscription exclusive in this process if the broker does not."""
        if not interest.durable or interest.shared or plan.outcome(Native.EXCLUSIVE_DURABLE) == "native":
            return None
        claim = (self._broker_name(), self.client_id or "", interest.key or "")
        if not claims.take(claim):
            raise IllegalStateException(f"durable subscription {interest.key!r} has an active consumer; close it first")
        return claim

    def subscribed(self, interest: Interest) -> None:
        """Remember the topic of a durable subscription that now has a consumer, for ``unsubscribe``."""
        if interest.durable and interest.key is not None:
            self._topics[interest.key] = interest.address

    # ---- links

    def wait_link(self) -> tuple[Link, Plan, int]:
        """The link, its plan and its epoch; waits for a reconnect at most ``send_timeout``."""
        with translated:
            return self.supervisor.wait_link(self.options.send_timeout)

    def wait_known_lost(self, epoch: int) -> None:
        """Wait until the backend has reported the loss of the link of ``epoch``, which a call has met already."""
        timeout = self.options.send_timeout
        if not self.supervisor.wait_known_lost(epoch, timeout):
            raise JMSException(f"the link to {self.target} failed, and its loss was not reported within {timeout:g} s")

    # ---- sessions

    def next_session_name(self) -> str:
        """A name for threads and logs."""
        return f"{self.name}s{next(self._numbers)}"

    def join(self, session: "SessionCore", epoch: int) -> bool:
        """Add a session; False if the link of ``epoch`` is lost and the session must start again."""
        with self._lock:
            self.check_open()
            self._sessions[session] = None
            if self.supervisor.is_current(epoch):  # checked after adding: a later loss finds the session here
                return True
            del self._sessions[session]
            return False

    def leave(self, session: "SessionCore") -> None:
        """A session was closed."""
        with self._lock:
            self._sessions.pop(session, None)

    def start(self) -> None:
        """See ``Connection.start``. If ``stop`` is called meanwhile it wins: each delivery checks the switch."""
        self.check_open()
        self.use()
        self.delivery.on = True
        wait_whole(self._start_sessions)

    def _start_sessions(self) -> None:
        for session in self.sessions:
            session.incoming.start()

    def stop(self) -> None:
        """See ``Connection.stop``."""
        self.check_open()
        if self._in_callback(completion=False):
            raise IllegalStateException("stop is not allowed in a message listener of its own connection")
        self.use()
        self.delivery.on = False
        for session in self.sessions:
            session.incoming.wait_stopped(session.outgoing.is_awaited_here)

    # ---- temporary destinations and subscriptions

    def create_temporary_queue(self) -> TemporaryQueue:
        """See ``Session.create_temporary_queue``."""
        address = self._create_temporary(topic=False)
        return TemporaryQueue(address.name, partial(self._delete, address))

    def create_temporary_topic(self) -> TemporaryTopic:
        """See ``Session.create_temporary_topic``."""
        address = self._create_temporary(topic=True)
        return TemporaryTopic(address.name, partial(self._delete, address))

    def _create_temporary(self, *, topic: bool) -> Address:
        self.use()
        link, plan, _ = self.wait_link()
        plan.require(Native.TEMPORARY)
        with translated:
            return wait_whole(lambda: self.temporaries.create(link, plan, topic=topic), self._delete)

    def _delete(self, address: Address) -> None:
        self.check_open()
        link, plan, _ = self.wait_link()
        with translated:
            wait_whole(lambda: self.temporaries.delete(link, plan, address))

    def _has_consumer(self, address: Address) -> bool:
        return any(one.interest.address == address for session in self.sessions for one in session.incoming.receivers)

    def unsubscribe(self, name: str) -> None:
        """See ``Session.unsubscribe``."""
        self.use()
        link, plan, _ = self.wait_link()
        if plan.outcome(Native.DURABLE) != "native" and plan.outcome(Native.SHARED_DURABLE) != "native":
            plan.require(Native.DURABLE)

        def unsubscribe() -> None:
            link.unsubscribe(name, self._topics.get(name))
            self._topics.pop(name, None)

        with translated:
            wait_whole(unsubscribe)

    # ---- called by the supervisor

    def on_lost(self) -> None:
        """Senders wait from now on."""
        for session in self.sessions:
            session.outgoing.channel.suspend()

    def on_channel_lost(self, channel: Channel) -> None:
        """The senders of its session wait from now on."""
        for session in self.sessions:
            session.outgoing.channel.leave(channel)

    def on_channel_ended(self, channel: Channel, error: BackendError) -> None:
        """Its session gets another channel; other sessions are not affected."""
        for session in self.sessions:
            if session.channel.is_on(channel):
                session.channel.remake(error)

    def on_interrupted(self, error: BackendError) -> None:
        """Phase one: nothing may be received or settled over the lost link."""
        for session in self.sessions:
            session.channel.interrupted()

    def on_connected(self, link: Link, plan: Plan, epoch: int, patient: bool) -> None:
        """Phases two and three: create destinations, channels and subscriptions again, without credit."""
        self.temporaries.make_again(link, plan)
        for session in self.sessions:
            session.recover_on(link, plan, epoch, patient=patient)

    def on_restored(self) -> None:
        """Phase four: grant credit and let senders continue."""
        for session in self.sessions:
            session.channel.restored()

    def on_failed(self, error: BackendError) -> None:
        """The connection is lost for good: all waiting calls fail."""
        failure = translate(error)
        for session in self.sessions:
            session.failed(failure)
        self.report(failure)

    def on_subscription_lost(self, subscription: Subscription, error: BackendError) -> None:
        """One consumer gets no more messages."""
        for session in self.sessions:
            session.incoming.end_subscription(subscription, error)
        self.report(translate(error))

    def report(self, error: JMSException) -> None:
        """Call the exception listener, on a thread of its own, so that it may use the connection (rule CN-8)."""
        if len(self._reports) < _KEPT_REPORTS:
            self._reports.append(error)
        else:
            log.error("the exception listener is too slow and does not get: %s", error)
        self._exceptions.wake()

    def _tell_all(self) -> None:
        while self._reports:
            listener, error = self.exception_listener, self._reports.popleft()
            self._told.notify()
            self._tell(listener, error)

    def _tell(self, listener: Callable[[Any], None] | None, error: JMSException) -> None:
        if listener is None:
            log.error("no exception listener is set for: %s", error)
            return
        try:
            listener(error)
        except BaseException:  # user code; even SystemExit must not end the supervisor
            log.exception("the exception listener raised")

    # ---- end

    def close(self) -> None:
        """See ``Connection.close``."""
        if self.is_forked or self.life.state is State.CLOSED:
            return
        if self._in_callback():
            raise IllegalStateException("close is not allowed in a callback of the connection's own sessions")
        patient = not self._exceptions.is_current()
        wait_whole(lambda: self._close(wait=patient), to_the_end=True)

    def _close(self, *, wait: bool) -> None:
        if not self.life.wait_begin_close(wait=wait):
            return
        deadline = self.clock.monotonic() + self.options.close_timeout
        errors: list[BaseException] = []
        for step in self._ends(deadline):
            try:
                step()
            except BaseException as error:  # close the rest nevertheless
                errors.append(error)
        self._release_client_id()
        if wait:  # for the listener to hear of what failed at the end, not for its return
            self._told.wait_for(lambda: not self._reports, max(0.0, deadline - self.clock.monotonic()))
        self.exception_listener = None
        self._exceptions.close()
        self.life.end_close()
        raise_first(errors)

    def _ends(self, deadline: float) -> Iterator[Callable[[], None]]:
        done: set[SessionCore] = set()
        while sessions := [one for one in self.sessions if one not in done]:  # callbacks may create sessions
            done.update(sessions)
            yield from (partial(session.close_by, deadline) for session in sessions)
        yield partial(self._end, deadline)

    def _end(self, deadline: float) -> None:
        try:
            self.temporaries.delete_all(self.supervisor.link, lambda: self.clock.monotonic() >= deadline)
        finally:
            self.supervisor.close()

    def is_needed(self) -> bool:
        """Whether it must live on although the application has dropped it: a listener still gets messages."""
        if self.is_forked or self.life.state is not State.OPEN:
            return True
        return any(session.incoming.listening.receivers for session in self.sessions)

    def abandon(self) -> None:
        """In a forked child: the parent's link must not be touched."""
        self.is_forked = True
        error = LinkLost("this connection was opened in another process; open a new one after a fork")
        self.supervisor.abandon(error)
        self._lock = ranked(Rank.CONNECTION)
        for session in self.sessions:
            session.abandon(translate(error))


def _after_fork() -> None:
    clocks.system.after_fork()
    for connection in tuple(_connections):
        connection.abandon()


at_fork(after_in_child=_after_fork)

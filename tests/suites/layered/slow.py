"""Any backend behind a slow I/O thread: each verb takes some milliseconds to the broker, each answer as many back.

The backend below answers at once, in the caller's thread. Behind this layer nothing is answered before a verb returns,
so code that expects an answer at once fails.
"""

import contextlib
import socket
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec

from jmsbridge.spi import (
    Address,
    Arrival,
    Backend,
    BackendError,
    Channel,
    ConnectFailed,
    Endpoint,
    Envelope,
    Inbox,
    Interest,
    Link,
    LinkEvents,
    LinkLost,
    Native,
    Outcome,
    Retires,
    Subscription,
    Ticket,
)
from jmsbridge.testing.proxy import Direction
from tests.suites.layered.wire import Wire

__all__ = ["SlowBackend"]

T = TypeVar("T")


class SlowBackend:
    """The SPI's Backend. If an endpoint has a port, a server must listen there."""

    def __init__(self, name: str, inner: Backend, delay: float = 0.002) -> None:
        self.name = name
        self.spi_version = inner.spi_version
        self.native = inner.native
        self.options = inner.options
        self.inner = inner
        self.delay = delay
        self.links: set[_Link] = set()

    def open(self, endpoint: Endpoint, options: Any, events: LinkEvents) -> Link:
        """A link of the backend below, behind a new wire."""
        if endpoint.port is not None:
            _reach(endpoint)
        below = msgspec.structs.replace(endpoint, scheme=self.inner.name, host=None, port=None)
        return _Link(self, lambda told: self.inner.open(below, options, told), events)

    def freeze(self, direction: Direction | None = None) -> None:
        """Stop one direction of all existing links."""
        for link in list(self.links):
            link.wire.freeze(set(Direction) if direction is None else {direction})


def _reach(endpoint: Endpoint) -> None:
    try:
        socket.create_connection((endpoint.host or "localhost", endpoint.port or 0), endpoint.connect_timeout).close()
    except OSError as error:
        raise ConnectFailed(f"{endpoint} cannot be reached: {error}") from error


class _Question:
    """A pending call."""

    def __init__(self, ticket: Ticket) -> None:
        self.ticket = ticket
        self.may_be_done = False

    def tell(self, error: BackendError | None) -> None:
        if error is None:
            self.ticket.succeed()
        else:
            self.ticket.fail(error)


class _Asked:
    """The ticket of the verb below: its answer goes back over the wire."""

    def __init__(self, link: "_Link", question: _Question) -> None:
        self._link = link
        self._question = question

    def succeed(self) -> None:
        self._link.wire.carry(Direction.IN, lambda: self._link.answer(self._question, None))

    def fail(self, error: BackendError) -> None:
        self._question.may_be_done = error.in_doubt
        self._link.wire.carry(Direction.IN, lambda: self._link.answer(self._question, error))


class _Waiter:
    """The ticket of a verb that blocks."""

    def __init__(self) -> None:
        self._done = threading.Event()
        self._error: BackendError | None = None

    def succeed(self) -> None:
        self._done.set()

    def fail(self, error: BackendError) -> None:
        self._error = error
        self._done.set()

    def wait(self) -> None:
        self._done.wait()
        if self._error is not None:
            raise self._error


class _Link:
    def __init__(self, backend: SlowBackend, make: Callable[[LinkEvents], Link], events: LinkEvents) -> None:
        self.wire = Wire(backend.delay, backend.name)
        self.events = events
        self.subscriptions: dict[Subscription, Subscription] = {}
        self._backend = backend
        self._lock = threading.Lock()  # guards the two below
        self._open: dict[_Question, None] = {}
        self._dead: str | None = None
        try:
            self.inner = make(_Events(self))
        except BaseException:
            self.wire.end()
            raise
        self.native = self.inner.native
        self.broker = f"slow {self.inner.broker}"
        backend.links.add(self)

    # -- how verbs pass ------------------------------------------------------------------------------------------

    def ask(self, ticket: Ticket | None, verb: Callable[[Ticket | None], None]) -> None:
        """Pass a verb that does not block to the wire."""
        if ticket is None:
            self._check()
            self.wire.carry(Direction.OUT, lambda: _quietly(verb))
            return
        question = _Question(ticket)
        with self._lock:
            dead = self._dead
            if dead is None:
                self._open[question] = None
                self.wire.carry(Direction.OUT, lambda: self._do(question, verb))
        if dead is not None:
            ticket.fail(LinkLost(dead))

    def _do(self, question: _Question, verb: Callable[[Ticket | None], None]) -> None:
        question.may_be_done = True
        verb(_Asked(self, question))

    def answer(self, question: _Question, error: BackendError | None) -> None:
        """An answer arrived over the wire."""
        with self._lock:
            asked = question in self._open
            self._open.pop(question, None)
        if asked:
            question.tell(error)

    def call(self, verb: Callable[[], T]) -> T:
        """Call a verb that blocks, and wait for its result."""
        waiter, results = _Waiter(), list[T]()

        def do(ticket: Ticket | None) -> None:
            assert ticket is not None
            try:
                results.append(verb())
            except BackendError as error:
                ticket.fail(error)
            else:
                ticket.succeed()

        self.ask(waiter, do)
        waiter.wait()
        return results[0]

    def _check(self) -> None:
        if self._dead is not None:
            raise LinkLost(self._dead)

    # -- the end -------------------------------------------------------------------------------------------------

    def lose(self, error: BackendError) -> None:
        """The link below was lost; the news takes as long as any answer."""
        self.wire.tear(lambda: self._die(error))

    def _die(self, error: BackendError) -> None:
        lost = LinkLost(str(error))
        lost.__cause__ = ConnectionResetError("the connection was reset")
        if self._end(lost):
            self.events.lost(lost)

    def _end(self, lost: LinkLost) -> bool:
        with self._lock:
            if self._dead is not None:
                return False
            self._dead = str(lost)
            left, self._open = self._open, {}
        self._backend.links.discard(self)
        for question in left:
            error = LinkLost(str(lost), in_doubt=question.may_be_done)
            error.__cause__ = lost.__cause__
            question.tell(error)
        self.wire.end()
        return True

    def close(self) -> None:
        with contextlib.suppress(LinkLost):
            self.call(self.inner.close)
        self._end(LinkLost("the link was closed"))
        self.wire.end()

    # -- the other verbs -----------------------------------------------------------------------------------------

    def channel(self, transacted: bool) -> Channel:
        return _Channel(self, self.call(lambda: self.inner.channel(transacted)))

    def declare(self, address: Address) -> Address:
        return self.call(lambda: self.inner.declare(address))

    def delete(self, address: Address) -> None:
        self.call(lambda: self.inner.delete(address))

    def unsubscribe(self, *what: Any) -> None:
        self.call(lambda: self.inner.unsubscribe(*what))


def _quietly(verb: Callable[[Ticket | None], None]) -> None:
    with contextlib.suppress(BackendError):  # without a ticket there is no answer
        verb(None)


class _Events:
    """Events of the link below go over the wire; its loss also drops what is on the wire."""

    def __init__(self, link: _Link) -> None:
        self._link = link

    def lost(self, error: BackendError) -> None:
        self._link.lose(error)

    def channel_lost(self, channel: Channel, error: BackendError) -> None:
        raise NotImplementedError("the backends below lose no channel alone")

    def subscription_lost(self, subscription: Subscription, error: BackendError) -> None:
        link = self._link
        link.wire.carry(Direction.IN, lambda: link.events.subscription_lost(link.subscriptions[subscription], error))

    def throttled(self, active: bool) -> None:
        self._link.wire.carry(Direction.IN, lambda: self._link.events.throttled(active))


class _Channel:
    def __init__(self, link: _Link, inner: Channel) -> None:
        self._link = link
        self._inner = inner

    def send(self, envelope: Envelope, ticket: Ticket | None) -> None:
        self._link.ask(ticket, lambda told: self._inner.send(envelope, told))

    def subscribe(self, interest: Interest, inbox: Inbox) -> Subscription:
        link = self._link
        inner = link.call(lambda: self._inner.subscribe(interest, _Inbox(link.wire, inbox)))
        made = (_Retiring if isinstance(inner, Retires) else _Subscription)(link, inner)
        link.subscriptions[inner] = made
        return made

    def commit(self, ticket: Ticket) -> None:
        self._link.ask(ticket, lambda told: self._inner.commit(told or ticket))

    def rollback(self, ticket: Ticket) -> None:
        self._link.ask(ticket, lambda told: self._inner.rollback(told or ticket))

    def close(self) -> None:
        with contextlib.suppress(LinkLost):
            self._link.call(self._inner.close)


class _Inbox:
    """Arrivals go back over the wire."""

    def __init__(self, wire: Wire, outer: Inbox) -> None:
        self._wire = wire
        self._outer = outer

    def put(self, arrival: Arrival) -> None:
        self._wire.carry(Direction.IN, lambda: self._outer.put(arrival))

    def put_again(self, arrival: Arrival) -> None:
        raise NotImplementedError("verbs run on the wire's thread, where no signal handler interrupts them")


class _Subscription:
    def __init__(self, link: _Link, inner: Subscription) -> None:
        self.native: Native = inner.native
        self.inner = inner
        self.link = link

    def grant(self, count: int) -> None:
        self.link.ask(None, lambda _: self.inner.grant(count))

    def settle(self, tokens: Sequence[Any], outcome: Outcome, ticket: Ticket | None = None, failures: int = 1) -> None:
        settled = list(tokens)
        self.link.ask(ticket, lambda told: self.inner.settle(settled, outcome, told, failures))

    def drain(self, ticket: Ticket) -> None:
        self.link.ask(ticket, lambda told: self.inner.drain(told or ticket))

    def close(self) -> None:
        with contextlib.suppress(LinkLost):
            self.link.call(self.inner.close)


class _Retiring(_Subscription):
    """A subscription that offers ``retire``."""

    def retire(self) -> None:
        assert isinstance(self.inner, Retires)
        self.link.ask(None, lambda _: self.inner.retire())  # type: ignore[attr-defined]  # asserted above

"""Connection and session with telemetry: they do what those of the core do, inside spans."""

import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from inspect import isawaitable
from typing import Any

import msgspec
from opentelemetry import trace
from opentelemetry.trace import Span

from jmsbridge.config import Target
from jmsbridge.core.connection import ConnectionCore
from jmsbridge.core.receiving.delivery import Delivery
from jmsbridge.core.receiving.receiver import Receiver
from jmsbridge.core.runtime.executor import ON_THREADS, Executors
from jmsbridge.core.sending.outgoing import Outgoing
from jmsbridge.core.sending.tickets import Awaited, AwaitedSend, Completion, NotNow, Sender
from jmsbridge.core.session import SessionCore, SessionSettings
from jmsbridge.destinations import Destination
from jmsbridge.message import Message
from jmsbridge.spi import Address, Backend, BackendError, Envelope
from jmsbridge.telemetry.carrying import with_context
from jmsbridge.telemetry.spans import Telemetry

__all__ = ["TracedConnectionCore"]


class TracedConnectionCore(ConnectionCore):
    """A connection with telemetry."""

    def __init__(self, target: Target, backend: Backend) -> None:
        self.telemetry = Telemetry(target.endpoints[0], self._unsettled, self._unconfirmed)
        super().__init__(target, backend)
        self.telemetry.watch()

    def new_session(self, settings: SessionSettings, executors: Executors = ON_THREADS) -> SessionCore:
        """See ``ConnectionCore``."""
        return _TracedSessionCore(self, settings, executors)

    def on_restored(self) -> None:
        """See ``ConnectionCore``."""
        super().on_restored()
        self.telemetry.reconnected()

    def _unsettled(self) -> int:
        return sum(len(session.incoming.policy.unsettled()) for session in self.sessions)

    def _unconfirmed(self) -> int:
        return sum(session.outgoing.unconfirmed for session in self.sessions)


class _TracedOutgoing(Outgoing):
    """Sends each message with the context of the current span, that of the send."""

    def stamp(self, *given: Any, **named: Any) -> Envelope:
        """See ``Outgoing``."""
        envelope = super().stamp(*given, **named)
        if envelope.message_id is not None:
            trace.get_current_span().set_attribute("messaging.message.id", envelope.message_id)
        return msgspec.structs.replace(envelope, properties=with_context(envelope.properties))


class _TracedCompletion:
    """Ends the span of a send when it has its outcome."""

    __slots__ = ("_address", "_began", "_listener", "_span", "_telemetry")

    def __init__(self, listener: Completion, telemetry: Telemetry, span: Span, address: Address, began: int) -> None:
        self._listener = listener
        self._telemetry = telemetry
        self._span = span
        self._address = address
        self._began = began

    def end(self, error: BaseException | None = None) -> None:
        """The send has its outcome."""
        self._telemetry.sent(self._span, self._address, self._began, error)

    def on_completion(self, message: Any) -> None:
        """The broker has it."""
        self.end()
        self._listener.on_completion(message)

    def on_exception(self, message: Any, error: Any) -> None:
        """It failed, or its outcome is unknown."""
        self.end(error)
        self._listener.on_exception(message, error)


class _TracedAwaited(Awaited):
    """The same for a send that a task awaits."""

    __slots__ = ("_ended", "_listener")

    def __init__(self, listener: Awaited, ended: _TracedCompletion) -> None:
        self._listener = listener
        self._ended = ended

    def on_entered(self, entry: AwaitedSend) -> None:
        """The send is in the ledger."""
        self._listener.on_entered(entry)

    def on_completion(self, message: Any) -> None:
        """The broker has it."""
        self._ended.end()
        self._listener.on_completion(message)

    def on_exception(self, message: Any, error: BackendError) -> bool:
        """It failed, or its outcome is unknown; the span goes on if it comes again."""
        comes_again = self._listener.on_exception(message, error)
        if not comes_again:
            self._ended.end(error)
        return comes_again


class _TracedSessionCore(SessionCore):
    """A session with telemetry."""

    outgoing_kind = _TracedOutgoing

    def __init__(self, connection: TracedConnectionCore, settings: SessionSettings, executors: Executors) -> None:
        self._telemetry = connection.telemetry
        self._failed: BaseException | None = None  # of the listener that is running
        super().__init__(connection, settings, executors)
        self.incoming.checks.on_dead_letter = self._dead_lettered

    def _dead_lettered(self, delivery: Delivery) -> None:
        self._telemetry.dead_lettered(delivery.arrival.envelope.address)

    def send(
        self,
        sender: Sender,
        destination: Destination,
        message: Message,
        foreign: Any,
        mode: int,
        priority: int,
        ttl: int,
        delay: int,
        listener: Completion | None,
        duplicate_id: str | None,
    ) -> None:
        """See ``SessionCore``."""
        telemetry, address, began = self._telemetry, destination.address, time.monotonic_ns()
        span = telemetry.sending(address)
        traced: Any = None
        if listener is not None:
            traced = _TracedCompletion(listener, telemetry, span, address, began)
            traced = _TracedAwaited(listener, traced) if isinstance(listener, Awaited) else traced
        try:
            with trace.use_span(span, record_exception=False, set_status_on_exception=False):
                super().send(sender, destination, message, foreign, mode, priority, ttl, delay, traced, duplicate_id)
        except NotNow:  # it comes again, with a span that counts
            raise
        except BaseException as error:
            telemetry.sent(span, address, began, error)
            raise
        if listener is None:
            telemetry.sent(span, address, began)

    def receive(self, receiver: Receiver, timeout: float | None, read: Callable[[Any], Any] | None) -> Any:
        """See ``SessionCore``."""
        began = time.monotonic_ns()
        seen: list[Message] = []

        def look(message: Message) -> Any:
            seen[:] = [message]
            return message if read is None else read(message)

        result = super().receive(receiver, timeout, look)
        if seen:
            self._telemetry.received(seen[0], began)
        return result

    def listen(self, receiver: Receiver, listener: Callable[[Any], None] | None) -> None:
        """See ``SessionCore``."""
        super().listen(receiver, None if listener is None else self._traced(listener))

    def _traced(self, listener: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def process(message: Message) -> Any:
            with ExitStack() as span:
                span.enter_context(self._telemetry.processing(message, self._take_failed))
                result = listener(message)
                return _awaited(result, span.pop_all()) if isawaitable(result) else result

        return process

    def _take_failed(self) -> BaseException | None:
        failed, self._failed = self._failed, None
        return failed

    def tell_failed(self, error: BaseException) -> None:
        """See ``SessionCore``."""
        self._failed = error

    def tell_dead_lettered(self, destination: Destination) -> None:
        """See ``SessionCore``."""
        self._telemetry.dead_lettered(destination.address)

    # ---- settlements

    def acknowledge(self, delivery: Delivery | None) -> None:
        """See ``SessionCore``."""
        with self._telemetry.settling("ack", self._unsettled() if delivery is None else [_properties(delivery)]):
            super().acknowledge(delivery)

    def commit(self) -> None:
        """See ``SessionCore``."""
        with self._telemetry.settling("commit", self._unsettled()):
            super().commit()

    def rollback(self) -> None:
        """See ``SessionCore``."""
        with self._telemetry.settling("rollback", self._unsettled()):
            super().rollback()

    def recover(self) -> None:
        """See ``SessionCore``."""
        with self._telemetry.settling("recover", self._unsettled()):
            super().recover()

    def _unsettled(self) -> list[dict[str, Any]]:
        return [_properties(delivery) for delivery in self.incoming.policy.unsettled()]


async def _awaited(result: Awaitable[object], span: ExitStack) -> None:
    with span:
        await result


def _properties(delivery: Delivery) -> dict[str, Any]:
    return delivery.arrival.envelope.properties

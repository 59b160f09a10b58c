"""One consumer of a listener, on a session of its own: calls the function, sends what it returns, settles the message.

Everything but ``open`` and ``close`` runs on the session's delivery thread; ``loop_workers`` has those without one.
"""

import logging
import time
from collections.abc import Awaitable, Callable
from contextvars import copy_context
from functools import partial
from inspect import isasyncgen, isawaitable, isgenerator
from typing import Any, Protocol, get_origin, is_typeddict

from jmsbridge.app.converters import Converter, JsonConverter
from jmsbridge.app.hints import without_none
from jmsbridge.app.letters import move_to
from jmsbridge.app.listeners import Decision, Listener
from jmsbridge.app.loop import EventLoop
from jmsbridge.connection import Connection
from jmsbridge.consumer import MessageConsumer
from jmsbridge.core.modes import (
    AUTO_ACKNOWLEDGE,
    CLIENT_ACKNOWLEDGE,
    DUPS_OK_ACKNOWLEDGE,
    INDIVIDUAL_ACKNOWLEDGE,
    SESSION_TRANSACTED,
)
from jmsbridge.core.receiving.delivery import Delivery
from jmsbridge.core.runtime.executor import Executors, SerialExecutor
from jmsbridge.destinations import Destination, Queue, Topic
from jmsbridge.errors import JMSException, MessageFormatException
from jmsbridge.message import Message
from jmsbridge.producer import MessageProducer
from jmsbridge.session import Session

__all__ = ["AUTOMATIC", "Observer", "Shared", "Worker"]

log = logging.getLogger("jmsbridge.app")

AUTOMATIC = (AUTO_ACKNOWLEDGE, DUPS_OK_ACKNOWLEDGE)
_BY_APPLICATION = (CLIENT_ACKNOWLEDGE, INDIVIDUAL_ACKNOWLEDGE)

Observer = Callable[[Listener, Message, BaseException | None], None]
"""Called after each call of a listener, with the error that it ended with; for tests."""


class Shared(Protocol):
    """What the workers of an application share."""

    converter: Converter
    observer: Observer | None

    def event_loop(self) -> EventLoop:
        """The loop of the ``async`` listeners."""

    def is_in_loop(self) -> bool:
        """Whether the caller runs in that loop."""

    def dead_letter_queue(self, listener: Listener) -> Queue | None:
        """The queue for dead letters of a listener; None if its name is not known."""


class _Delivery(SerialExecutor):
    """A delivery thread whose callback may be in the event loop, which is then in the callback as the thread is."""

    def __init__(self, name: str, work: Callable[[], None], is_there: Callable[[], bool]) -> None:
        super().__init__(name, work)
        self._is_there = is_there

    def is_current(self) -> bool:
        """See ``SerialExecutor``."""
        return super().is_current() or self._is_there()


class Worker:
    """One consumer of one listener."""

    def __init__(self, listener: Listener, shared: Shared) -> None:
        self.listener = listener
        self.began: float | None = None
        """When the call in progress began; None between calls."""
        self.last = time.monotonic()
        """When the last call ended."""
        self.handled = self.failed = self.dead = 0
        self.warned = 0.0
        """Which call was reported to be over its deadline, by its begin."""
        self._shared = shared
        self._has_warned = False
        returned, _ = without_none(listener.call.returns)
        self._typed = returned if is_typeddict(get_origin(returned) or returned) else None
        self._session: Session | None = None
        self._consumer: MessageConsumer | None = None
        self._producer: MessageProducer | None = None

    # ---- on the threads of the application

    def open(self, connection: Connection) -> None:
        """Subscribe; raises JMSException, and then has nothing open."""
        listener = self.listener
        session = self._new_session(connection)
        try:
            self._count_dead_letters(session)
            self._producer = session.create_producer(None)
            self._consumer = _consumer(session, listener)
            self._session = session
            self._consumer.message_listener = self._on_message
        except BaseException:
            session.close()
            raise

    def _new_session(self, connection: Connection) -> Session:
        settings = connection._settings(self.listener.mode, self.listener.prefetch)
        return Session(connection, settings, Executors(partial(_Delivery, is_there=self._is_in_loop)))

    def _is_in_loop(self) -> bool:
        return self.began is not None and self._shared.is_in_loop()

    def _count_dead_letters(self, session: Session) -> None:
        """Those of the redelivery policy; ``_move`` counts the listener's own."""
        checks = session._core.incoming.checks
        told = checks.on_dead_letter

        def count(delivery: Delivery) -> None:
            self.dead += 1
            if told is not None:
                told(delivery)

        checks.on_dead_letter = count

    def close(self) -> None:
        """End its consumer and return what it has not handled; waits for a call in progress."""
        if self._session is not None:
            self._session.close()

    def problem(self) -> JMSException | None:
        """Why the broker has ended its consumer, if it has."""
        try:
            if self._consumer is not None:
                self._consumer._receiver.check_alive()
        except JMSException as error:
            return error
        return None

    @property
    def has_work(self) -> bool:
        """Whether a call is in progress, or a message is here that it may be called with now."""
        session, consumer = self._session, self._consumer
        if session is None or consumer is None:
            return False
        return session._core.incoming.listening.is_running() or consumer._receiver.inbox.has_news()

    @property
    def is_occupied(self) -> bool:
        """Whether another message would wait: for the call in progress, or for the redelivery of the one before."""
        consumer = self._consumer
        return self.began is not None or (consumer is not None and consumer._receiver.inbox.awaits_redelivery)

    @property
    def is_current(self) -> bool:
        """Whether the caller is in a call of this worker."""
        session = self._session
        return session is not None and session._core.incoming.listening.executor.is_current()

    # ---- on the delivery thread

    def _on_message(self, message: Message) -> Awaitable[None] | None:
        self.began = time.monotonic()
        error: BaseException | None = None
        try:
            error = self._handle(message)
        except BaseException as raised:  # user code; even SystemExit must not end the thread
            error = raised
            self._fail(message, raised)
        else:
            unsettled = self._settle(message)
            if unsettled is not None:
                error = unsettled
                self.failed += 1
                self._tell_failed(error)
        finally:
            self._end(message, error)
        return None

    def _tell_failed(self, error: BaseException) -> None:
        assert self._session is not None
        self._session._core.tell_failed(error)

    def _end(self, message: Message, error: BaseException | None) -> None:
        self.last, self.began = time.monotonic(), None
        self.handled += 1
        observer = self._shared.observer
        if observer is not None:
            observer(self.listener, message, error)

    def _handle(self, message: Message) -> Exception | None:
        """Call the listener, and send its result; the error of a message that it does not take."""
        call = self.listener.call
        assert self._session is not None
        try:
            positional, named = call.arguments(message, self._session)
        except (MessageFormatException, ValueError, TypeError) as error:
            self._refuse(message, error)
            return error
        if call.is_async:
            result = self._shared.event_loop().call(call.function, positional, named)
        else:  # with context variables that end with the call
            result = copy_context().run(self._run, call.function, positional, named)
        if result is not None:
            self._reply(message, result)
        return None

    def _run(self, function: Callable[..., Any], positional: list[Any], named: dict[str, Any]) -> Any:
        result = function(*positional, **named)
        # a plain function around an async one returns what must be awaited
        return self._shared.event_loop().call(_awaited, [result], {}) if isawaitable(result) else result

    def _refuse(self, message: Message, error: Exception) -> None:
        """The message is not what the listener takes."""
        self._tell_failed(error)
        self._move(message, f"not converted: {error}")

    def _reply(self, message: Message, result: Any) -> None:
        answer = self._answer(message, result)
        if answer is not None:
            assert self._producer is not None
            self._producer.send(*answer)

    def _answer(self, message: Message, result: Any) -> tuple[Destination, Message] | None:
        """Where the result goes, and as which message; None if it is dropped."""
        if isgenerator(result) or isasyncgen(result) or isawaitable(result):
            kind = type(result).__name__
            raise TypeError(f"listener {self.listener.name} returned a {kind}, which cannot be sent: return its result")
        target = message.jms_reply_to or self.listener.send_to
        if target is None:
            if not self._has_warned:
                self._has_warned = True
                log.warning(
                    "the result of listener %s for message %s is dropped: there is no JMSReplyTo and no send_to",
                    self.listener.name,
                    message.jms_message_id,
                )
            return None
        assert self._session is not None
        converter = self._shared.converter
        if self._typed is not None and isinstance(converter, JsonConverter):
            reply = converter.to_message(self._session, result, self._typed)
        else:
            reply = converter.to_message(self._session, result)
        if reply.jms_correlation_id is None:
            reply.jms_correlation_id = message.jms_correlation_id or message.jms_message_id
        return target, reply

    def _settle(self, message: Message) -> JMSException | None:
        """The call has ended well: commit, or acknowledge where the session does not do it; returns why that failed."""
        assert self._session is not None
        try:
            if self.listener.mode == SESSION_TRANSACTED:
                self._session.commit()
            elif self.listener.mode in _BY_APPLICATION:
                message.acknowledge()
        except JMSException as error:
            log.warning(
                "what listener %s did for message %s is undone or in doubt; the message will be delivered again: %s",
                self.listener.name,
                message.jms_message_id,
                error,
            )
            return error
        return None

    def _fail(self, message: Message, error: BaseException) -> None:
        self.failed += 1
        ended = False
        try:
            self._tell_failed(error)
            ended = self._is_dealt_with(message, error)
        finally:  # whatever is raised here: the next message must not settle this one
            if not ended and self.listener.mode not in AUTOMATIC:
                self._undo()
        if ended:
            return
        if self.listener.mode in AUTOMATIC:
            raise error  # the session logs it, and delivers the message again
        log.error(
            "listener %s raised on message %s of %s",
            self.listener.name,
            message.jms_message_id,
            self.listener.pattern,
            exc_info=error,
        )

    def _is_dealt_with(self, message: Message, error: BaseException) -> bool:
        """Whether the error handler has decided, and the message is not delivered again."""
        decision = self._decide(message, error)
        if decision is Decision.ACCEPT:
            self._settle(message)
            return True
        return decision is Decision.DEAD_LETTER and self._dead_letter(message, _words(error))

    def _decide(self, message: Message, error: BaseException) -> Decision | None:
        handler = self.listener.on_error
        if handler is None:
            return None
        try:
            decision = handler(error, message)
            if decision is not None and not isinstance(decision, Decision):
                log.error("the error handler of listener %s returned no Decision: redelivered", self.listener.name)
                return None
            return decision
        except BaseException:  # user code
            log.exception("the error handler of listener %s raised", self.listener.name)
            return None

    def _dead_letter(self, message: Message, reason: str) -> bool:
        """Dead-letter a message on which the listener failed, without what it sent; False if that failed."""
        assert self._session is not None
        try:
            if self.listener.mode == SESSION_TRANSACTED:
                self._session._core.roll_sends_back()
            self._move(message, reason)
        except JMSException as error:
            log.warning(
                "message %s is not dead-lettered, and will be delivered again: %s", message.jms_message_id, error
            )
            return False
        self._settle(message)
        return True

    def _move(self, message: Message, reason: str) -> None:
        """Send a copy to the dead-letter queue; the message is settled like a handled one."""
        queue = self._shared.dead_letter_queue(self.listener)
        if queue is None or queue == self.listener.destination:
            raise MessageFormatException(f"{reason}; and there is no other queue to move it to: set dead_letter_queue")
        assert self._producer is not None
        assert self._session is not None
        move_to(queue, message, reason, self.listener, self._producer)
        self._session._core.tell_dead_lettered(self.listener.destination)
        self.dead += 1
        log.warning("message %s of %s is moved to %s: %s", message.jms_message_id, self.listener.pattern, queue, reason)

    def _undo(self) -> None:
        assert self._session is not None
        try:
            if self.listener.mode == SESSION_TRANSACTED:
                self._session.rollback()
            elif self.listener.mode in _BY_APPLICATION:
                self._session.recover()
        except JMSException as error:
            log.warning("listener %s: the broker will deliver the message again: %s", self.listener.name, error)


def _words(error: BaseException) -> str:
    """Type and text, as far as the error tells it."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return f"{type(error).__name__}: "


async def _awaited(result: Awaitable[Any]) -> Any:
    return await result


def _consumer(session: Session, listener: Listener) -> MessageConsumer:
    where, selector, name = listener.destination, listener.selector, listener.subscription
    if name is None or not isinstance(where, Topic):
        return session.create_consumer(where, selector)
    if not listener.durable:
        return session.create_shared_consumer(where, name, selector)
    create = session.create_shared_durable_consumer if listener.shared else session.create_durable_consumer
    return create(where, name, selector)

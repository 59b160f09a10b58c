"""Receiving messages (Jakarta Messaging 3.1 chapter 8)."""

import math
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any, ClassVar, Never, TypeVar

from jmsbridge.closing import Closing
from jmsbridge.core import arguments
from jmsbridge.core.receiving.receiver import Receiver
from jmsbridge.core.runtime.closing import CloseState
from jmsbridge.core.runtime.interrupts import wait_whole
from jmsbridge.core.runtime.locks import Rank
from jmsbridge.core.session import SessionCore
from jmsbridge.destinations import Destination, Queue, Topic
from jmsbridge.errors import IllegalStateException
from jmsbridge.listeners import MESSAGE_LISTENER_NAMES, AnyMessageListener, as_function
from jmsbridge.message import Message
from jmsbridge.strict import Strict

__all__ = ["MessageConsumer", "QueueReceiver", "TopicSubscriber"]

T = TypeVar("T")


class MessageConsumer(Closing, Strict):
    """Receives the messages of a queue or a topic subscription, by ``receive``, by iteration or with a listener.

    Belongs to its session's thread; only ``close`` may be called from another one (section 8.8). Iteration ends when
    the consumer is closed.
    """

    __slots__ = ("__weakref__", "_closed", "_core", "_destination", "_life", "_listener", "_receiver", "_session")
    _session: object
    _advice: ClassVar[dict[str, str]] = MESSAGE_LISTENER_NAMES
    _listener: AnyMessageListener | None

    def __init__(self, core: SessionCore, receiver: Receiver, destination: Destination) -> None:
        self._core = core
        self._receiver = receiver
        self._destination = destination
        self._listener = None
        self._closed = False
        self._life = CloseState(Rank.CONSUMER)
        core.add_child(self)

    def _check(self) -> None:
        if self._closed:
            raise IllegalStateException("the consumer is closed")
        self._core.check_open()

    @property
    def message_selector(self) -> str | None:
        """The selector; None if it is absent or empty (rule SE-1)."""
        self._check()
        return self._receiver.interest.selector

    @property
    def is_truncated(self) -> bool:
        """Whether an emulated selector has not seen all messages: it buffers at most ``emulation_limit``."""
        buffer = self._receiver.inbox.unmatched
        return buffer is not None and buffer.was_full

    @property
    def message_listener(self) -> AnyMessageListener | None:
        """Called with each message, on the session's delivery thread, one at a time per session.

        A callable or an object with ``on_message``, or None. When it raises in AUTO or DUPS_OK, the message is
        delivered again (rule AC-9).
        """
        self._check()
        return self._listener

    @message_listener.setter
    def message_listener(self, listener: AnyMessageListener | None) -> None:
        self._check()
        self._core.listen(self._receiver, as_function(listener, "on_message", "a message listener"))
        self._listener = listener

    # ---- receiving

    def receive(self, *wrong: Never, timeout: float | timedelta | None = None) -> Message | None:
        """The next message; None when ``timeout`` seconds have passed or the consumer is closed.

        Without ``timeout`` it waits for ever; 0 is ``receive_no_wait``. IllegalState when the session has a listener
        or another thread is receiving on it (rule TH-3).
        """
        if wrong:
            arguments.refuse_positional_timeout("receive({})", wrong)
        message: Message | None = self._take(timeout)
        return message

    def receive_no_wait(self) -> Message | None:
        """The next message if the broker has one now, else None (rule CN-7)."""
        message: Message | None = self._take(0)
        return message

    def _take(self, timeout: float | timedelta | None, read: Callable[[Message], Any] | None = None) -> Any:
        if self._closed:
            self._check()
        core = self._core
        core.begin()
        if timeout is not None:
            timeout = arguments.seconds(timeout)
            if timeout == math.inf:
                timeout = None
        return core.receive(self._receiver, timeout, read)

    def __iter__(self) -> Iterator[Message]:
        """Receive until the consumer is closed."""
        while not self._closed:
            try:
                message = self.receive()
            except IllegalStateException:
                if self._receiver.closed:  # by another thread, between two messages
                    return
                raise
            if message is None:
                return
            yield message

    # ---- end

    def close(self) -> None:
        """End delivery (section 8.8). Messages that were delivered can still be acknowledged or committed.

        From any thread; waits for a receive or listener of this consumer that is in progress, except from that
        listener itself, which then completes normally. Idempotent.
        """
        core = self._core
        if core.connection.is_forked:
            self._closed = True
            return
        patient = not core.incoming.listening.executor.is_current()
        wait_whole(lambda: self._close(wait=patient), to_the_end=True)

    def _close(self, *, wait: bool) -> None:
        if not self._life.wait_begin_close(wait=wait):
            return
        self._closed = True
        try:
            self._core.forget_child(self)
            self._core.close_receiver(self._receiver)
        finally:
            self._life.end_close()

    def _shut(self) -> None:
        """Called when the session closes, which does the rest."""
        self._closed = True


class QueueReceiver(MessageConsumer):
    """A consumer of a queue, with the interface of JMS 1.x (section 9.2)."""

    __slots__ = ()

    @property
    def queue(self) -> Queue:
        """The queue."""
        self._check()
        assert isinstance(self._destination, Queue)
        return self._destination


class TopicSubscriber(MessageConsumer):
    """A consumer of a topic subscription, with the interface of JMS 1.x (section 9.2)."""

    __slots__ = ()

    @property
    def topic(self) -> Topic:
        """The topic."""
        self._check()
        assert isinstance(self._destination, Topic)
        return self._destination

    @property
    def no_local(self) -> bool:
        """Whether messages sent on the same connection are left out."""
        self._check()
        return self._receiver.interest.no_local

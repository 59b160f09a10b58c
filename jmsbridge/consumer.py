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
from jmsbridge.listeners import MESSAGE_LISTENER_NAMES, AnyMessageListener, as_message
from jmsbridge.message import Message
from jmsbridge.strict import Strict

__all__ = ["MessageConsumer", "QueueReceiver", "TopicSubscriber"]

T = TypeVar("T")


class MessageConsumer(Closing, Strict):
    """Receives the messages of a queue or of a topic subscription, one after the other or by a listener.

    Belongs to its session's thread; only ``close`` may be called from another one (section 8.8). Iterating receives
    until the consumer is closed.
    """

    __slots__ = ("__weakref__", "_closed", "_core", "_destination", "_life", "_listener", "_receiver", "_session")
    _session: object
    _meant: ClassVar[dict[str, str]] = MESSAGE_LISTENER_NAMES
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
        """The selector; None when there is none, the empty string included (rule SE-1)."""
        self._check()
        return self._receiver.interest.selector

    @property
    def is_cut(self) -> bool:
        """Whether messages were never looked at: an emulated selector sets ``emulation_limit`` aside at most."""
        buffer = self._receiver.inbox.unmatched
        return buffer is not None and buffer.was_full

    @property
    def message_listener(self) -> AnyMessageListener | None:
        """Called with each message, on the session's delivery thread, one at a time per session; None for none.

        A callable or an object with ``on_message``. When it raises, AUTO and DUPS_OK deliver the message again (rule
        AC-9).
        """
        self._check()
        return self._listener

    @message_listener.setter
    def message_listener(self, listener: AnyMessageListener | None) -> None:
        self._check()
        self._core.listen(self._receiver, as_message(listener))
        self._listener = listener

    # ---- receiving

    def receive(self, *wrong: Never, timeout: float | timedelta | None = None) -> Message | None:
        """The next message; None when ``timeout`` seconds passed or the consumer was closed meanwhile.

        Without ``timeout`` waits for ever; 0 is ``receive_no_wait``. IllegalState when the session has a listener or
        another thread is receiving on it (rule TH-3).
        """
        if wrong:
            arguments.refuse_positional_timeout("receive({})", wrong)
        message: Message | None = self._take(timeout)
        return message

    def receive_no_wait(self) -> Message | None:
        """The next message that the broker has right now, or None (rule CN-7)."""
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
            message = self.receive()
            if message is None:
                return
            yield message

    # ---- end

    def close(self) -> None:
        """End delivery (section 8.8). Acknowledgement and transaction of what was delivered go on as if it were open.

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
        """The session is closing and takes care of the rest."""
        self._closed = True


class QueueReceiver(MessageConsumer):
    """A consumer of a queue, with the older interface (section 9.2)."""

    __slots__ = ()

    @property
    def queue(self) -> Queue:
        """The queue."""
        self._check()
        assert isinstance(self._destination, Queue)
        return self._destination


class TopicSubscriber(MessageConsumer):
    """A consumer of a topic subscription, with the older interface (section 9.2)."""

    __slots__ = ()

    @property
    def topic(self) -> Topic:
        """The topic."""
        self._check()
        assert isinstance(self._destination, Topic)
        return self._destination

    @property
    def no_local(self) -> bool:
        """Whether messages of the own connection are left out."""
        self._check()
        return self._receiver.interest.no_local

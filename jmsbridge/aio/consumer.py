"""Receiving messages in tasks (Jakarta Messaging 3.1 chapter 8)."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any, ClassVar, NoReturn, TypeAlias

from jmsbridge import consumer as threaded
from jmsbridge.aio.loops import wait_changed
from jmsbridge.aio.opening import AsyncClosing
from jmsbridge.aio.scope import Scope
from jmsbridge.core.receiving.incoming import POLL, POLL_WITHOUT_FETCH
from jmsbridge.errors import InvalidCall
from jmsbridge.listeners import MESSAGE_LISTENER_NAMES, as_function
from jmsbridge.message import Message
from jmsbridge.strict import Strict

__all__ = ["AnyMessageListener", "MessageConsumer"]

AnyMessageListener: TypeAlias = Callable[[Message], Awaitable[object] | object]
"""A function, plain or ``async``."""

_TURN = 64
"""After so many messages without a wait, other tasks get a turn."""


class MessageConsumer(AsyncClosing, Strict):
    """Receives the messages of a queue or a topic subscription: ``receive``, ``async for``, or a listener.

    One task at a time receives on a session. Iteration ends when the consumer is closed.
    """

    __slots__ = ("__weakref__", "_acknowledged", "_listener", "_receiver", "_scope", "_sync", "_turn")
    _advice: ClassVar[dict[str, str]] = MESSAGE_LISTENER_NAMES
    _listener: AnyMessageListener | None

    def __init__(self, scope: Scope, sync: threaded.MessageConsumer) -> None:
        self._scope = scope
        self._sync = sync
        self._receiver = sync._receiver
        self._listener = None
        self._turn = 0
        self._acknowledged = scope.keep()

    @property
    def message_selector(self) -> str | None:
        """The selector; None if it is absent or empty."""
        return self._sync.message_selector

    @property
    def is_truncated(self) -> bool:
        """Whether an emulated selector has not seen all messages: it buffers at most ``emulation_limit``."""
        return self._sync.is_truncated

    @property
    def message_listener(self) -> AnyMessageListener | None:
        """Called with each message, in a task of the session, one at a time; a plain function or an ``async`` one.

        When it raises in AUTO or DUPS_OK, the message is delivered again. An ``async`` one that is awaiting keeps the
        session's next message waiting, so that the order holds.
        """
        self._scope.check()
        self._sync._check()
        return self._listener

    @message_listener.setter
    def message_listener(self, listener: AnyMessageListener | None) -> None:
        self._scope.check_listen()
        self._sync.message_listener = as_function(listener, "on_message", "a message listener")
        self._listener = listener

    # ---- receiving

    async def receive(self, *wrong: Any, **more: Any) -> Message | None:
        """The next message; None when the consumer is closed. A time-out is ``asyncio.timeout``.

        A receive that is cancelled or timed out has taken no message: the next one gets it, not marked as redelivered.
        IllegalState when the session has a listener or another task is receiving on it.
        """
        if wrong or more:
            _refuse_timeout()
        message = self._take_here()
        return await self._receive() if message is None else message

    async def receive_no_wait(self) -> Message | None:
        """The next message if the broker has one now, else None."""
        scope = self._scope
        scope.begin_receive(self._sync)
        try:
            message = await self._take(POLL)
            if message is None and not self._receiver.closed:
                await scope.line.whole(self._receiver.wait_looked)
                message = await self._take(POLL_WITHOUT_FETCH)
            return message
        finally:
            scope.receiving = None

    def _take_here(self) -> Message | None:
        """The next message if that needs no ``await``, as for most messages on a busy queue; else None."""
        scope = self._scope
        self._turn += 1
        if self._turn % _TURN == 0 or scope.confirms_receives or not scope.line.is_still:
            return None
        scope.check_receive(self._sync)
        message: Message | None = scope.core.receive(self._receiver, POLL, None)
        return message

    async def _receive(self) -> Message | None:
        scope = self._scope
        if self._turn % _TURN == 0:
            scope.check_receive(self._sync)
            await asyncio.sleep(0)
            if self._receiver.closed:
                return None
        scope.begin_receive(self._sync)
        try:
            while (message := await self._take(POLL)) is None and not self._receiver.closed:
                await self._wait_news()
            return message
        finally:
            scope.receiving = None

    async def _take(self, asking: float) -> Message | None:
        # no message is in hand at an ``await``: a cancelled task loses none
        scope = self._scope
        line = scope.line
        if not line.is_still:
            await line.wait_still()
        if self._acknowledged:
            return self._acknowledged.popleft()
        if scope.confirms_receives:
            take = partial(scope.core.receive, self._receiver, asking, None)
            return await line.whole(take, late=self._keep)
        message: Message | None = scope.core.receive(self._receiver, asking, None)
        return message

    def _keep(self, message: Message | None) -> None:
        if message is not None:
            self._acknowledged.append(message)

    async def _wait_news(self) -> None:
        receiver = self._receiver
        inbox = receiver.inbox
        try:
            await wait_changed(self._scope.port, inbox.waiting, inbox.has_news, inbox.pause_left)
        except asyncio.CancelledError:
            if not inbox.window and inbox.has_credit and not inbox.has_news():
                self._scope.take_credit_back(receiver)
            raise

    def __aiter__(self) -> AsyncIterator[Message]:
        """Receive until the consumer is closed."""
        return self

    async def __anext__(self) -> Message:
        message = None
        if not self._receiver.closed:  # from the begin of a close on, when receive raises already
            message = self._take_here()
            if message is None:
                message = await self._receive()
        if message is None:
            raise StopAsyncIteration
        return message

    # ---- end

    async def close(self) -> None:
        """End delivery. Messages that were delivered can still be acknowledged or committed.

        Waits for its listener, except in that listener itself. Idempotent.
        """
        scope = self._scope
        scope.port.check()
        if self._sync._closed or scope.line.is_closed:
            return
        self._receiver.close()
        if not scope.delivering.is_current():
            await scope.delivering.wait_quiet(self._receiver)
        await scope.line.whole(self._sync.close, to_the_end=True)
        scope.report_kept(self._acknowledged)

    def __repr__(self) -> str:
        return f"<aio.{type(self).__name__} of session {self._scope.core.name}>"


def _refuse_timeout() -> NoReturn:
    raise InvalidCall("receive() takes no time-out: write `async with asyncio.timeout(seconds): … await receive()`")

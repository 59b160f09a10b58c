"""A consumer whose ``async`` listener is called in the event loop itself: no message goes from thread to thread.

It delivers and answers as a session of ``jmsbridge.aio`` does. It is for listeners after which no call of the session
waits for the broker: a commit or a recover would need a thread for each message, and such listeners have one anyway.
"""

import time
from functools import partial

from jmsbridge.aio.delivering import Delivering
from jmsbridge.aio.line import Line
from jmsbridge.aio.sends import Send
from jmsbridge.app.listeners import Listener
from jmsbridge.app.workers import AUTOMATIC, Shared, Worker
from jmsbridge.connection import Connection
from jmsbridge.core.runtime.executor import Executors
from jmsbridge.destinations import Destination
from jmsbridge.errors import JMSException, MessageFormatException
from jmsbridge.message import Message
from jmsbridge.session import Session

__all__ = ["LoopWorker", "new_worker"]


def new_worker(listener: Listener, shared: Shared) -> Worker:
    """A consumer for this listener, in the event loop if it can be there."""
    call = listener.call
    in_loop = call.is_async and not call.takes_session and listener.mode in AUTOMATIC
    return LoopWorker(listener, shared) if in_loop else Worker(listener, shared)


class LoopWorker(Worker):
    """Runs in the loop, except what may wait: error handlers and dead letters."""

    _delivering: Delivering | None = None
    _line: Line | None = None

    def close(self) -> None:
        """See ``Worker``."""
        super().close()
        if self._line is not None and not self._line.port.is_closed():
            self._line.port.post(self._line.end)

    def problem(self) -> JMSException | None:
        """Also when the task that delivers was cancelled between two calls, say by a watchdog."""
        if self._delivering is not None and self._delivering.has_died:
            return JMSException("the task that calls the listener has ended")
        return super().problem()

    def _new_session(self, connection: Connection) -> Session:
        line = self._line = Line(self._shared.event_loop().port)
        settings = connection._settings(self.listener.mode, self.listener.prefetch)
        self._delivering = Delivering(line)
        session = Session(connection, settings, Executors(self._delivering.new_executor, line.new_completions))
        line.core = session._core
        return session

    async def _on_message(self, message: Message) -> None:
        self.began = time.monotonic()
        error: BaseException | None = None
        try:
            error = await self._await(message)
        except GeneratorExit:  # the loop is closed
            raise
        except BaseException as raised:  # user code
            error = raised
            try:
                await self._shared.event_loop().on_thread(partial(self._fail, message, raised))
            except KeyboardInterrupt as interrupt:  # not that of the process; it would end the task of this consumer
                raise RuntimeError("the listener raised KeyboardInterrupt") from interrupt
        finally:
            self._end(message, error)

    async def _await(self, message: Message) -> Exception | None:
        """See ``Worker._handle``."""
        call, loop = self.listener.call, self._shared.event_loop()
        assert self._session is not None
        try:
            positional, named = call.arguments(message, self._session)
        except (MessageFormatException, ValueError, TypeError) as error:
            await loop.on_thread(partial(self._refuse, message, error))
            return error
        result = await loop.call_here(call.function, positional, named)
        answer = None if result is None else self._answer(message, result)
        if answer is not None:
            await self._send(answer)
        return None

    async def _send(self, answer: tuple[Destination, Message]) -> None:
        line = self._line
        assert line is not None
        assert self._producer is not None
        send = Send(line, self._producer, answer, {}, line.core.connection.options.block_on_durable_send)
        line.add(send)
        if not send.ended:
            answered = send.expect()
            while not answered.done():
                await self._shared.event_loop().to_the_end(answered)
            answered.result()

"""Conversations with the broker: generators that yield requests and are sent the answers.

The broker refuses a request by closing its channel. So requests use a separate channel, which is opened again after
each refusal; the conversation gets the refusal as a ``ChannelException`` and may continue. Everything runs on the I/O
thread.
"""

import math
import time
from collections import deque
from collections.abc import Generator
from typing import Any, NamedTuple

from jmsbridge.spi import BackendError
from jmsbridge.transport.network.link_life import DEADLINE, Done
from jmsbridge_rabbitmq.connection.pair import ConnectionPair
from jmsbridge_rabbitmq.protocol import names
from jmsbridge_rabbitmq.protocol.errors import ChannelException, out_of_channels, refusal

__all__ = ["Ask", "Control", "Conversation", "Pause"]


class Ask(NamedTuple):
    """A request: the name of a method of pika's channel, and its arguments."""

    method: str
    arguments: dict[str, Any]


class Pause(NamedTuple):
    """Not a request: continue after so many seconds."""

    seconds: float


Conversation = Generator["Ask | Pause", Any, Any]
"""Yields requests, is sent the methods that answer them, and returns its result."""


class _Talk:
    """A conversation in progress."""

    def __init__(self, conversation: Conversation, what: str, done: Done) -> None:
        self.conversation = conversation
        self.what = what
        self.done = done
        self.next: Ask | Pause | None = None

    def go_on(self, answer: Any = None, no: ChannelException | None = None) -> bool:
        """Do one step; False if the conversation is over, with its result in ``outcome``."""
        try:
            self.next = self.conversation.send(answer) if no is None else self.conversation.throw(no)
            if isinstance(self.next, Ask):
                names.check_arguments(self.next.arguments)
        except StopIteration as end:
            self.outcome: tuple[Any, BaseException | None] = (end.value, None)
            return False
        except (ChannelException, BackendError) as error:
            self.outcome = (None, error)
            return False
        return True


class Control:
    """The channel for requests, which each refusal closes; one conversation at a time, in order.

    All but ``wait`` belongs to the I/O thread.
    """

    def __init__(self, pair: ConnectionPair) -> None:
        self._pair = pair
        self._channel: Any = None
        self._opening = False
        self._waiting: deque[_Talk] = deque()
        self._talk: _Talk | None = None
        pair.life.when_lost.append(self._lost)

    def wait(self, conversation: Conversation, what: str, deadline: float = math.inf) -> Any:
        """Run a conversation and wait for its result, at most until ``deadline``; not on the I/O thread."""
        patience = min(DEADLINE, max(0.0, deadline - time.monotonic()))
        return self._pair.life.wait(lambda done: self.ask(conversation, what, done), what, patience=patience)

    def ask(self, conversation: Conversation, what: str, done: Done) -> None:
        """Run a conversation; ``done`` is called once, on the I/O thread."""
        self._waiting.append(_Talk(conversation, what, done))
        self._begin()

    def _begin(self) -> None:
        while self._talk is None and self._waiting:
            talk = self._talk = self._waiting.popleft()
            if talk.go_on():
                self._put()
            else:
                self._end()

    def _put(self) -> None:
        talk = self._talk
        if talk is None or talk.next is None:
            return
        if isinstance(talk.next, Pause):
            seconds, talk.next = talk.next.seconds, None
            self._pair.thread.call_later(seconds, lambda: self._step(None, None) if self._talk is talk else None)
            return
        if self._channel is None:
            if not self._opening:
                self._opening = self._pair.consuming.open_channel(self._opened)
                if not self._opening:
                    talk.conversation.close()
                    talk.outcome = (None, out_of_channels(talk.what, self._pair.life.broker))
                    self._end()
                    self._begin()
            return
        question, talk.next = talk.next, None
        getattr(self._channel, question.method)(callback=self._answered, **question.arguments)

    def _opened(self, channel: Any) -> None:
        self._opening = False
        self._channel = channel
        channel.add_on_close_callback(self._closed)
        self._put()

    def _answered(self, frame: Any) -> None:
        if self._talk is not None:
            self._step(frame.method, None)

    def _closed(self, channel: Any, reason: BaseException) -> None:
        if channel is self._channel:
            self._channel = None
        if self._talk is None or not self._pair.consuming.is_open:
            return
        self._step(None, ChannelException(getattr(reason, "reply_code", 0), getattr(reason, "reply_text", str(reason))))

    def _step(self, answer: Any, no: ChannelException | None) -> None:
        assert self._talk is not None
        if self._talk.go_on(answer, no):
            self._put()
        else:
            self._end()
            self._begin()

    def _end(self) -> None:
        talk, self._talk = self._talk, None
        assert talk is not None
        result, error = talk.outcome
        if isinstance(error, ChannelException):
            error = refusal(error, talk.what, self._pair.life.broker)
        talk.done(result, error)  # type: ignore[arg-type]

    def _lost(self) -> None:
        """The connection is lost: end all conversations."""
        talks = [*([self._talk] if self._talk is not None else ()), *self._waiting]
        self._talk = None
        self._waiting.clear()
        for talk in talks:
            talk.conversation.close()
            talk.done(None, self._pair.life.lost(in_doubt=True))

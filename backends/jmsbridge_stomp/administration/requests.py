"""Management messages to Artemis, over a socket of their own, since a refusal ends it. For the I/O thread."""

import time
import uuid
from collections.abc import Sequence

from jmsbridge.spi import BackendError, SendRefused
from jmsbridge.transport.artemis.operations import ADDRESS, SUCCEEDED, Reply, Request, operation
from jmsbridge.transport.deliveries.expiry import now_ms
from jmsbridge.transport.network.link_life import Done, ignored
from jmsbridge_stomp.connection.errors import Refusal, connect_error, fails_alone, refused
from jmsbridge_stomp.connection.stomp_socket import Answered
from jmsbridge_stomp.facts import LinkFacts
from jmsbridge_stomp.protocol.frames import Frame

__all__ = ["Requests"]

_SUBSCRIPTION = "answers"


class Requests:
    """Sends several requests at once and collects the replies, which come in the same order.

    ``done`` gets the replies, or the error; an error after ``patience`` seconds. The broker drops a request that it has
    not read by then. The queue for the replies is deleted again.
    """

    def __init__(self, facts: LinkFacts, requests: list[Request], patience: float, done: Done) -> None:
        self._life = facts.sockets.life
        self._requests = requests
        self._patience = patience
        self._done: Done | None = done
        self._replies: list[Reply] = []
        self._queue = f"jmsbridge.answers.{uuid.uuid4()}"
        self._socket = facts.new_socket(self._refused)
        late = BackendError(f"{ADDRESS}: no answer from {self._life.broker} within {patience:g} s", in_doubt=True)
        self._timer = self._life.thread.call_later(patience, lambda: self._finish(None, late))
        self._socket.connect(None, time.monotonic() + self._life.endpoint.connect_timeout, self._opened)

    def _opened(self, _: object, error: BaseException | None) -> None:
        if self._done is None:
            self._socket.drop()
        elif error is not None and fails_alone(error):
            self._finish(None, connect_error(error, self._life.endpoint))
        elif error is not None:
            self._life.die(connect_error(error, self._life.endpoint))
        else:
            self._ask()

    def _ask(self) -> None:
        socket, queue = self._socket, self._queue
        socket.subscriptions[_SUBSCRIPTION] = self._told
        wanted = {"id": _SUBSCRIPTION, "destination": queue, "subscription-type": "ANYCAST", "ack": "auto"}
        socket.ask("SUBSCRIBE", wanted.items(), self._answered)
        until = str(now_ms() + int(1000 * self._patience))
        for properties, text in self._requests:
            self._send({**properties, "reply-to": queue, "expires": until}, text, self._answered)

    def _send(self, headers: dict[str, str], text: str, answered: Answered) -> None:
        self._socket.ask("SEND", {"destination": ADDRESS, **headers}.items(), answered, text.encode())

    def _answered(self, error: Refusal | BackendError | None) -> None:
        if isinstance(error, Refusal):
            self._refused(error)
        elif error is not None:
            self._finish(None, error)

    def _refused(self, refusal: Refusal) -> None:
        self._finish(None, refused(refusal, f"a message to {ADDRESS}", self._life.broker, SendRefused))

    def _told(self, frames: Sequence[Frame]) -> None:
        for frame in frames:
            succeeded = frame.headers.get(SUCCEEDED) == "true"
            self._replies.append(Reply(succeeded, frame.body.decode("utf-8", "replace"), self._queue))
        if len(self._replies) >= len(self._requests):
            self._tidy()

    def _tidy(self) -> None:
        """Delete the queue for the replies, then report."""
        replies = self._replies[: len(self._requests)]
        self._socket.subscriptions.clear()
        self._socket.ask("UNSUBSCRIBE", [("id", _SUBSCRIPTION)], self._answered)
        properties, text = operation("broker", "destroyQueue", self._queue, True, True)
        self._send(properties, text, lambda _: self._finish(replies, None))

    def _finish(self, replies: list[Reply] | None, error: BackendError | None) -> None:
        done, self._done = self._done, None
        if done is None:
            return
        self._life.thread.cancel(self._timer)
        done(replies, error)
        self._socket.close(ignored)

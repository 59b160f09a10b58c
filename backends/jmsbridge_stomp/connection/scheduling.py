"""Asks ActiveMQ Classic whether its scheduler is on: with it off, the broker delivers a delayed message at once.

The scheduler takes every message to its topic for management. So if one without a command comes back to a subscriber of
that topic, there is no scheduler. A message to another topic, sent after it, shows that it will not come any more. A
delayed message as a question would be left in the broker by a short connection.
"""

import uuid
from collections.abc import Callable, Sequence
from typing import Final

from jmsbridge.spi import BackendError
from jmsbridge.transport.network.io_thread import IoThread
from jmsbridge.transport.network.loop import Timer
from jmsbridge_stomp.connection.errors import Refusal
from jmsbridge_stomp.connection.stomp_socket import Answered, StompSocket
from jmsbridge_stomp.protocol.frames import Frame

__all__ = ["ask_scheduler"]

_TOPICS: Final = {
    "jb-scheduler": "/topic/ActiveMQ.Scheduler.Management",
    "jb-marker": "/temp-topic/jb-marker",
}
_PATIENCE: Final = 2.0  # seconds after a SUBSCRIBE was answered; a broker without memory lets messages wait longer


def ask_scheduler(socket: StompSocket, thread: IoThread, told: Callable[[bool], None]) -> None:
    """``told`` is called once; with False also if the user has no right to use these topics. For the I/O thread."""
    _Question(socket, thread, told).ask()


class _Question:
    def __init__(self, socket: StompSocket, thread: IoThread, told: Callable[[bool], None]) -> None:
        self._socket = socket
        self._thread = thread
        self._told: Callable[[bool], None] | None = told
        self._timer: Timer | None = None
        self._body = uuid.uuid4().hex.encode()
        self._refused: set[str] = set()

    def ask(self) -> None:
        for name, topic in _TOPICS.items():
            self._socket.subscriptions[name] = self._arrived
            headers = [("id", name), ("destination", topic), ("ack", "auto")]
            self._socket.ask("SUBSCRIBE", headers, self._answered(name))
        for topic in _TOPICS.values():
            self._socket.ask(
                "SEND", [("destination", topic), ("persistent", "false")], self._answered(None), self._body
            )

    def _arrived(self, frames: Sequence[Frame]) -> None:
        for frame in frames:
            if frame.body == self._body:
                self._tell(frame.headers.get("subscription") == "jb-marker")

    def _answered(self, subscription: str | None) -> Answered:
        def answered(error: Refusal | BackendError | None) -> None:
            if error is None:
                self._be_patient()
                return
            if subscription is not None:
                self._refused.add(subscription)
            self._tell(False)

        return answered

    def _be_patient(self) -> None:
        """The broker answers; one that does not yet is given as long as the link may take to open."""
        if self._timer is None and self._told is not None:
            self._timer = self._thread.call_later(_PATIENCE, lambda: self._tell(False))

    def _tell(self, is_on: bool) -> None:
        told, self._told = self._told, None
        if told is None:
            return
        if self._timer is not None:
            self._thread.cancel(self._timer)
        for name in _TOPICS:
            self._socket.subscriptions.pop(name, None)
            if name not in self._refused:
                self._socket.tell("UNSUBSCRIBE", [("id", name)])
        told(is_on)

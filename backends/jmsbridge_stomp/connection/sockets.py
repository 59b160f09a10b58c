"""The sockets of one link, on one I/O thread: they live and die together. The ``Wire`` of the link's life."""

import logging
import time
from collections.abc import Callable
from typing import Protocol

from jmsbridge.spi import BackendError, Endpoint, LinkEvents, LinkLost
from jmsbridge.transport.network.link_life import LinkLife
from jmsbridge.transport.network.loop import Timer
from jmsbridge_stomp.connection.errors import loss

__all__ = ["Member", "Sockets"]

log = logging.getLogger("jmsbridge.stomp")

_TICKS = 8  # looks at the heart-beats in each period


class Member(Protocol):
    """One socket, as far as the others know it."""

    def flush(self) -> None:
        """Write what waits."""

    def beat(self, now: float) -> None:
        """Write a heart-beat if one is due, and end the link after too long a silence."""

    def drop(self) -> None:
        """Close the socket at once."""

    def answer_open(self, error: Callable[[bool], BackendError]) -> None:
        """Answer what has no answer; ``error`` is told whether some of the frame was passed to the kernel."""

    def silence(self, now: float) -> float:
        """For how many seconds the broker has owed an answer and sent nothing."""


class Sockets:
    """Everything but ``silence`` belongs to the I/O thread."""

    def __init__(self, name: str, endpoint: Endpoint, events: LinkEvents, heartbeat: float) -> None:
        self.life = LinkLife(name, "the broker", endpoint, events, self)
        self.heartbeat = heartbeat
        self.escapes_login = False
        """Whether the broker reads escapes in CONNECT."""
        self.sent = 0
        """How many messages were written, other than requests to the broker itself."""
        self.members: set[Member] = set()
        self.dirty: set[Member] = set()
        """Those with something to write after this batch."""
        self._depth = 0
        self._timer: Timer | None = None

    def guard(self, task: Callable[[], None]) -> None:
        """Run what a socket asks for, as a batch; an unexpected error ends the link."""
        try:
            self.batch(task)
        except Exception as error:
            log.exception("unexpected error on the I/O thread")
            self.life.die(error)

    def beat(self) -> None:
        """Look at the heart-beats of all sockets, from now on."""
        now = time.monotonic()
        for member in list(self.members):
            member.beat(now)
        if not self.life.is_over:
            self._timer = self.life.thread.call_later(self.heartbeat / _TICKS, self.beat)

    # -- ``Wire``, called by the link's life

    def batch(self, task: Callable[[], None]) -> None:
        """Run work, then write at once what it has produced, for each socket."""
        self._depth += 1
        try:
            task()
        finally:
            self._depth -= 1
            while not self._depth and self.dirty:
                self.dirty.pop().flush()

    def explain(self, error: BaseException) -> LinkLost:
        """Why the link ended."""
        return loss(error, str(self.life.endpoint))

    def answer_all(self) -> None:
        """The link is lost: answer what is open."""
        for member in list(self.members):
            member.answer_open(self.life.lost)

    def break_off(self, error: BaseException) -> None:
        """Close every socket, and end the thread."""
        for member in list(self.members):
            member.drop()
        self.members.clear()
        self.dirty.clear()
        self.life.thread.post(self.life.thread.stop)

    def silence(self) -> float:
        """For how many seconds the broker has owed an answer on one of the sockets and sent nothing there."""
        now = time.monotonic()
        return max((member.silence(now) for member in list(self.members)), default=0.0)

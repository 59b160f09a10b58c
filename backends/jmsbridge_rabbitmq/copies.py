"""Messages that go to another queue: to the dead letters, or to wait there for their delivery time.

A confirmed copy first, then the acceptance: a crash in between leaves two, never none.
"""

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from jmsbridge.spi import BackendError, ChannelLost, LinkLost, NotSupported, Ticket
from jmsbridge_rabbitmq.flow import Flow
from jmsbridge_rabbitmq.frames import Content
from jmsbridge_rabbitmq.publisher import now_ms

if TYPE_CHECKING:
    from jmsbridge_rabbitmq.link import Link

__all__ = ["Copies"]

log = logging.getLogger("jmsbridge.rabbitmq")

_PATIENCE = 10.0  # seconds for which a close waits for copies; less than the link's for an answer
_PAUSE = 30.0  # seconds after which what cannot be put aside comes again, as where there is no dead-letter queue

_Done = Callable[[Content, BackendError | None], None]


class Copies:
    """The copies of one subscription's messages; I/O thread."""

    def __init__(self, link: "Link", flow: Flow, what: str) -> None:
        self._link = link
        self._flow = flow
        self._what = what
        self._open = 0
        self._idle: Callable[[], None] | None = None

    def when_idle(self, task: Callable[[], None]) -> None:
        """Do this when no copy is under way."""
        if self._open:
            self._idle = task
            self._link.loop.call_later(_PATIENCE, self.wait_no_longer)
        else:
            task()

    def wait_no_longer(self) -> None:
        """Do now what was to wait for the copies."""
        idle, self._idle = self._idle, None
        if idle is not None:
            idle()

    def reject(self, tokens: Sequence[Content], ticket: Ticket | None) -> None:
        """Move these to the dead-letter queue; where that fails, they come again after a while."""
        queue = self._link.options.dead_letter_queue
        if not queue:
            if ticket is not None:
                ticket.fail(NotSupported(f"{self._link.broker} has no dead-letter queue (option dead_letter_queue)"))
            return
        if not tokens:
            if ticket is not None:
                ticket.succeed()
            return
        left = len(tokens)
        first: BackendError | None = None

        def copied(token: Content, error: BackendError | None) -> None:
            nonlocal left, first
            left -= 1
            error = self._settle(token, error, _PAUSE)
            first = first or error
            if left:
                return
            if ticket is None:
                self._tell(queue, first)
            elif first is None:
                ticket.succeed()
            else:
                ticket.fail(first)

        for token in tokens:
            self._copy(queue, token, None, copied)

    def postpone(self, token: Content, queue: str, due: int) -> None:
        """Let one that is too early wait at the broker; where that fails, it comes again when it is due."""

        def copied(token: Content, error: BackendError | None) -> None:
            if error is not None and self._link.loop.ended is None:
                log.warning("%s: a delayed message cannot wait at the broker: %s", self._what, error)
            self._settle(token, error, max(0, due - now_ms()) / 1000)

        self._copy(queue, token, due - now_ms(), copied)

    def _settle(self, token: Content, error: BackendError | None, pause: float) -> BackendError | None:
        """Done with it, or else it comes again after so many seconds, or when the consumer is closed."""
        if not self._flow.is_open:
            return error or ChannelLost("the consumer is closed", in_doubt=True)
        if error is None:
            self._flow.accept(token)
        else:
            self._link.loop.call_later(pause, lambda: self._flow.give_back(token))
        return error

    def _tell(self, queue: str, error: BackendError | None) -> None:
        """For those who did not ask; a link that died has a cause of its own."""
        if error is not None and not isinstance(error, LinkLost):
            log.warning(
                "%s: a message cannot go to %r (option dead_letter_queue), and comes again in %g s: %s",
                self._what,
                queue,
                _PAUSE,
                error,
            )

    def _copy(self, queue: str, token: Content, wait: int | None, done: _Done) -> None:
        self._open += 1

        def copied(token: Content, error: BackendError | None) -> None:
            self._open -= 1
            done(token, error)
            if not self._open:
                self.wait_no_longer()

        self._link.copies.copy(queue, token, wait, _Answer(token, copied))


class _Answer:
    """The ticket of one copy."""

    def __init__(self, token: Content, done: _Done) -> None:
        self._token = token
        self._done = done

    def succeed(self) -> None:
        """It is there."""
        self._done(self._token, None)

    def fail(self, error: BackendError) -> None:
        """It is not."""
        self._done(self._token, error)

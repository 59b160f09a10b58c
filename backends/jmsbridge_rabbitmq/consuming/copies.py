"""Messages that go to another queue, or to the tail of their own: dead letters, those that are too early, and those
that have come back too often to be requeued.

A confirmed copy first, then the acceptance: a crash in between leaves two, never none.
"""

import logging
import uuid
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from jmsbridge.spi import (
    DEAD_LETTER_EXPIRED,
    Address,
    BackendError,
    ChannelLost,
    Interest,
    LinkLost,
    NotSupported,
    Ticket,
    dead_letter_notes,
    rejected_to,
)
from jmsbridge_rabbitmq.consuming.consumer_channel import ConsumerChannel, Source
from jmsbridge_rabbitmq.consuming.delivery_limit import DeliveryLimit, NearLimit
from jmsbridge_rabbitmq.messages import copying
from jmsbridge_rabbitmq.messages.wire import decode
from jmsbridge_rabbitmq.protocol.frames import Content
from jmsbridge_rabbitmq.publishing.publisher import now_ms

if TYPE_CHECKING:
    from jmsbridge_rabbitmq.link import Link

__all__ = ["Copies"]

log = logging.getLogger("jmsbridge.rabbitmq")

_PATIENCE = 10.0  # seconds for which a close waits for copies, at most half of the time that it has in all
_PAUSE = 30.0  # seconds after which what cannot be put aside comes again, as where there is no dead-letter queue

_Done = Callable[[BackendError | None], None]


class Copies:
    """The copies of one subscription's messages; I/O thread."""

    def __init__(
        self, link: "Link", flow: ConsumerChannel, interest: Interest, source: Source, limit: DeliveryLimit
    ) -> None:
        self._link = link
        self._flow = flow
        self._interest = interest
        self._source = source
        self._limit = limit
        self._copying: set[int] = set()  # delivery tags
        self._when_idle: list[Callable[[], None]] = []

    def when_idle(self, task: Callable[[], None]) -> None:
        """Do this when no copy is under way."""
        if self._copying:
            self._when_idle.append(task)
            patience = min(_PATIENCE, self._link.endpoint.close_timeout / 2)
            self._link.loop.call_later(patience, self.wait_no_longer)
        else:
            task()

    def wait_no_longer(self) -> None:
        """Do now what was to wait for the copies."""
        tasks, self._when_idle = self._when_idle, []
        for task in tasks:
            task()

    # -- dead letters

    def reject(self, tokens: Sequence[Content], failures: int, ticket: Ticket | None) -> None:
        """Move these to the dead-letter queue; those that have expired to the queue for them, where there is one."""
        letters = [_Letter(token, *self._place(token), failures) for token in tokens]
        if all(letter.queue for letter in letters):
            self._put_aside(letters, ticket)
        elif ticket is not None:
            ticket.fail(NotSupported(f"{self._link.broker} has no dead-letter queue (option dead_letter_queue)"))

    def expire(self, token: Content, queue: str) -> None:
        """Move a message that has expired."""
        self._put_aside([_Letter(token, queue, DEAD_LETTER_EXPIRED, 0)], None)

    def _place(self, token: Content) -> tuple[str, str | None]:
        envelope = decode(self._interest.address, token.properties, b"").envelope
        queue, reason = rejected_to(self._interest, envelope, now_ms())
        return queue or self._link.options.dead_letter_queue or "", reason

    def _put_aside(self, letters: "Sequence[_Letter]", ticket: Ticket | None) -> None:
        """Copy them, with notes of why and whence; where that fails, they come again after a while."""
        left = len(letters)
        if not left and ticket is not None:
            ticket.succeed()
        first: BackendError | None = None

        def copied(letter: _Letter, error: BackendError | None) -> None:
            nonlocal left, first
            left -= 1
            error = self._settle(letter.token, error, _PAUSE)
            first = first or error
            if left:
                return
            if ticket is None:
                self._tell(letter.queue, first)
            elif first is None:
                ticket.succeed()
            else:
                ticket.fail(first)

        for letter in letters:
            self._copy(letter.queue, letter.token, self._as_dead_letter(letter), partial(copied, letter))

    def _as_dead_letter(self, letter: "_Letter") -> bytes:
        address, key, token = self._interest.address, self._interest.key, letter.token
        before = decode(address, token.properties, b"", token.redelivered).delivery_count - 1
        origin = f"{address}/{key}" if address.topic and key is not None else str(address)
        home = self._source.queue if address.topic and self._interest.durable else None
        source = None if address == Address(letter.queue) else origin
        notes = dead_letter_notes(letter.reason, source, before + letter.failures, now_ms(), home)
        return copying.dead_copy(token.properties, _new_id(), notes)

    def _tell(self, queue: str, error: BackendError | None) -> None:
        """Log it where there is no ticket; a link that died has a cause of its own."""
        if error is not None and not isinstance(error, LinkLost):
            log.warning(
                "%s: a message cannot go to %r%s, and comes again in %g s: %s",
                self._interest.address,
                queue,
                " (option dead_letter_queue)" if queue == self._link.options.dead_letter_queue else "",
                _PAUSE,
                error,
            )

    # -- messages that come again

    def postpone(self, token: Content, due: int) -> None:
        """Let one that is too early wait at the broker; where that fails, it comes again when it is due."""

        def copied(error: BackendError | None) -> None:
            if error is not None and self._link.loop.ended is None:
                log.warning("%s: a delayed message cannot wait at the broker: %s", self._interest.address, error)
            self._settle(token, error, max(0, due - now_ms()) / 1000)

        raw = copying.copy_for(token.properties, _new_id())
        self._copy(self._source.queue, token, raw, copied, wait=due - now_ms())

    def copy_to_tail(self, near: NearLimit, deliveries: int, failed: Callable[[BackendError], None]) -> None:
        """Replace a message by a copy at the tail of its queue, which says that it was delivered so often."""
        raw = copying.fresh_copy(near.content.properties, _new_id(), deliveries, now_ms())

        def copied(error: BackendError | None) -> None:
            if error is None:
                self._flow.accept(near.content)
            elif self._flow.is_open:
                failed(error)

        self._copy(self._source.queue, near.content, raw, copied, there=True)

    def requeue(self, token: Content, failures: int = 1) -> None:
        """Give one back to its queue, to its place or, where it has come back too often, to the tail."""
        near = self._limit.find(token)
        if near is None or (self._link.blocked and not self._limit.is_reached(near)):
            self._flow.give_back(token)
        elif self._flow.is_unsettled(token.delivery_tag) and token.delivery_tag not in self._copying:
            deliveries = near.deliveries - 1 + max(1, failures)
            self.copy_to_tail(near, deliveries, lambda error: self._requeue_later(near, failures, error))

    def _requeue_later(self, near: NearLimit, failures: int, error: BackendError) -> None:
        """The tail did not take it: back to its place while the limit allows that, else try again after a while."""
        if not self._limit.is_reached(near):
            self._flow.give_back(near.content)
            return
        log.warning(
            "%s: a message has come back as often as its queue allows (%d times), and the queue takes no copy of it."
            " The next attempt is in %g s; should the consumer end before, the broker drops or dead-letters it: %s",
            self._interest.address,
            near.returns,
            _PAUSE,
            error,
        )
        self._link.loop.call_later(_PAUSE, lambda: self.requeue(near.content, failures))

    # -- how

    def _settle(self, token: Content, error: BackendError | None, pause: float) -> BackendError | None:
        """Done with it, or else it comes again after so many seconds, or when the consumer is closed."""
        if not self._flow.is_open:
            return error or ChannelLost("the consumer is closed", in_doubt=True)
        if error is None:
            self._flow.accept(token)
        else:
            self._link.loop.call_later(pause, lambda: self.requeue(token))
        return error

    def _copy(self, queue: str, token: Content, raw: bytes, done: _Done, *, wait: int = 0, there: bool = False) -> None:
        tag = token.delivery_tag
        self._copying.add(tag)

        def copied(error: BackendError | None) -> None:
            self._copying.discard(tag)
            done(error)
            if not self._copying:
                self.wait_no_longer()

        self._link.copies.copy(queue, raw, token.body, _Answer(copied), wait=wait, there=there)


def _new_id() -> str:
    return f"ID:jb-copy-{uuid.uuid4()}"


class _Letter(NamedTuple):
    """A message that goes to another queue: why (None: it was rejected), and after how many failures here."""

    token: Content
    queue: str
    reason: str | None
    failures: int


class _Answer:
    """The ticket of one copy."""

    def __init__(self, done: _Done) -> None:
        self._done = done

    def succeed(self) -> None:
        """It is there."""
        self._done(None)

    def fail(self, error: BackendError) -> None:
        """It is not."""
        self._done(error)

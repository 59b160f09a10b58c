"""Copies of received messages: dead letters, messages that are not due yet, and messages requeued too often.

The original is accepted after its copy was confirmed: a crash in between leaves two messages, never none.
"""

import logging
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from jmsbridge.spi import BackendError, ChannelLost, Envelope, Interest, Ticket
from jmsbridge.transport.deliveries.copies import CopiesUnderWay
from jmsbridge.transport.deliveries.dead_letters import PAUSE, DeadLetters
from jmsbridge.transport.deliveries.expiry import now_ms
from jmsbridge_rabbitmq.connection.pair import ConnectionPair
from jmsbridge_rabbitmq.consuming.consumer_channel import ConsumerChannel
from jmsbridge_rabbitmq.consuming.delivery_limit import DeliveryLimit, NearLimit
from jmsbridge_rabbitmq.consuming.sources import Source
from jmsbridge_rabbitmq.messages import copying
from jmsbridge_rabbitmq.messages.wire import decode
from jmsbridge_rabbitmq.protocol.frames import Content
from jmsbridge_rabbitmq.publishing.publisher import Publisher

__all__ = ["Copies"]

log = logging.getLogger("jmsbridge.rabbitmq")

_Done = Callable[[BackendError | None], None]


class Copies:
    """Copies the messages of one subscription, with the publisher ``copier``; I/O thread."""

    def __init__(
        self,
        pair: ConnectionPair,
        copier: Publisher,
        channel: ConsumerChannel,
        interest: Interest,
        source: Source,
        limit: DeliveryLimit,
        dead_letter_queue: str,
    ) -> None:
        self._pair = pair
        self._thread = pair.life.thread
        self._copier = copier
        self._channel = channel
        self._interest = interest
        self._source = source
        self._limit = limit
        self._copying = CopiesUnderWay(pair.life)
        self.when_idle, self.wait_no_longer = self._copying.when_idle, self._copying.wait_no_longer
        home = source.queue if interest.address.topic and interest.durable else None
        self._letters: DeadLetters[Content] = DeadLetters(
            interest, dead_letter_queue or None, home, lambda: pair.life.broker, self
        )

    # -- dead letters

    def reject(self, tokens: Sequence[Content], failures: int, ticket: Ticket | None) -> None:
        """Move these to the dead-letter queue; expired ones to the expiry queue, if there is one."""
        self._letters.reject(tokens, failures, ticket)

    def expire(self, token: Content, queue: str) -> None:
        """Move an expired message."""
        self._letters.expire(token, queue)

    def read(self, token: Content) -> tuple[Envelope, int]:
        """Headers and properties of a message, and its delivery count."""
        inbound = decode(self._interest.address, token.properties, b"", token.redelivered)
        return inbound.envelope, inbound.delivery_count

    def copy_letter(self, queue: str, token: Content, notes: dict[str, Any], done: _Done) -> None:
        """Send the copy for a dead-letter queue."""
        self._copy(queue, token, copying.dead_copy(token.properties, _new_id(), notes), done)

    # -- messages that are delivered again

    def postpone(self, token: Content, due: int) -> None:
        """Let a message that is not due yet wait at the broker; if that fails, requeue it when it is due."""

        def copied(error: BackendError | None) -> None:
            if error is not None and self._thread.ended is None:
                log.warning("%s: a delayed message waits in this process: %s", self._interest.address, error)
            self.settle_original(token, error, max(0, due - now_ms()) / 1000)

        raw = copying.copy_for(token.properties, _new_id())
        self._copy(self._source.queue, token, raw, copied, wait=due - now_ms())

    def copy_to_tail(self, near: NearLimit, deliveries: int, failed: Callable[[BackendError], None]) -> None:
        """Replace a message by a copy at the tail of its queue, with this number of deliveries in a header."""
        raw = copying.fresh_copy(near.content.properties, _new_id(), deliveries, now_ms())

        def copied(error: BackendError | None) -> None:
            if error is None:
                self._channel.accept(near.content)
            elif self._channel.is_open:
                failed(error)

        self._copy(self._source.queue, near.content, raw, copied, owned=True)

    def requeue(self, tokens: Sequence[Content], failures: int = 1) -> None:
        """Requeue messages in their places, or as copies at the tail if they were requeued too often."""
        here = []
        for token in tokens:
            near = self._limit.find(token)
            if near is None or (self._pair.blocked and not self._limit.is_reached(near)):
                here.append(token)
            elif self._channel.is_unsettled(token.delivery_tag) and token.delivery_tag not in self._copying:
                self._requeue_at_tail(near, failures)
        self._channel.requeue(here)

    def _requeue_at_tail(self, near: NearLimit, failures: int) -> None:
        deliveries = near.deliveries - 1 + max(1, failures)
        self.copy_to_tail(near, deliveries, lambda error: self._requeue_later(near, failures, error))

    def _requeue_later(self, near: NearLimit, failures: int, error: BackendError) -> None:
        """The copy failed: requeue in place while the limit allows that, else try again after ``PAUSE``."""
        if not self._limit.is_reached(near):
            self._channel.requeue((near.content,))
            return
        log.warning(
            "%s: a message was requeued as often as its queue allows (%d times), and copying it to the queue failed."
            " The next attempt is in %g s; if the consumer ends before, the broker drops or dead-letters it: %s",
            self._interest.address,
            near.returns,
            PAUSE,
            error,
        )
        self._thread.call_later(PAUSE, lambda: self.requeue((near.content,), failures))

    # -- how

    def settle_original(self, token: Content, error: BackendError | None, pause: float) -> BackendError | None:
        """Accept the original; after an error, requeue it in ``pause`` seconds, or when the consumer is closed."""
        if not self._channel.is_open:
            return error or ChannelLost("the consumer is closed", in_doubt=True)
        if error is None:
            self._channel.accept(token)
        else:
            self._thread.call_later(pause, lambda: self.requeue((token,)))
        return error

    def _copy(self, queue: str, token: Content, raw: bytes, done: _Done, *, wait: int = 0, owned: bool = False) -> None:
        ticket = self._copying.begin(token.delivery_tag, done)
        self._copier.copy(queue, raw, token.body, ticket, wait=wait, owned=owned)


def _new_id() -> str:
    return f"ID:jb-copy-{uuid.uuid4()}"

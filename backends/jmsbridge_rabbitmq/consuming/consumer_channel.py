"""One AMQP channel that consumes one queue: a consumer with its window, basic.get, and acknowledgements.

Each subscription has its own channel, because a multiple acknowledgement settles all earlier deliveries of the channel.
Everything here belongs to the I/O thread.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from jmsbridge.spi import AddressRefused, BackendError, SubscriptionRefused
from jmsbridge.transport.deliveries.acknowledgement_ranges import AcknowledgementRanges
from jmsbridge.transport.network.link_life import ignored
from jmsbridge_rabbitmq.connection.pair import ConnectionPair
from jmsbridge_rabbitmq.consuming.sources import Source, Sources
from jmsbridge_rabbitmq.protocol.errors import ChannelException, is_exclusive_use, out_of_channels, refusal
from jmsbridge_rabbitmq.protocol.frames import Content

__all__ = ["MOST", "ConsumerChannel"]

MOST = 65_535
"""The largest window (prefetch count)."""
_DEADLINE = 20.0  # seconds for a consumer to start
_PATIENCE = 20  # round trips
_OVERTAKING = 3  # round trips that may overtake messages of a quorum queue
_REQUEUE_DELAY = 0.02  # seconds for which requeues are collected, to write them in order
_MANY = 50  # settlements, from which a transaction is worth its round trip
_AHEAD = 30  # of settlements without an answer a quorum queue's channel keeps all after the 32nd, until it is closed


class ConsumerChannel:
    """``what`` names the destination in error messages.

    ``on_message`` gets each delivery, ``on_end`` the reason if the broker ends the channel but not the link.
    """

    def __init__(
        self,
        pair: ConnectionPair,
        sources: Sources,
        source: Source,
        what: str,
        on_message: Callable[[Content], None],
        on_end: Callable[[BackendError], None],
    ) -> None:
        self._pair = pair
        self._life = pair.life
        self._sources = sources
        self._source = source
        self._what = what
        self._on_message = on_message
        self._on_end = on_end
        self._channel: Any = None
        self._opening: Callable[[BackendError | None], None] | None = None
        self._closing: Callable[[], None] | None = None
        self._unsettled_tags = AcknowledgementRanges()
        self._tag: str | None = None
        self._consumers = 0
        self._ending: dict[str, Callable[[], None]] = {}  # cancelled consumers, which may still get deliveries
        self._leaving: list[Callable[[], None]] = []  # to call when there is no consumer any more
        self._unsettled = 0  # messages of the present consumer that its window counts
        self._accepted = 0  # those of them that are accepted, but the acknowledgement is not written yet
        self._requeued: set[int] = set()  # not written yet; no multiple acknowledgement may include them
        self._is_scheduled = False  # whether acknowledgements will be written at the end of the batch
        self._getting: Callable[[bool], None] | None = None
        self._count = 0  # of arrivals
        self._fetched_settled = 0  # messages of basic.get that are settled since the queue's last answer
        self._has_transactions = False  # once begun, there is always one
        self.window = 0
        self.acks_may_be_unseen = False
        """Whether settlements may still be on their way to the queue, which will push messages because of them."""
        self.holds_acks = False
        """Keep acknowledgements during basic.get, because they would let the queue push."""

    # -- states

    @property
    def is_open(self) -> bool:
        """Whether the AMQP channel is open."""
        return self._channel is not None and self._channel.is_open

    @property
    def is_consuming(self) -> bool:
        """Whether there is a consumer."""
        return self._tag is not None

    @property
    def is_busy(self) -> bool:
        """Whether a basic.get, or a cancel of a consumer, is in progress."""
        return self._getting is not None or bool(self._ending)

    @property
    def is_getting(self) -> bool:
        """Whether a basic.get is in progress."""
        return self._getting is not None

    @property
    def is_full(self) -> bool:
        """Whether the window is full as the queue sees it, so that no delivery is on its way."""
        return self._unsettled >= self.window

    @property
    def will_be_full(self) -> bool:
        """Whether the window will still be full when the pending acknowledgements are written."""
        return self._unsettled - self._accepted >= self.window

    @property
    def unsettled(self) -> int:
        """The number of unsettled messages."""
        return len(self._unsettled_tags)

    @property
    def was_used(self) -> bool:
        """Whether a message has arrived."""
        return self._count > 0

    @property
    def is_settled(self) -> bool:
        """Whether all messages are settled."""
        return len(self._unsettled_tags) == 0

    def is_unsettled(self, tag: int) -> bool:
        """Whether a message can still be settled."""
        return self.is_open and self._unsettled_tags.is_open(tag)

    # -- the consumer

    def open(self, prefetch: int | None, done: Callable[[BackendError | None], None]) -> None:
        """Open the channel and, with a ``prefetch``, the consumer."""
        self._opening = done

        def opened(channel: Any) -> None:
            self._channel = channel
            channel.add_on_close_callback(self._on_closed)
            channel.add_on_cancel_callback(self._on_cancelled)
            self._pair.consuming.listen(channel, self._arrived, on_empty=self._on_empty)
            if prefetch is None:
                self._opened()
            else:
                self.consume(prefetch)

        if not self._pair.consuming.open_channel(opened):
            self._fail(out_of_channels(f"consuming {self._what}", self._life.broker))

    def _opened(self) -> None:
        done, self._opening = self._opening, None
        if done is not None:
            done(None)

    def consume(self, prefetch: int) -> None:
        """Start the consumer with this window."""
        prefetch = min(prefetch, MOST)
        self._channel.basic_qos(prefetch_count=prefetch)
        self.window, self._unsettled, self._accepted = prefetch, 0, 0
        thread, connection = self._life.thread, self._pair.consuming

        timer: Any = None

        def watch() -> None:
            nonlocal timer
            timer = thread.call_later(_DEADLINE, partial(late, connection.bytes_received))

        def late(received: int) -> None:
            if connection.bytes_received == received and self._opening is None:
                watch()  # perhaps the network stands still: if that lasts, the heart-beat ends the link
            else:
                self._late()

        watch()

        def started(_: Any) -> None:
            thread.cancel(timer)
            self._opened()

        # of what several consumers hold, a multiple nack requeues that of the alphabetically first one first
        self._consumers += 1
        self._tag = f"jmsbridge-{self._consumers:010}"
        self._pair.consuming.consume(self._channel, self._source.queue, self._source.exclusive, self._tag, started)

    def _late(self) -> None:
        """The deadline has passed: a quorum queue without a leader does not answer."""
        if not self.is_open or self._closing is not None:
            return
        where = f"consuming {self._what}: {self._life.broker} did not start within {_DEADLINE:g} s"
        self._fail(BackendError(f"{where}; is queue {self._source.queue!r} a quorum queue that has lost its leader?"))

    def cancel(self, done: Callable[[], None]) -> None:
        """Cancel the consumer; its messages can still be settled. ``done`` is called after its last delivery."""
        tag, self._tag = self._tag, None
        if tag is not None:
            self._ending[tag] = done
            self._pair.consuming.expect()
            # one callback for all: pika calls every waiting callback when any consumer has ended
            self._channel.basic_cancel(tag, callback=self._on_cancel_ok)

    def _on_cancel_ok(self, frame: Any) -> None:
        self._fetched_settled = 0
        done = self._ending.pop(frame.method.consumer_tag, None)
        if done is not None and self.is_open:
            done()
        if not self._ending:
            self._left()

    def leave(self, done: Callable[[], None]) -> None:
        """Cancel all consumers; ``done`` is called when the broker has done so, or when the channel is closed.

        Then the queue has the settlements that were written. For a quorum queue that needs an answer of the queue: the
        channel forgets what it has not passed on when it is closed, and each basic.get is a consumer of its own there.
        """
        self._leaving.append(done)
        if self.is_open:
            self.cancel(ignored)
            self.write_acks()
            if self._fetched_settled > _AHEAD and not self.is_busy and self._source.kind != "classic":
                self.get(lambda _: self._left())
                return
        if not self._ending or not self.is_open:
            self._left()

    def _left(self) -> None:
        leaving, self._leaving = self._leaving, []
        for done in leaving:
            done()

    def renew(self, prefetch: int) -> None:
        """Replace the consumer by a new one, whose window does not count the deliveries of the old one."""
        self.cancel(ignored)
        self.consume(prefetch)

    # -- messages

    def _arrived(self, content: Content) -> None:
        if self._closing is not None:
            return  # requeued by the broker when the channel is closed
        self._unsettled_tags.arrived(content.delivery_tag)
        self._count += 1
        if not content.consumer_tag:
            self._fetched(content)
        elif content.consumer_tag == self._tag:
            self._unsettled += 1
            self._on_message(content)
        elif content.consumer_tag in self._ending:
            self._on_message(content)  # earlier than all deliveries of the next consumer
        else:
            self.requeue((content,))

    def wait_quiescent(self, done: Callable[[], None], idle: int = 0) -> None:
        """Wait until all messages that the queue has pushed have arrived.

        It pushes 200, then more when the channel has written those; the answer of a quorum queue may overtake some.
        What it has and does not push may be for another consumer, so after ``_PATIENCE`` round trips without a message
        this ends nevertheless.
        """
        before = self._count
        least = 0 if self._source.kind == "classic" else _OVERTAKING

        def answered(waiting: int) -> None:
            has_come = self._count != before
            if self.is_full or not (has_come or idle < (_PATIENCE if waiting else least)):
                done()
            else:
                self.wait_quiescent(done, idle if has_come else idle + 1)

        self._declare(answered)

    def round_trip(self, done: Callable[[], None]) -> None:
        """Do a round trip; the queue's earlier deliveries arrive before its answer."""
        self._declare(lambda _: done())

    def _declare(self, answered: Callable[[int], None]) -> None:
        """Ask how many messages the queue has not pushed; an answer after the channel was closed is ignored."""
        self._pair.consuming.expect()
        self._channel.queue_declare(
            self._source.queue,
            passive=True,
            callback=lambda frame: answered(frame.method.message_count) if self.is_open else None,
        )

    def get(self, done: Callable[[bool], None]) -> None:
        """Fetch one message with basic.get; then ``done`` is told whether there was one."""
        self._getting = done
        self._pair.consuming.expect()
        self._pair.consuming.get(self._channel, self._source.queue)

    def _on_empty(self, _: Any) -> None:
        if not self.is_open:
            return  # it is being closed
        # the answer may overtake messages that the queue has pushed meanwhile
        self.acks_may_be_unseen, self._fetched_settled = False, 0
        if self._tag is None:
            self._got(False)
        else:
            self.round_trip(lambda: self._got(False))

    def _fetched(self, content: Content) -> None:
        """The message of a basic.get; earlier messages may still be on their way if the window has room."""
        self.acks_may_be_unseen, self._fetched_settled = False, 0

        def take() -> None:
            self._on_message(content)
            self._got(True)

        if self._tag is None or self.is_full:
            take()
        else:
            self.wait_quiescent(take)

    def _got(self, found: bool) -> None:
        done, self._getting = self._getting, None
        if done is not None and self.is_open:
            done(found)

    # -- settling

    def accept(self, content: Content) -> None:
        """Acknowledge it, at the end of the batch."""
        if content.delivery_tag not in self._requeued and self._unsettled_tags.accept(content.delivery_tag):
            self._accepted += content.consumer_tag == self._tag
            self._fetched_settled += not content.consumer_tag
            if not self._is_scheduled:
                self._is_scheduled = True
                self._pair.consuming.at_flush(self.write_acks)

    def requeue(self, contents: Iterable[Content]) -> None:
        """Requeue these (basic.nack), with as few frames as possible.

        A classic queue takes milliseconds for each frame, and puts messages back in their places. A quorum queue
        redelivers in the order of the requeues, so those are collected for a moment.
        """
        if not self.is_open:
            return
        is_first = not self._requeued
        for content in contents:
            tag = content.delivery_tag
            if tag not in self._requeued and self._unsettled_tags.is_open(tag):
                self._unsettled -= content.consumer_tag == self._tag
                self._requeued.add(tag)
        if self._source.kind == "classic":
            self._write_requeues()
        elif is_first and self._requeued:
            self._life.thread.call_later(_REQUEUE_DELAY, self._write_requeues)

    def _write_requeues(self) -> None:
        requeued, self._requeued = self._requeued, set()
        if self.is_open and self._closing is None:
            self._write(self._pair.consuming.requeue, self._unsettled_tags.requeue(requeued))

    def write_acks(self) -> None:
        """Write the pending acknowledgements, joined into as few as possible."""
        self._is_scheduled = False
        if self.holds_acks or not self.is_open:
            return
        self._unsettled -= self._accepted
        self._accepted = 0
        self._write(self._pair.consuming.ack, self._unsettled_tags.take())

    def _write(self, write: Callable[[Any, int, bool], None], settlements: list[tuple[int, bool]]) -> None:
        """Write these; many to a classic queue in a transaction, because it searches what is unsettled each time."""
        if not settlements:
            return
        self.acks_may_be_unseen = True
        if len(settlements) >= _MANY and self._source.kind == "classic" and not self._has_transactions:
            self._has_transactions = True
            self._pair.consuming.begin_transactions(self._channel)
        for tag, multiple in settlements:
            write(self._channel, tag, multiple)
        if self._has_transactions:
            self._pair.consuming.commit(self._channel)

    # -- ends

    def close(self, done: Callable[[], None]) -> None:
        """Close the channel, which requeues unsettled messages; before, ``leave`` a quorum queue.

        It redelivers in the order of the requeues, and to a consumer that has not left at once.
        """
        if not self.is_open:
            done()
            return
        self.holds_acks = False
        self.write_acks()
        if self._source.kind != "classic" and not self.is_settled:
            self._pair.consuming.requeue(self._channel, 0, True)  # all
        self._closing = done
        self._pair.consuming.expect()
        self._channel.close()

    def end(self, lost: BackendError) -> None:
        """The link is lost."""
        self._channel = None
        opening, self._opening = self._opening, None
        if opening is not None:
            opening(lost)

    def _on_closed(self, channel: Any, reason: BaseException) -> None:
        self._channel = None
        self._left()
        if self._closing is not None:
            self._closing()
            return
        if self._life.is_over or not self._pair.consuming.is_open:
            return
        no = ChannelException(getattr(reason, "reply_code", 0), getattr(reason, "reply_text", str(reason)))
        error = refusal(no, f"consuming {self._what}", self._life.broker)
        if is_exclusive_use(no):
            error = SubscriptionRefused(
                f"{self._what}: queue {self._source.queue!r} has an exclusive consumer; close it first ({no})"
            )
            error.__cause__ = no
        self._fail(error)

    def _on_cancelled(self, frame: Any) -> None:
        if self._tag is None or frame.method.consumer_tag != self._tag:
            return
        self._tag = None
        queue = self._source.queue
        self._sources.forget(queue)
        ended = f"{self._what}: {self._life.broker} ended the consumer"
        self._fail(AddressRefused(f"{ended}: its queue {queue!r} was deleted, or its node stopped"))

    def _fail(self, error: BackendError) -> None:
        opening, self._opening = self._opening, None
        channel, self._channel = self._channel, None
        if channel is not None and channel.is_open:
            self._closing = ignored
            channel.close()  # requeues what it holds, and ends a consumer that starts late
        (opening or self._on_end)(error)

"""One AMQP channel that takes from one queue: a consumer with its window, single fetches, and acknowledgements.

A channel of its own for each subscription, because an acknowledgement up to a number settles everything before it on
its channel. Everything here belongs to the I/O thread.
"""

from collections.abc import Callable
from typing import Any

from jmsbridge.spi import AddressRefused, BackendError, SubscriptionRefused
from jmsbridge.transport.acknowledgement_ranges import AcknowledgementRanges
from jmsbridge_rabbitmq.connection.pair import ConnectionPair
from jmsbridge_rabbitmq.consuming.sources import Source, Sources
from jmsbridge_rabbitmq.protocol.errors import ChannelException, is_exclusive_use, out_of_channels, refusal
from jmsbridge_rabbitmq.protocol.frames import Content

__all__ = ["MOST", "ConsumerChannel"]

MOST = 65_535
"""What a window can be."""
_DEADLINE = 20.0  # seconds for a consumer to start
_TOGETHER = 0.02  # seconds within which what is given back is given back in order


class ConsumerChannel:
    """``what`` is the destination, for error messages.

    ``on_message`` gets what arrives, ``on_end`` the reason when the broker ends it; the end of the link is not told.
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
        self._ending: dict[str, Callable[[], None]] = {}  # consumers that are to end; what was on its way still comes
        self._leaving: list[Callable[[], None]] = []  # to be done when no consumer is left
        self._unsettled = 0  # messages of the present consumer, which its window counts
        self._freed = 0  # those of them whose acknowledgement is not written yet
        self._returning: set[int] = set()  # open until written: no acknowledgement may reach over them
        self._is_marked = False  # acknowledgements will be written at the end of the batch
        self._getting: Callable[[bool], None] | None = None
        self._count = 0  # of arrivals
        self.window = 0
        self.acks_may_be_unseen = False
        """Whether the queue may not have seen yet what was settled here, and may push because of it."""
        self.holds_acks = False
        """While messages are fetched an acknowledgement would let the queue push."""

    # -- states

    @property
    def is_open(self) -> bool:
        """Whether it can be used."""
        return self._channel is not None and self._channel.is_open

    @property
    def is_consuming(self) -> bool:
        """Whether there is a consumer, to which the queue may push."""
        return self._tag is not None

    @property
    def is_busy(self) -> bool:
        """Whether a fetch, or the end of a consumer, is under way."""
        return self._getting is not None or bool(self._ending)

    @property
    def is_getting(self) -> bool:
        """Whether a fetch is under way."""
        return self._getting is not None

    @property
    def is_full(self) -> bool:
        """Whether the queue knows the window to be full, so that nothing is on its way."""
        return self._unsettled >= self.window

    @property
    def will_be_full(self) -> bool:
        """The same, once what is accepted has been acknowledged."""
        return self._unsettled - self._freed >= self.window

    @property
    def unsettled(self) -> int:
        """How many messages have arrived and are not settled."""
        return len(self._unsettled_tags)

    @property
    def is_clear(self) -> bool:
        """Whether everything that arrived is settled."""
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
        self.window, self._unsettled, self._freed = prefetch, 0, 0
        thread = self._life.thread
        timer = thread.call_later(_DEADLINE, self._late)

        def started(_: Any) -> None:
            thread.cancel(timer)
            self._opened()

        self._tag = self._pair.consuming.consume(self._channel, self._source.queue, self._source.exclusive, started)

    def _late(self) -> None:
        """A quorum queue without a leader answers nothing at all."""
        if not self.is_open or self._closing is not None:
            return
        where = f"consuming {self._what}: {self._life.broker} did not start within {_DEADLINE:g} s"
        self._fail(BackendError(f"{where}; is queue {self._source.queue!r} a quorum queue that has lost its leader?"))

    def cancel(self, done: Callable[[], None]) -> None:
        """End the consumer; what it brought can still be settled. ``done`` follows the last of what was on its way."""
        tag, self._tag = self._tag, None
        if tag is not None:
            self._ending[tag] = done
            self._pair.consuming.expect()
            # one function for all: pika calls whatever waits for the end of a consumer when any of them has ended
            self._channel.basic_cancel(tag, callback=self._on_cancel_ok)

    def _on_cancel_ok(self, frame: Any) -> None:
        done = self._ending.pop(frame.method.consumer_tag, None)
        if done is not None and self.is_open:
            done()
        if not self._ending:
            self._left()

    def leave(self, done: Callable[[], None]) -> None:
        """End all consumers; ``done`` follows when the broker has, or when the channel is gone."""
        self._leaving.append(done)
        if self.is_open:
            self.cancel(_nothing)
        if not self._ending or not self.is_open:
            self._left()

    def _left(self) -> None:
        leaving, self._leaving = self._leaving, []
        for done in leaving:
            done()

    def renew(self, prefetch: int) -> None:
        """A new consumer, whose window does not count what the old one brought, nor what is on its way to that."""
        self.cancel(_nothing)
        self.consume(prefetch)

    # -- messages

    def _arrived(self, content: Content) -> None:
        if self._closing is not None:
            return  # what is still under way goes back with the channel
        self._unsettled_tags.arrived(content.delivery_tag)
        self._count += 1
        if not content.consumer_tag:
            self._fetched(content)
        elif content.consumer_tag == self._tag:
            self._unsettled += 1
            self._on_message(content)
        elif content.consumer_tag in self._ending:
            self._on_message(content)  # before anything that a next consumer gets
        else:
            self.give_back(content)

    def wait_quiescent(self, done: Callable[[], None]) -> None:
        """Wait until what the queue has pushed is here; it may do so in several steps."""
        before = self._count
        self.round_trip(lambda: done() if self._count == before or self.is_full else self.wait_quiescent(done))

    def round_trip(self, done: Callable[[], None]) -> None:
        """Ask something; the answer comes after what the queue had pushed before."""
        answered = self._if_open(done)
        self._pair.consuming.expect()
        self._channel.queue_declare(self._source.queue, passive=True, callback=answered)

    def _if_open(self, done: Callable[[], None]) -> Callable[[Any], None]:
        """Answers that come while the channel is being closed mean nothing any more."""
        return lambda _: done() if self.is_open else None

    def get(self, done: Callable[[bool], None]) -> None:
        """Fetch one message; ``done`` is told, after it came, whether there was one."""
        self._getting = done
        self._pair.consuming.expect()
        self._pair.consuming.get(self._channel, self._source.queue)

    def _on_empty(self, _: Any) -> None:
        # the channel answers before it writes what the queue had pushed to it meanwhile
        self.acks_may_be_unseen = False
        if self._tag is None:
            self._got(False)
        else:
            self.round_trip(lambda: self._got(False))

    def _fetched(self, content: Content) -> None:
        """A message of its own; the queue had more than it may push, so what is on its way stood before it."""
        self.acks_may_be_unseen = False

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
        """Acknowledge it, with the rest of the batch."""
        if content.delivery_tag not in self._returning and self._unsettled_tags.accept(content.delivery_tag):
            self._freed += content.consumer_tag == self._tag
            if not self._is_marked:
                self._is_marked = True
                self._pair.consuming.at_flush(self.write_acks)

    def give_back(self, content: Content) -> None:
        """Hand it back to the queue."""
        tag = content.delivery_tag
        if not self.is_open or tag in self._returning or not self._unsettled_tags.is_open(tag):
            return
        self._unsettled -= content.consumer_tag == self._tag
        self.acks_may_be_unseen = True
        if self._source.kind == "classic":  # which puts it back in its place
            self._unsettled_tags.drop(tag)
            self._pair.consuming.give_back(self._channel, tag)
            return
        if not self._returning:
            self._life.thread.call_later(_TOGETHER, self._write_returns)
        self._returning.add(tag)

    def _write_returns(self) -> None:
        """A quorum queue delivers again in the order of giving back; what belongs together comes in several steps."""
        returning, self._returning = self._returning, set()
        if self.is_open and self._closing is None:
            for tag in sorted(returning):
                self._unsettled_tags.drop(tag)
                self._pair.consuming.give_back(self._channel, tag)

    def write_acks(self) -> None:
        """Write the acknowledgements that are due, as few as they can be."""
        self._is_marked = False
        if self.holds_acks or not self.is_open:
            return
        self._unsettled -= self._freed
        self._freed = 0
        for tag, multiple in self._unsettled_tags.take():
            self.acks_may_be_unseen = True
            self._pair.consuming.ack(self._channel, tag, multiple)

    # -- ends

    def close(self, done: Callable[[], None]) -> None:
        """Close the channel: what is not settled goes back."""
        if not self.is_open:
            done()
            return
        self.holds_acks = False
        self.write_acks()
        self._closing = done
        self._pair.consuming.expect()
        self._channel.close()

    def end(self, lost: BackendError) -> None:
        """The link is gone."""
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
                f"{self._what}: {self._source.queue!r} has a consumer that excludes others ({no})"
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
            self._closing = _nothing
            channel.close()  # what it holds goes back, and a consumer that starts after all must not take more
        (opening or self._on_end)(error)


def _nothing() -> None:
    """For answers that change nothing."""

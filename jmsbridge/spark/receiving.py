"""Receivers: each takes messages from the broker into its lane of the log, ahead of Spark, and acknowledges them.

In this order, for each segment: received, written and on disk, acknowledged. Only the public API of jmsbridge is used.
"""

import gc
import logging
import threading
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from jmsbridge import Connection, Destination, JMSException, Message, MessageConsumer, Session, Topic
from jmsbridge.documents import size_of
from jmsbridge.spark.ids import Group
from jmsbridge.spark.log import Lane, Log
from jmsbridge.spark.options import ReadOptions, connect
from jmsbridge.spark.schema import DEDUP_ID, batch_of, id_of

__all__ = [
    "PATIENCE",
    "QUIET",
    "Confirmation",
    "Drain",
    "Receiver",
    "consumer_of",
    "depth_of",
    "open_connection",
    "report_of",
]

log = logging.getLogger("jmsbridge.spark")

_SEGMENT_BYTES = 16 * 1024 * 1024
_AHEAD = 4
"""How many triggers are received ahead of Spark."""
_COLLECTED_AFTER = 100_000
"""How many objects more than before start a search for cycles while receivers run. A segment's messages live until it
is acknowledged, and each search would look at them; they are in no cycles. More than a segment has."""
QUIET = 10.0
"""Seconds without a message after which AvailableNow ends, also if the broker counts some: others consume them."""
PATIENCE = 2.0
"""Seconds for which a first message is waited for where no depth says that there is none: brokers may be far away."""


class Confirmation(msgspec.Struct, frozen=True):
    """How a broker takes an acknowledgement: in a transaction, and whether it is final when the call returns."""

    transacted: bool
    confirmed: bool

    @classmethod
    def of(cls, connection: Connection) -> "Confirmation":
        """What the broker of this connection can do natively."""
        can = {name: feature.outcome == "native" for name, feature in connection.capabilities.items()}
        return cls(can["transactions"], can["transactions"] or can["settle_confirm"])

    def session(self, connection: Connection) -> Session:
        """A session whose messages are acknowledged together, by ``acknowledge``."""
        return connection.create_session(Session.SESSION_TRANSACTED if self.transacted else Session.CLIENT_ACKNOWLEDGE)

    def acknowledge(self, session: Session, last: Message) -> None:
        """Acknowledge what the session has received, up to ``last``; JMSException: all may come again."""
        if self.transacted:
            session.commit()
        else:
            last.acknowledge()


def open_connection(options: ReadOptions) -> tuple[Connection, Confirmation]:
    """A connection whose acknowledgements are waited for where the broker confirms them."""
    connection = connect(options)
    try:
        confirmation = Confirmation.of(connection)
    except BaseException:
        connection.close()
        raise
    if confirmation.confirmed and not confirmation.transacted:
        connection.close()
        connection = connect(options, block_on_acknowledge=True)
    return connection, confirmation


class _Told(msgspec.Struct):
    """The broker was told of these. Other receivers may still hold the same messages, from before a link was lost."""

    group: Group | None
    again: Sequence[str]
    holders: set[int] = set()
    """Lanes that have not ended the segment since: until then the ids are kept."""


class _Place(msgspec.Struct):
    """A queue or topic, of which all receivers together have so many rows."""

    where: Destination
    goal: int | None = None
    """With AvailableNow: how many messages are received at most; None: without end."""
    rows: int = 0
    """One that came again counts once."""

    @property
    def left(self) -> int | None:
        """How many messages are missing; None: there is no end."""
        return None if self.goal is None else max(self.goal - self.rows, 0)


class Drain:
    """All receivers of a stream, and what the main thread asks of them. ``changed`` guards every field."""

    def __init__(self, options: ReadOptions, journal: Log) -> None:
        self.options = options
        self.log = journal
        self.changed = threading.Condition()
        self.read = {lane.number: lane.low for lane in journal.lanes}
        """How far Spark has planned each lane."""
        self.places = [_Place(where) for where in options.destinations]
        self.received = 0
        self.without_id = 0
        self.again = 0
        self.stopping = False
        self.error: BaseException | None = None
        self._connection: Connection | None = None
        self.confirmation = Confirmation(False, False)
        self.receivers: list[Receiver] = []
        self._collecting: set[int] = set()
        """Lanes whose receivers may hold messages that are not in the log yet."""
        self._told: list[_Told] = []
        self._collected_after = gc.get_threshold()

    def start(self, *, available_now: bool) -> None:
        """Connect and begin to receive; with ``available_now`` at most as many messages as there are now."""
        self._connection, self.confirmation = open_connection(self.options)
        if available_now:
            for place in self.places:
                place.goal = depth_of(self._connection, place.where)
        for lane in self.log.lanes[: self.options.lanes]:
            self.receivers.append(Receiver(self, lane, self.confirmation.session(self._connection)))
        gc.freeze()
        gc.set_threshold(_COLLECTED_AFTER)
        self._connection.start()
        for receiver in self.receivers:
            receiver.start()

    def depth(self) -> int | None:
        """How many messages the broker says the queues hold; None where it cannot say."""
        return None if self._connection is None else depth_of(self._connection, *self.options.destinations)

    def place_of(self, lane: Lane) -> _Place:
        """What the receiver of a lane reads."""
        return self.places[lane.number % len(self.places)]

    def wait_news(self, start: dict[int, int], deadline: float) -> bool:
        """Wait until a lane has rows beyond ``start``; raises what a receiver failed with."""
        with self.changed:
            while not self.has_news(start):
                if self.error is not None:
                    raise self.error
                left = deadline - time.monotonic()
                if left <= 0 or not self.changed.wait(left):
                    return self.has_news(start)
            return True

    def has_news(self, start: dict[int, int]) -> bool:
        """Whether a lane has rows beyond ``start``."""
        return any(lane.end > start.get(lane.number, 0) for lane in self.log.lanes)

    def is_finished(self) -> bool:
        """Whether AvailableNow has what there was in each place.

        That is as many messages as there were, or no more, which the broker's count confirms where it has one.
        """
        with self.changed:
            going = [each for each in self.places if each.left != 0]
            since = [[each.quiet_since for each in self.receivers if each.place is place] for place in going]
        return all(self._is_empty(place, each) for place, each in zip(going, since, strict=True))

    def _is_empty(self, place: _Place, since: Sequence[float | None]) -> bool:
        """Whether it has no more messages, of which its receivers have had none since these times."""
        quiet = [time.monotonic() - each for each in since if each is not None]
        if len(quiet) < len(since):
            return False
        depth = None if self._connection is None else depth_of(self._connection, place.where)
        if depth is None:
            return place.rows > 0 or min(quiet) >= PATIENCE
        return not depth or min(quiet) >= QUIET

    def report(self) -> dict[str, Any]:
        """The state for the progress of the query: what is claimed, and until when."""
        counts = {"received": self.received, "droppedDuplicates": self.again, "withoutId": self.without_id}
        return {"depth": self.depth()} | counts | report_of(self.log, self.options, self.confirmation, self.without_id)

    def has_room(self, lane: Lane) -> bool:
        """Whether a lane may receive: it is not too far ahead of Spark, nor at the goal. Called with the lock held."""
        if self.place_of(lane).left == 0:
            return False
        read = self.read.get(lane.number, 0)
        ahead = [segment for segment in lane.segments if segment.end > read]
        rows = sum(segment.end - max(segment.start, read) for segment in ahead)
        size = sum(segment.size for segment in ahead)
        return (
            rows < _AHEAD * self.options.max_messages_per_trigger and size < _AHEAD * self.options.max_bytes_per_trigger
        )

    def advance(self, read: dict[int, int]) -> None:
        """Spark has planned the lanes up to here: receivers may go on."""
        with self.changed:
            self.read.update(read)
            self.changed.notify_all()

    def begin(self, lane: Lane) -> None:
        """A receiver begins to take messages for a segment."""
        with self.changed:
            self._collecting.add(lane.number)

    def end(self, lane: Lane, told: _Told | None) -> None:
        """It has no message in hand any more; ids that were kept for its sake may go."""
        with self.changed:
            self._collecting.discard(lane.number)
            if told is not None:
                told.holders = set(self._collecting)
                self._told.append(told)
            for each in self._told:
                each.holders.discard(lane.number)
            done = [each for each in self._told if not each.holders]
            self._told = [each for each in self._told if each.holders]
        for each in done:
            self.log.ids.acknowledged(each.group, each.again, confirmed=self.confirmation.confirmed)

    def fail(self, error: BaseException) -> None:
        """A receiver ended with an error, which the next call of Spark raises."""
        with self.changed:
            self.error = self.error or error
            self.changed.notify_all()

    def stop(self) -> None:
        """End all receivers; what is not in the log goes back to the broker."""
        with self.changed:
            self.stopping = True
            self.changed.notify_all()
        for receiver in self.receivers:
            receiver.join(timeout=30.0)
        if self._connection is not None:
            self._connection.close()
        gc.set_threshold(*self._collected_after)
        gc.unfreeze()


class Receiver(threading.Thread):
    """One session, used by this thread alone, and one lane."""

    def __init__(self, drain: Drain, lane: Lane, session: Session) -> None:
        super().__init__(name=f"jmsbridge-spark-{lane.number}", daemon=True)
        self._drain = drain
        self._options = drain.options
        self._lane = lane
        self.place = drain.place_of(lane)
        self._session = session
        self._consumer = consumer_of(session, drain.options, lane.number, drain.options.segment_rows)
        self.quiet_since: float | None = None
        """Since when the queue has had no more messages; None while it has some. Guarded by the drain's lock."""

    def run(self) -> None:
        """Receive, write, acknowledge, until the drain stops."""
        try:
            while self._wait_room():
                self._segment()
        except BaseException as error:
            log.warning("receiving from %s ended: %s", self._options.destination_of(self._lane.number), error)
            self._drain.fail(error)

    def _wait_room(self) -> bool:
        drain = self._drain
        with drain.changed:
            while not drain.stopping and not drain.has_room(self._lane):
                drain.changed.wait(1.0)
            return not drain.stopping

    def _segment(self) -> None:
        drain = self._drain
        told: _Told | None = None
        drain.begin(self._lane)
        try:
            messages = self._messages()
            if messages:
                told = self._keep(messages)
            else:
                self._report(0, 0, 0, quiet=True)
        finally:
            drain.end(self._lane, told)

    def _messages(self) -> list[Message]:
        """What is there, up to the size of a segment; ends when nothing comes for the time of ``receiveTimeout``."""
        receive, timeout, drain = self._consumer.receive, self._options.receive_timeout, self._drain
        messages: list[Message] = []
        size = 0
        for _ in range(self._left()):
            message = receive(timeout=timeout)
            if message is None:
                break
            messages.append(message)
            size += size_of(message)
            if size >= _SEGMENT_BYTES or drain.stopping:
                break
        return messages

    def _left(self) -> int:
        with self._drain.changed:
            most, left = self._options.segment_rows, self.place.left
            return most if left is None else min(most, max(left, 1))

    def _keep(self, messages: Sequence[Message]) -> _Told | None:
        """Write what the log does not have, then acknowledge all; None if the broker may not know."""
        batch = batch_of(messages, [id_of(each, self._options.id_property) for each in messages])
        written = self._drain.log.append(self._lane, batch)
        if written.rows:
            self._drain.advance({})
        told: _Told | None = None
        try:
            self._drain.confirmation.acknowledge(self._session, messages[-1])
        except JMSException as error:
            # They are in the log, and come again: their ids are kept until they do.
            log.info("the acknowledgement of %s messages failed: %s", len(messages), error)
        else:
            told = _Told(written.group, written.again)
        self._report(written.rows, len(written.again), batch.column(DEDUP_ID).null_count, quiet=False)
        return told

    def _report(self, new: int, again: int, anonymous: int, *, quiet: bool) -> None:
        drain = self._drain
        with drain.changed:
            self.place.rows += new
            drain.received += new + again
            drain.again += again
            drain.without_id += anonymous
            self.quiet_since = (self.quiet_since or time.monotonic()) if quiet else None
            drain.changed.notify_all()


def depth_of(connection: Connection, *places: Destination) -> int | None:
    """How many messages the broker says the queues hold; None where it cannot say."""
    if any(isinstance(where, Topic) for where in places):
        return None
    try:
        return sum(connection.admin.depth(where) for where in places)
    except JMSException:
        return None


def report_of(journal: Log, options: ReadOptions, confirmation: Confirmation, without_id: int) -> dict[str, Any]:
    """What the progress says of the log, and what is claimed, until when."""
    since = journal.ids.since
    return {
        "logBytes": journal.size,
        "keptIds": len(journal.ids),
        "idsKeptSince": None if since is None else datetime.fromtimestamp(since, UTC).isoformat(),
        "guarantee": _guarantee(options, confirmation, without_id, journal.ids.reach),
        "losses": journal.losses,
    }


def _guarantee(options: ReadOptions, confirmation: Confirmation, without_id: int, reach: float) -> str:
    if without_id:
        return "at-least-once: some messages have no id"
    why = "it does not confirm acknowledgements"
    if reach < options.dedup_retention:
        why = "there were more ids than can be kept for dedupRetention"
    elif confirmation.confirmed:
        return "exactly-once"
    if not options.dedup_retention:
        return "at-least-once: the broker does not confirm acknowledgements, and dedupRetention is 0"
    return f"exactly-once for messages that the broker delivers again within {round(reach, 1):g} s: {why}"


def consumer_of(session: Session, options: ReadOptions, lane: int, rows: int) -> MessageConsumer:
    """The consumer of a lane; it prefetches at least ``rows``, since so many are held unacknowledged."""
    prefetch = max(rows, options.prefetch or 0)
    where, selector = options.destination_of(lane), options.selector
    if not isinstance(where, Topic):
        return session.create_consumer(where, selector, prefetch=prefetch)
    name = str(options.subscription_name)
    if options.shared_subscription:
        return session.create_shared_durable_consumer(where, name, selector, prefetch=prefetch)
    return session.create_durable_consumer(where, name, selector, prefetch=prefetch)

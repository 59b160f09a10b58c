"""Receivers: each takes messages from the broker into its lane of the log, ahead of Spark, and acknowledges them.

In this order, for each segment: received, written and on disk, acknowledged. Only the public API of jmsbridge is used.
"""

import gc
import logging
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec

from jmsbridge import Connection, JMSException, Message, MessageConsumer, Session, Topic
from jmsbridge.spark.log import Lane, Log
from jmsbridge.spark.options import ReadOptions, connect
from jmsbridge.spark.schema import batch_of, id_of, size_of

__all__ = [
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


class Drain:
    """All receivers of a stream, and what the main thread asks of them. ``changed`` guards every field."""

    def __init__(self, options: ReadOptions, journal: Log) -> None:
        self.options = options
        self.log = journal
        self.changed = threading.Condition()
        self.read = {lane.number: lane.low for lane in journal.lanes}
        """How far Spark has planned each lane."""
        self.goal: int | None = None
        """With AvailableNow: how many messages are received at most; None: without end."""
        self.received = 0
        self.without_id = 0
        self.again = 0
        self.stopping = False
        self.error: BaseException | None = None
        self._connection: Connection | None = None
        self.confirmation = Confirmation(False, False)
        self.receivers: list[Receiver] = []
        self._collected_after = gc.get_threshold()

    def start(self, *, available_now: bool) -> None:
        """Connect and begin to receive; with ``available_now`` at most as many messages as there are now."""
        self._connection, self.confirmation = open_connection(self.options)
        if available_now:
            self.goal = self.depth()
        for lane in self.log.lanes[: self.options.lanes]:
            self.receivers.append(Receiver(self, lane, self.confirmation.session(self._connection)))
        gc.freeze()
        gc.set_threshold(_COLLECTED_AFTER)
        self._connection.start()
        for receiver in self.receivers:
            receiver.start()

    def depth(self) -> int | None:
        """How many messages the broker says the queue holds; None where it cannot say."""
        return None if self._connection is None else depth_of(self._connection, self.options)

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
        """Whether AvailableNow has what there was.

        That is as many messages as there were, or no more, which the broker's count confirms where it has one.
        """
        with self.changed:
            if self._is_at_goal():
                return True
            since = [receiver.quiet_since for receiver in self.receivers if receiver.quiet_since is not None]
            if len(since) < len(self.receivers):
                return False
        return not self.depth() or all(time.monotonic() - each >= QUIET for each in since)

    def _is_at_goal(self) -> bool:
        """Whether there are as many rows as there were messages: one that came again counts once. Lock held."""
        return self.goal is not None and self.received - self.again >= self.goal

    def report(self) -> dict[str, Any]:
        """The state for the progress of the query: what is claimed, and until when."""
        counts = {"received": self.received, "droppedDuplicates": self.again, "withoutId": self.without_id}
        return {"depth": self.depth()} | counts | report_of(self.log, self.options, self.confirmation, self.without_id)

    def has_room(self, lane: Lane) -> bool:
        """Whether a lane may receive: it is not too far ahead of Spark, nor at the goal. Called with the lock held."""
        if self._is_at_goal():
            return False
        read = self.read.get(lane.number, 0)
        ahead = [segment for segment in list(lane.segments) if segment.end > read]
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
        new: list[Message] = []
        ids: list[str | None] = []
        again: list[str] = []
        anonymous = 0
        own: set[str] = set()
        last: Message | None = None
        for message in self._messages():
            last = message
            identity = id_of(message, self._options.id_property)
            if identity is not None and (identity in own or identity in self._drain.log.ids):
                again.append(identity)
                continue
            anonymous += identity is None
            own.add(identity or "")
            new.append(message)
            ids.append(identity)
        if last is not None:
            self._keep(new, ids, again, last)
        self._report(len(new), len(again), anonymous, quiet=last is None)

    def _messages(self) -> Iterator[Message]:
        """What is there, up to the size of a segment; ends when nothing comes for the time of ``receiveTimeout``."""
        size = 0
        for _ in range(self._left()):
            message = self._consumer.receive(timeout=self._options.receive_timeout)
            if message is None:
                return
            yield message
            size += size_of(message)
            if size >= _SEGMENT_BYTES or self._drain.stopping:
                return

    def _left(self) -> int:
        with self._drain.changed:
            drain, most = self._drain, self._options.segment_rows
            return most if drain.goal is None else min(most, max(drain.goal - drain.received + drain.again, 1))

    def _keep(self, new: list[Message], ids: list[str | None], again: list[str], last: Message) -> None:
        """Write the segment, then acknowledge its messages and those that came again."""
        journal = self._drain.log
        group = journal.append(self._lane, batch_of(new, ids)) if new else None
        if group is not None:
            self._drain.advance({})
        try:
            self._drain.confirmation.acknowledge(self._session, last)
        except JMSException as error:
            # They are in the log, and come again: their ids are kept until they do.
            log.info("the acknowledgement of %s messages failed: %s", len(new), error)
            return
        journal.ids.acknowledged(group, again, confirmed=self._drain.confirmation.confirmed)

    def _report(self, new: int, again: int, anonymous: int, *, quiet: bool) -> None:
        drain = self._drain
        with drain.changed:
            drain.received += new + again
            drain.again += again
            drain.without_id += anonymous
            self.quiet_since = (self.quiet_since or time.monotonic()) if quiet else None
            drain.changed.notify_all()


def depth_of(connection: Connection, options: ReadOptions) -> int | None:
    """How many messages the broker says the queues hold; None where it cannot say."""
    if options.topic is not None:
        return None
    try:
        return sum(connection.admin.depth(where) for where in options.destinations)
    except JMSException:
        return None


def report_of(journal: Log, options: ReadOptions, confirmation: Confirmation, without_id: int) -> dict[str, Any]:
    """What the progress says of the log, and what is claimed, until when."""
    since = journal.ids.since
    return {
        "logBytes": journal.size,
        "keptIds": len(journal.ids),
        "idsKeptSince": None if since is None else datetime.fromtimestamp(since, UTC).isoformat(),
        "guarantee": _guarantee(options, confirmation, without_id),
        "losses": journal.losses,
    }


def _guarantee(options: ReadOptions, confirmation: Confirmation, without_id: int) -> str:
    if without_id:
        return "at-least-once: some messages have no id"
    if confirmation.confirmed:
        return "exactly-once"
    return (
        f"exactly-once for messages that the broker delivers again within {options.dedup_retention:g} s: "
        "it does not confirm acknowledgements"
    )


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

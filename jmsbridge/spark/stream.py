"""The streaming reader: Spark's offsets over the log.

Spark runs it in a process of its own, one call at a time, and a second copy of it in tasks, which only reads. So the
constructor does nothing, and each method opens what it needs.
"""

import atexit
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from jmsbridge.spark.log import Lane, Log
from jmsbridge.spark.options import ReadOptions
from jmsbridge.spark.origin import note_brokers
from jmsbridge.spark.receiving import Drain
from jmsbridge.spark.schema import load_arrow
from jmsbridge.spark.slices import Slice, rows_of, slices

__all__ = ["JmsStreamReader", "Rows"]

_VERSION = 1
_WHOLE = 2.0
"""Seconds for which AvailableNow waits for a larger batch once it has some messages."""


class Rows(InputPartition):
    """A task's rows: slices of segments, by path or with their bytes."""

    def __init__(self, parts: Sequence[Slice]) -> None:
        self.parts = tuple(parts)


class JmsStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads a queue or a durable subscription through the log at ``walPath``."""

    def __init__(self, options: ReadOptions, columns: Sequence[str]) -> None:
        self._options = options
        self._columns = tuple(columns)
        self._log: Log | None = None
        self._drain: Drain | None = None
        self._available_now = False
        self._batched: float | None = None
        """When the last batch was given; None until a first one may be."""
        self._batches = 0
        """How many were given, of which each begins with another lane."""

    # ---- in the source's process

    def prepareForTriggerAvailableNow(self) -> None:
        """The run ends with what is in the queue now."""
        self._available_now = True

    def getDefaultReadLimit(self) -> ReadLimit:
        """At most this many messages in a batch."""
        return ReadMaxRows(self._options.max_messages_per_trigger)

    def initialOffset(self) -> dict[str, Any]:
        """The first row that the log still has."""
        return self._offset({lane.number: lane.low for lane in self._journal().lanes})

    def latestOffset(self, start: dict[str, Any] | None = None, limit: ReadLimit | None = None) -> dict[str, Any]:
        """The end of the next batch; ``start`` itself if there is nothing new."""
        journal = self._journal()
        begin = self.initialOffset() if start is None else start
        lanes = self._lanes(begin)
        for lane in journal.lanes:
            lane.check(lanes[lane.number], lanes[lane.number])  # before more is received
        drain = self._receiving()
        drain.advance(lanes)
        if self._available_now:
            self._wait_available(drain, lanes, limit)
        else:
            drain.wait_news(lanes, time.monotonic() + self._options.receive_timeout)
        written = {lane.number: lane.end for lane in journal.lanes}
        end = self._admitted(journal, lanes, limit)
        if end == lanes or self._waits_for_more(lanes, end, written):
            return begin
        self._batched = time.monotonic()
        self._batches += 1
        drain.advance(end)
        return self._offset(end)

    def _waits_for_more(self, start: dict[int, int], end: dict[int, int], written: dict[int, int]) -> bool:
        """Whether a batch is smaller than ``minMessagesPerTrigger``, but neither cut by a limit nor late."""
        if self._batched is None:
            self._batched = time.monotonic()
        options = self._options
        if self._available_now or sum(end.values()) - sum(start.values()) >= options.min_messages_per_trigger:
            return False
        is_cut = any(last > end[number] for number, last in written.items())
        return not is_cut and time.monotonic() - self._batched < options.max_trigger_delay

    def _wait_available(self, drain: Drain, start: dict[int, int], limit: ReadLimit | None) -> None:
        """Wait for a whole batch, or for the end of what there was, which the broker's count confirms if it has one.

        A batch costs Spark as much as thousands of rows do: smaller ones would slow a long queue down.
        """
        patience = self._options.receive_timeout
        while not drain.wait_news(start, time.monotonic() + patience):
            if drain.is_finished():
                return
        until = time.monotonic() + _WHOLE
        while (now := time.monotonic()) < until and not drain.is_finished():
            ends = {lane.number: lane.end for lane in drain.log.lanes}
            if sum(ends.values()) - sum(start.values()) >= _rows_of(limit):
                return
            if self._admitted(drain.log, start, limit) != ends:  # a limit of bytes cuts it
                return
            drain.wait_news(ends, min(until, now + patience))

    def _admitted(self, journal: Log, start: dict[int, int], limit: ReadLimit | None) -> dict[int, int]:
        """As much as the limits allow, an equal share of each lane, and at least one row altogether.

        Of a share below one row there is nothing in the batch, unless its lane is the first: each is in its turn.
        """
        rows = _rows_of(limit)
        size = self._options.max_bytes_per_trigger
        end = dict(start)
        turn, count = self._batches, len(journal.lanes)
        in_turn = sorted(journal.lanes, key=lambda lane: (lane.number - turn) % count)
        waiting = [lane for lane in in_turn if lane.end > start.get(lane.number, 0)]
        for left, lane in zip(range(len(waiting), 0, -1), waiting, strict=True):
            begin = start.get(lane.number, 0)
            at, used = _within(lane, begin, -(-rows // left), size // left, least=1 if end == start else 0)
            rows -= at - begin
            size -= used
            end[lane.number] = at
        return end

    def reportLatestOffset(self) -> dict[str, Any] | None:
        """What the progress of the query shows."""
        return None if self._drain is None else self._drain.report()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """The tasks of a batch; LogError unless the log has exactly its rows."""
        journal = self._journal()
        begin, until = self._lanes(start), self._lanes(end)
        inline = self._options.wal_transport == "inline"
        parts = slices(journal, begin, until, self._options.min_partitions, inline=inline)
        return [Rows(part) for part in parts]

    def commit(self, end: dict[str, Any]) -> None:
        """Spark has everything up to ``end``; it says so after a restart again."""
        self._journal().release(self._lanes(end))

    def stop(self) -> None:
        """Requeue what is not in the log, and let another process write it."""
        drain, self._drain = self._drain, None
        journal, self._log = self._log, None
        if drain is not None:
            drain.stop()
        if journal is not None:
            journal.close()

    def _journal(self) -> Log:
        if self._log is None:
            options = self._options
            if not options.distributed:
                load_arrow()
            source: dict[str, Any] = {"destination": ",".join(str(where.address) for where in options.destinations)}
            source |= {"subscription": options.subscription_name, "selector": options.selector}
            if options.distributed:  # whose numbers are not all rows
                source["distributed"] = True
            if options.id_property is not None:  # ids of another kind would not be known again
                source["idProperty"] = options.id_property
            self._log = Log(
                Path(str(options.wal_path)),
                source,
                options.lanes,
                options.dedup_retention,
                fail_on_loss=options.fail_on_data_loss,
            )
            self._stop_at_exit()
            note_brokers(self._log.folder, options.url)
        return self._log

    def _stop_at_exit(self) -> None:
        # Spark ends the process with SIGTERM, which would skip everything else.
        atexit.register(self.stop)
        if threading.current_thread() is threading.main_thread():
            with suppress(ValueError):
                signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))

    def _receiving(self) -> Drain:
        if self._drain is None:
            self._drain = Drain(self._options, self._journal())
            self._drain.start(available_now=self._available_now)
        return self._drain

    def _offset(self, lanes: dict[int, int]) -> dict[str, Any]:
        ends = {str(number): lanes[number] for number in sorted(lanes)}
        return {"v": _VERSION, "log": self._journal().uuid, "lanes": ends}

    def _lanes(self, offset: dict[str, Any]) -> dict[int, int]:
        ends = self._ends(offset)
        return {lane.number: ends.get(lane.number, 0) for lane in self._journal().lanes}

    def _ends(self, offset: dict[str, Any]) -> dict[int, int]:
        """Where the lanes end; of another log's offset, where this one begins. LogError: the log lacks one of them."""
        journal = self._journal()
        if offset.get("v") == _VERSION and offset.get("log") == journal.uuid:
            ends = {int(number): int(end) for number, end in offset["lanes"].items()}
            for number in sorted(ends.keys() - {lane.number for lane in journal.lanes}):
                end = ends.pop(number)
                journal.lost(
                    f"lane {number} is missing in {journal.folder}, but the checkpoint has its rows until {end}"
                )
            return ends
        journal.lost(
            f"the checkpoint is of the log {offset.get('log')}, but walPath {str(journal.folder)!r} holds the log "
            f"{journal.uuid}: checkpoint and walPath belong together"
        )
        return {lane.number: lane.low for lane in journal.lanes}

    # ---- in the tasks

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a task; may be read any number of times."""
        assert isinstance(partition, Rows)
        options = self._options
        for part in partition.parts:
            yield rows_of(part, self._columns, options.body_format, options.decode_errors)


def _rows_of(limit: ReadLimit | None) -> int:
    return limit.max_rows if isinstance(limit, ReadMaxRows) else sys.maxsize


def _within(lane: Lane, start: int, rows: int, size: int, least: int) -> tuple[int, int]:
    """How far a lane can be read within these limits, at least so many rows, and the bytes of that."""
    at, used = start, 0
    for segment in lane.segments:
        if segment.end <= at:
            continue
        each = max(1, segment.size // (segment.end - segment.start))
        room = max(min(rows - (at - start), (size - used) // each), least - (at - start), 0)
        take = min(segment.end - at, room)
        at += take
        used += take * each
        if at < segment.end:
            break
    return at, used

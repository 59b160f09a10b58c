"""Readers by position: Spark's offsets are positions of the broker, and there is no log.

The driver only finds out where a batch ends; each task reads its part from the broker, any number of times.
"""

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from jmsbridge.errors import ConfigurationError
from jmsbridge.spark.position_options import PositionOptions
from jmsbridge.spark.ranges import Range, Ranges, rows_of_range

__all__ = ["PositionReader", "PositionStreamReader"]

_VERSION = 1


class _Part(InputPartition):
    """A task's range."""

    def __init__(self, part: Range) -> None:
        self.part = part


class PositionStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads a destination from position to position.

    Its first offset has no lanes, and its first batch no rows: that batch only notes where the query begins. Spark does
    not keep the first offset, and asks for it again when a query whose first batch is unfinished is restarted.
    """

    def __init__(self, options: PositionOptions, columns: Sequence[str]) -> None:
        self._options = options
        self._columns = tuple(columns)
        self._ranges = Ranges(options)
        self._ends: dict[str, str] | None = None
        """Where AvailableNow ends, by lane."""
        self._cuts: dict[tuple[str, str, str], list[str]] = {}
        """Positions that divide the range of a lane in the next batch among tasks."""

    # ---- in the source's process

    def prepareForTriggerAvailableNow(self) -> None:
        """The run ends with what is there now."""
        self._ends = {lane: self._ranges.last(lane) for lane in self._ranges.lanes()}

    def getDefaultReadLimit(self) -> ReadLimit:
        """At most this many messages in a batch."""
        return ReadMaxRows(self._options.max_messages_per_trigger)

    def initialOffset(self) -> dict[str, Any]:
        """Before the batch that notes where the query begins."""
        return self._offset({})

    def latestOffset(self, start: dict[str, Any] | None = None, limit: ReadLimit | None = None) -> dict[str, Any]:
        """The end of the next batch; ``start`` itself if there is nothing new."""
        begin = {} if start is None else self._lanes(start)
        if not begin:
            return self._offset(self._ranges.chosen("startingOffsets", self._options.starting_offsets))
        known = self._ranges.lanes() if self._ends is None else [lane for lane in begin if lane in self._ends]
        end = self._advanced(begin, known, limit.max_rows if isinstance(limit, ReadMaxRows) else sys.maxsize)
        # A lane that was added is read from its beginning; this batch notes where that is.
        end |= {lane: self._ranges.first(lane) for lane in known if lane not in begin}
        return start if start is not None and end == begin else self._offset(end)

    def _advanced(self, begin: dict[str, str], known: Sequence[str], rows: int) -> dict[str, str]:
        """As much of each lane as the limit allows, an equal share of each."""
        self._cuts = {}
        end = dict(begin)
        lanes = [lane for lane in known if lane in begin]
        pieces = max(1, -(-self._options.min_partitions // max(1, len(lanes))))
        for left, lane in zip(range(len(lanes), 0, -1), lanes, strict=True):
            most = None if self._ends is None else self._ends[lane]
            cuts, count = self._ranges.steps(lane, begin[lane], -(-rows // left), pieces, most)
            rows -= count
            if cuts:
                end[lane] = cuts[-1]
                self._cuts[lane, begin[lane], cuts[-1]] = cuts
        return end

    def reportLatestOffset(self) -> dict[str, Any] | None:
        """What the progress of the query shows."""
        return {"guarantee": "exactly-once"}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """The tasks of a batch; after a restart one for each lane."""
        begin, until = self._lanes(start), self._lanes(end)
        parts: list[InputPartition] = []
        for number, (lane, last) in enumerate(until.items()):
            at = begin.get(lane, last)
            if at == last:
                continue
            for cut in self._cuts.get((lane, at, last), [last]):
                parts.append(_Part(Range(lane, number, at, cut)))
                at = cut
        return parts

    def commit(self, end: dict[str, Any]) -> None:
        """Spark has everything up to ``end``; the broker need not know."""

    def stop(self) -> None:
        """Disconnect."""
        self._ranges.close()

    def _offset(self, lanes: dict[str, str]) -> dict[str, Any]:
        return {"v": _VERSION, "of": str(self._options.destination.address), "lanes": lanes}

    def _lanes(self, offset: dict[str, Any]) -> dict[str, str]:
        of = str(self._options.destination.address)
        if offset.get("v") != _VERSION or offset.get("of") != of:
            raise ConfigurationError(
                f"the checkpoint is of {offset.get('of', 'a query with a log (offsets=log)')}, and this query reads "
                f"{of} by position: give it a checkpoint of its own"
            )
        lanes: dict[str, str] = offset["lanes"]
        return lanes

    # ---- in the tasks

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a task; may be read any number of times."""
        assert isinstance(partition, _Part)
        return rows_of_range(self._options, self._columns, partition.part)


class PositionReader(DataSourceReader):
    """Reads a range of each lane, the same one for each action on a DataFrame."""

    def __init__(self, options: PositionOptions, columns: Sequence[str]) -> None:
        self._options = options
        self._columns = tuple(columns)

    def partitions(self) -> Sequence[InputPartition]:
        """One task for each lane that has messages."""
        ranges = Ranges(self._options)
        try:
            start = ranges.chosen("startingOffsets", self._options.starting_offsets)
            end = ranges.chosen("endingOffsets", self._options.ending_offsets)
            parts = [Range(lane, number, start[lane], end[lane]) for number, lane in enumerate(start)]
            return [_Part(part) for part in parts if ranges.is_before(part.lane, part.start, part.end)]
        finally:
            ranges.close()

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a task."""
        assert isinstance(partition, _Part)
        return rows_of_range(self._options, self._columns, partition.part)

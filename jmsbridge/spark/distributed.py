"""The streaming reader whose consumers are tasks: Spark's offsets over claims rather than rows."""

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows

from jmsbridge.spark.planning import Planner
from jmsbridge.spark.slices import rows_of
from jmsbridge.spark.staging import Claim, staged
from jmsbridge.spark.stream import JmsStreamReader

__all__ = ["Claimed", "DistributedReader"]


class Claimed(InputPartition):
    """A task's claim."""

    def __init__(self, claim: Claim) -> None:
        self.claim = claim


class DistributedReader(JmsStreamReader):
    """Reads a queue or a shared durable subscription by its tasks, ``receivers`` of them in each batch."""

    _planner: Planner | None = None

    # ---- in the source's process

    def latestOffset(self, start: dict[str, Any] | None = None, limit: ReadLimit | None = None) -> dict[str, Any]:
        """The end of the next batch, which its tasks receive; ``start`` itself if there is nothing."""
        begin = self.initialOffset() if start is None else start
        self._planning().refresh()
        lanes = self._lanes(begin)
        end = self._planning().next(lanes, limit.max_rows if isinstance(limit, ReadMaxRows) else sys.maxsize)
        return begin if end == lanes else self._offset(end)

    def reportLatestOffset(self) -> dict[str, Any] | None:
        """What the progress of the query shows."""
        return None if self._planner is None else self._planner.report()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """The tasks of a batch, each with a claim."""
        begin = self._lanes(start)
        until = begin | self._ends(end)  # beyond the log until it ran
        return [Claimed(claim) for claim in self._planning().claims(begin, until)]

    def commit(self, end: dict[str, Any]) -> None:
        """Spark has everything up to ``end``; it says so after a restart again."""
        self._planning().refresh()
        super().commit(end)

    def stop(self) -> None:
        """Let another process write the log."""
        planner, self._planner = self._planner, None
        if planner is not None:
            planner.stop()
        super().stop()

    def _planning(self) -> Planner:
        if self._planner is None:
            planner = Planner(self._options, self._journal())
            planner.start(available_now=self._available_now)
            self._planner = planner
        return self._planner

    # ---- in the tasks

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a task, received now if they were not before."""
        assert isinstance(partition, Claimed)
        options = self._options
        part = staged(partition.claim, options)
        if part.count:
            yield rows_of(part, self._columns, options.body_format, options.decode_errors)

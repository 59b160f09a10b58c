"""What the driver does where tasks are the consumers: it says which numbers they may use, and when there is nothing.

It receives no message itself. Spark's offsets hold the numbers, so they are fixed before a task runs.
"""

import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import msgspec

from jmsbridge import Connection
from jmsbridge.spark.files import write_whole
from jmsbridge.spark.log import Lane, Log, Segment, Tally, publish
from jmsbridge.spark.options import ReadOptions
from jmsbridge.spark.receiving import PATIENCE, QUIET, Confirmation, depth_of, open_connection, report_of
from jmsbridge.spark.schema import batch_of
from jmsbridge.spark.staging import Claim

__all__ = ["Planner"]

_CLAIMED = "claimed"


class _Claimed(msgspec.Struct):
    """The last batch whose numbers were given to tasks, in the file ``claimed`` of the log before Spark knows them."""

    start: dict[int, int]
    end: dict[int, int]


class Planner:
    """Claims for the tasks of each batch. Used by one thread."""

    def __init__(self, options: ReadOptions, journal: Log) -> None:
        self._options = options
        self._log = journal
        self._connection: Connection | None = None
        self._confirmation = Confirmation(False, False)
        self._available_now = False
        self._goal: int | None = None
        self._rows = self._again = self._without_id = 0
        self._quiet_since: float | None = None
        """Since when tasks have received nothing; None if the last ones have, or none ran yet."""
        self._has_asked = False
        """Whether tasks were to receive something in this run."""
        self._is_depth_unknown = False

    def start(self, *, available_now: bool) -> None:
        """Connect; with ``available_now`` the end is what is in the queue now."""
        self._connection, self._confirmation = open_connection(self._options)
        self._log.refresh()  # received before: it is not part of what there is now
        self._available_now = available_now
        self._goal = self._depth() if available_now else None

    def refresh(self) -> None:
        """Count what tasks have published since."""
        self._note(self._log.refresh())

    def next(self, start: dict[int, int], rows: int) -> dict[int, int]:
        """How far each lane goes in the next batch, of about as many rows; ``start`` if there is nothing to receive."""
        for lane in self._log.lanes:
            if lane.end < start[lane.number]:
                self._close(lane, start[lane.number])
            lane.check(start[lane.number], start[lane.number])  # before more is received
        published = {lane.number: lane.end for lane in self._log.lanes}
        if published != start:
            return published  # by tasks whose batch is not in the checkpoint
        waiting = self._waiting()
        self._is_depth_unknown = waiting is None
        if waiting == 0 or self._is_finished(waiting):
            return start
        self._has_asked = True
        end = start | self._shares(start, rows, waiting)
        write_whole(self._log.folder / _CLAIMED, msgspec.json.encode(_Claimed(start, end)))
        return end

    def _close(self, lane: Lane, end: int) -> None:
        """Answer with no rows what was claimed of a batch that is over: its query has read some of its tasks only.

        A task that is still at it finds its segment there. What was published and is gone is not answered.
        """
        path = lane.folder / f"{lane.end:020}.arrow"
        try:
            claimed = msgspec.json.decode((self._log.folder / _CLAIMED).read_bytes(), type=_Claimed)
        except (FileNotFoundError, msgspec.MsgspecError):
            return  # the lane is too short, and nothing explains it
        is_whole = claimed.start.get(lane.number, end) <= lane.end and claimed.end.get(lane.number) == end
        if is_whole and not path.with_suffix(".acked").exists():
            with suppress(FileExistsError):
                publish(path, Tally(end, 0, 0).on(batch_of([], [])), path.with_suffix(".new"))
            self.refresh()

    def _shares(self, start: dict[int, int], rows: int, waiting: int | None) -> dict[int, int]:
        """An equal share for each receiver, no more rows than the limit, and no more tasks than messages."""
        if self._goal is not None:
            rows = min(rows, self._goal - self._rows)
        rows = min(rows, self._options.max_messages_per_trigger, waiting or rows)
        count = min(self._options.receivers, rows)
        return {number: start[number] + rows // count + (number < rows % count) for number in range(count)}

    def claims(self, start: dict[int, int], end: dict[int, int]) -> Iterator[Claim]:
        """The claims of a batch: those of its segments that are published, and for the rest new ones."""
        for lane in self._log.lanes:
            begin, until = start[lane.number], end[lane.number]
            at = max(begin, lane.low)
            for segment in lane.covering(begin, max(begin, min(until, lane.end))):
                yield self._claim(lane, segment.start, segment.end)
                at = segment.end
            if at < until:
                yield self._claim(lane, at, until)

    def _claim(self, lane: Lane, start: int, end: int) -> Claim:
        patience = self._options.receive_timeout
        is_first = not self._rows + self._again
        if self._quiet_since is not None or (self._is_depth_unknown and (self._available_now or is_first)):
            patience = max(patience, PATIENCE)
        return Claim(str(self._log.folder), self._log.uuid, lane.number, start, end, patience)

    def _note(self, new: list[Segment]) -> None:
        if not new:
            return
        tallies = [segment.tally for segment in new if segment.tally is not None]
        rows, again = sum(segment.rows for segment in new), sum(tally.again for tally in tallies)
        self._rows += rows
        self._again += again
        self._without_id += sum(tally.without_id for tally in tallies)
        if rows + again:
            self._quiet_since = None
        elif self._has_asked:
            self._quiet_since = self._quiet_since or time.monotonic()

    def _is_finished(self, waiting: int | None) -> bool:
        """Whether AvailableNow has what there was."""
        if not self._available_now:
            return False
        if self._goal is not None and self._rows >= self._goal:  # one that came again in this run is counted once
            return True
        quiet = self._quiet_since
        return quiet is not None and (not waiting or time.monotonic() - quiet >= QUIET)

    def _waiting(self) -> int | None:
        """How many messages there are; None where the broker cannot say, or counts those that are not selected."""
        waiting = self._depth()
        if waiting == 0 and not self._available_now:
            time.sleep(self._options.receive_timeout)  # sleep: a queue without a consumer wakes nobody
            waiting = self._depth()
        return waiting

    def _depth(self) -> int | None:
        if self._connection is None or self._options.selector is not None:
            return None
        return depth_of(self._connection, *self._options.destinations)

    def report(self) -> dict[str, Any]:
        """The state for the progress of the query: what is claimed, and until when."""
        counts = {"received": self._rows + self._again, "droppedDuplicates": self._again}
        state = report_of(self._log, self._options, self._confirmation, self._without_id)
        return {"depth": self._depth()} | counts | {"withoutId": self._without_id} | state

    def stop(self) -> None:
        """Close the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

"""The data source ``observed``: that of ``jms``, which notes Spark's calls, and ends or stands still at a named point.

Its options besides those of ``jms``: ``observedFolder``, where it notes; ``observedPoint``, one of POINTS;
``observedBefore``, how often the point is passed first; and ``observedFate``, what happens then: the process that comes
to the point ``dies`` by SIGKILL, ``stands`` still until it is killed, or ``waits`` until the test has made the file
``go``. The file ``reached`` appears first.
"""

import os
import signal
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql.datasource import DataSourceStreamReader
from pyspark.sql.types import StructType

from jmsbridge import Message, Session
from jmsbridge.spark import distributed, ids, log, staging
from jmsbridge.spark.distributed import DistributedReader
from jmsbridge.spark.position_options import PositionOptions
from jmsbridge.spark.positions import PositionStreamReader
from jmsbridge.spark.source import JmsDataSource
from jmsbridge.spark.stream import JmsStreamReader

__all__ = ["BY_POSITION", "CALLS", "IN_TASKS", "POINTS", "Observed"]

_OWN = ("observedfolder", "observedpoint", "observedbefore", "observedfate")
_PATIENCE = 60.0


class _Point(NamedTuple):
    """What is called just after the point, and for which argument."""

    calls: Sequence[tuple[Any, str]]
    suffix: str | None = None
    before: int = 1
    """How often it is passed first, so that a batch has ended: 0 where the first time comes after that."""
    settled: bool = False
    """Whether the receiver is to be waited for, which works ahead of Spark."""


POINTS: dict[str, _Point] = {
    "received, not in the log": _Point([(log.Log, "append")]),
    "written, not named": _Point([(os, "link")]),
    "on disk, not acknowledged": _Point([(Session, "commit"), (Message, "acknowledge")]),
    "acknowledged, not marked": _Point([(ids.KeptIds, "acknowledged")]),
    "marked, offset not logged": _Point([(JmsStreamReader, "reportLatestOffset")], settled=True),
    "offset logged, not planned": _Point([(JmsStreamReader, "partitions")]),
    "in a task's read": _Point([(JmsStreamReader, "read")], before=0),
    "batch finished, not yet told": _Point([(JmsStreamReader, "commit")], before=0),
    "low is written, segment not deleted": _Point([(log.Log, "_delete")], before=0),
    "segment deleted, its mark not": _Point([(Path, "unlink")], suffix=".acked", before=0, settled=True),
}
"""From the broker to the end of a batch, in the order in which they are passed."""

IN_TASKS: dict[str, _Point] = {
    "between two tasks": _Point([(distributed, "staged")], settled=True),
    "received, not written": _Point([(staging, "publish")]),
    "written, not published": _Point([(os, "link")]),
    "staged, not acknowledged": _Point([(Session, "commit"), (Message, "acknowledge")]),
    "acknowledged, not reported": _Point([(ids.Group, "mark")]),
}
"""With tasks as consumers, more of them than workers: each is passed by the first task of a worker."""

BY_POSITION: dict[str, _Point] = {
    "end found, offset not logged": _Point([(PositionStreamReader, "reportLatestOffset")]),
    "beginning logged, not planned": _Point([(PositionStreamReader, "partitions")], before=0),
    "offset of rows logged, not planned": _Point([(PositionStreamReader, "partitions")], before=2),
    "in a task's read of positions": _Point([(PositionStreamReader, "read")], before=0),
    "batch of positions finished, not yet told": _Point([(PositionStreamReader, "commit")]),
}
"""Without a log; the first batch has no rows."""

CALLS = (
    "prepareForTriggerAvailableNow",
    "getDefaultReadLimit",
    "initialOffset",
    "latestOffset",
    "partitions",
    "commit",
)
"""Of the reader, by Spark, in the source's process."""


class Observed(JmsDataSource):
    """To be registered with ``spark.dataSource.register``."""

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(type(options)({name: value for name, value in options.items() if name.lower() not in _OWN}))
        self._own = {name.lower(): value for name, value in options.items() if name.lower() in _OWN}

    @classmethod
    def name(cls) -> str:
        """The name in ``format``."""
        return "observed"

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        """That of ``jms``, observed."""
        reader: Any = super().streamReader(schema)
        if isinstance(reader, PositionStreamReader):
            return _PositionReader(reader._options, reader._columns, self._own)
        kind = _DistributedReader if reader._options.distributed else _Reader
        return kind(reader._options, reader._columns, self._own)


class _Observing:
    """Changes its own process when it is first used there, since Spark makes copies of it in several."""

    def __init__(self, options: Any, columns: Sequence[str], own: dict[str, str]) -> None:
        super().__init__(options, columns)  # type: ignore[call-arg]
        self._options = options
        self._own = own
        self._is_set = False

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        return partial(self._called, name) if name in CALLS or name in ("read", "reportLatestOffset") else found

    def _called(self, name: str, *given: Any) -> Any:
        folder = Path(self._own["observedfolder"])
        if not self._is_set:
            self._is_set = True
            self._set_up(folder)
        if name in CALLS:
            with (folder / "calls").open("a", encoding="ascii") as calls:
                calls.write(f"{name}\n")
        return super().__getattribute__(name)(*given)

    def _set_up(self, folder: Path) -> None:
        point = (POINTS | IN_TASKS | BY_POSITION).get(self._own.get("observedpoint", ""))
        if point is None or (folder / "reached").exists():  # a worker that died there is followed by another one
            return
        before = int(self._own.get("observedbefore", point.before))
        log = "" if isinstance(self._options, PositionOptions) else str(self._options.wal_path)
        stop = _Stop(folder, Path(log), point, before, self._own["observedfate"])
        for owner, name in point.calls:
            _instead(owner, name, stop)


class _Reader(_Observing, JmsStreamReader):
    """With receivers in the source's process."""


class _DistributedReader(_Observing, DistributedReader):
    """With tasks as consumers."""


class _PositionReader(_Observing, PositionStreamReader):
    """By position."""


class _Stop(NamedTuple):
    folder: Path
    log: Path
    point: _Point
    before: int
    fate: str

    def happen(self) -> None:
        offsets = self.folder / "checkpoint" / "offsets"
        while not (offsets / "0").exists() or list(offsets.glob("*.tmp")):
            time.sleep(0.05)  # sleep: killed while it writes the first offset, Spark refuses its own checkpoint
        if self.point.settled:
            self._settle()
        (self.folder / "reached").touch()
        if self.fate == "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        while self.fate == "stands" or not (self.folder / "go").exists():
            time.sleep(0.05)  # sleep: until the test kills it, or lets it go

    def _settle(self) -> None:
        deadline = time.monotonic() + _PATIENCE
        while any(not path.with_suffix(".acked").exists() for path in self.log.glob("lane-*/*.arrow")):
            assert time.monotonic() < deadline, "a segment stays without its mark"
            time.sleep(0.02)  # sleep: a file of another thread wakes nobody


def _instead(owner: Any, name: str, stop: _Stop) -> None:
    plain: Callable[..., Any] = getattr(owner, name)
    left = [stop.before]

    def stopped(*given: Any, **named: Any) -> Any:
        if stop.point.suffix in (None, getattr(given[0], "suffix", None)):
            left[0] -= 1
            if left[0] == -1:
                stop.happen()
        return plain(*given, **named)

    setattr(owner, name, stopped)

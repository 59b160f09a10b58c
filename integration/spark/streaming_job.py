"""A streaming job of its own process: a queue into Parquet; notes Spark's calls, and can stop for ever at a point.

Arguments: the broker's URL, the job's folder, options of the source as JSON, the point (or ``none``) and how often it
is reached before. At the point the file ``reached`` appears, and nothing goes on: the test then kills everything.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSourceStreamReader
from pyspark.sql.types import StructType

from jmsbridge import Session
from jmsbridge.spark import ids, log
from jmsbridge.spark.source import JmsDataSource
from jmsbridge.spark.stream import JmsStreamReader

__all__ = ["CALLS", "POINTS", "main"]

POINTS: dict[str, tuple[Any, str]] = {
    "received, not in the log": (log.Log, "append"),
    "written, not named": (os, "link"),
    "on disk, not acknowledged": (Session, "commit"),
    "acknowledged, not marked": (ids.KeptIds, "acknowledged"),
    "planned, not read": (JmsStreamReader, "partitions"),
    "in a task's read": (JmsStreamReader, "read"),
    "batch finished, not yet told": (JmsStreamReader, "commit"),
    "low is written, segment not deleted": (log.Log, "_delete"),
}
"""What is called just after the point."""

CALLS = (
    "prepareForTriggerAvailableNow",
    "getDefaultReadLimit",
    "initialOffset",
    "latestOffset",
    "partitions",
    "commit",
)
"""Of the reader, by Spark, in the source's process."""


class _Source(JmsDataSource):
    @classmethod
    def name(cls) -> str:
        return "observed"

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        reader = super().streamReader(schema)
        folder, point, before = Path(os.environ["JOB_FOLDER"]), os.environ["JOB_POINT"], int(os.environ["JOB_BEFORE"])
        return _Observed(reader, folder, point, before)


class _Observed(JmsStreamReader):
    """Changes its own process when it is first used there, since Spark makes copies of it in several."""

    def __init__(self, reader: Any, folder: Path, point: str, before: int) -> None:
        super().__init__(reader._options, reader._columns)
        self._folder, self._point, self._before = folder, point, before
        self._is_set = False

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        return partial(self._called, name) if name in CALLS or name == "read" else found

    def _called(self, name: str, *given: Any) -> Any:
        if not self._is_set:
            self._is_set = True
            if self._point != "none":
                _stop_at(*POINTS[self._point], self._before, self._folder / "reached")
        if name in CALLS:
            with (self._folder / "calls").open("a", encoding="ascii") as calls:
                calls.write(f"{name}\n")
        return getattr(JmsStreamReader, name)(self, *given)


def _stop_at(owner: Any, name: str, before: int, reached: Path) -> None:
    plain: Callable[..., Any] = getattr(owner, name)
    left = [before]

    def stopped(*given: Any, **named: Any) -> Any:
        if left[0]:
            left[0] -= 1
            return plain(*given, **named)
        offsets = reached.parent / "checkpoint" / "offsets"
        while not (offsets / "0").exists() or list(offsets.glob("*.tmp")):
            time.sleep(0.1)  # sleep: killed while it writes the first offset, Spark refuses its own checkpoint
        reached.touch()
        while True:
            time.sleep(60)  # sleep: until it is killed

    setattr(owner, name, stopped)


def main(url: str, folder: str, options: str, point: str, before: str) -> None:
    """Run the job with AvailableNow."""
    os.environ |= {"JOB_FOLDER": folder, "JOB_POINT": point, "JOB_BEFORE": before, "PYSPARK_PYTHON": sys.executable}
    builder = SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    spark.dataSource.register(_Source)
    stream = spark.readStream.format("observed").options(url=url, walPath=f"{folder}/log", **json.loads(options)).load()
    files = stream.writeStream.format("parquet").option("path", f"{folder}/rows")
    query = files.option("checkpointLocation", f"{folder}/checkpoint").trigger(availableNow=True).start()
    query.awaitTermination()
    print(json.dumps([progress.numInputRows for progress in query.recentProgress]))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])

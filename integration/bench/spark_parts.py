"""Parts of the Spark source alone: the receiver without a client, the log, and rows on their way into Spark."""

import contextlib
import resource
import threading
import time
from collections.abc import Iterator, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from jmsbridge import Message
from jmsbridge.spark.log import Log
from jmsbridge.spark.options import read_options
from jmsbridge.spark.receiving import Confirmation, Drain, Receiver
from jmsbridge.spark.schema import batch_of, ddl, types
from jmsbridge.spark.slices import Slice, rows_of

__all__ = ["Peak", "Rows", "free_receiver", "log_seconds"]

_PATIENCE = 300.0


class _Free:
    """Session and consumer in one, whose messages cost nothing."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages = cycle(messages)

    def create_consumer(self, *_: object, **__: object) -> "_Free":
        return self

    def receive(self, timeout: float) -> Message:
        return next(self._messages)

    def commit(self) -> None:
        """Nothing is to be told to anybody."""


def _journal(folder: Path) -> Log:
    return Log(folder / "log", {"destination": "orders"}, 1, 3600.0)


def free_receiver(messages: Sequence[Message], folder: Path, *, count: int) -> float:
    """Messages a second that the receiver writes to the log; ``messages`` are as many as a segment holds."""
    options = read_options({"url": "embedded:", "queue": "orders", "walPath": str(folder / "log")})
    journal = _journal(folder)
    drain = Drain(options, journal)
    drain.confirmation = Confirmation(transacted=True, confirmed=True)
    lane = journal.lanes[0]
    session: Any = _Free(messages)
    drain.receivers.append(Receiver(drain, lane, session))
    started = time.perf_counter()
    drain.receivers[0].start()
    while lane.end < count:
        if not drain.wait_news(drain.read, time.monotonic() + _PATIENCE):
            raise RuntimeError("the receiver stands still")
        journal.release({0: lane.end})
        drain.advance({0: lane.end})
    seconds, done = time.perf_counter() - started, lane.end
    drain.stop()
    journal.close()
    return done / seconds


def log_seconds(messages: Sequence[Message], folder: Path) -> float:
    """Seconds in which the messages of a trigger are written to the log, and deleted when Spark has them."""
    journal = _journal(folder)
    lane = journal.lanes[0]
    batch = batch_of(messages, [message.jms_message_id for message in messages])
    turns = 50
    started = time.perf_counter()
    for _ in range(turns):
        group = journal.append(lane, batch).group
        journal.ids.acknowledged(group, [], confirmed=True)
        journal.release({0: lane.end})
    seconds = time.perf_counter() - started
    journal.close()
    return seconds / turns


class Peak:
    """The largest resident memory in MiB, within the block, of any process whose command line has this text."""

    def __init__(self, text: str) -> None:
        self.size = 0.0
        self._text = text.encode()
        self._ended = threading.Event()
        self._watching = threading.Thread(target=self._watch)

    def __enter__(self) -> "Peak":
        self._watching.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._watching.join()

    def _watch(self) -> None:
        while not self._ended.wait(0.1):
            for process in Path("/proc").glob("[0-9]*"):
                with contextlib.suppress(OSError):
                    if self._text in (process / "cmdline").read_bytes():
                        pages = int((process / "statm").read_text(encoding="ascii").split()[1])
                        self.size = max(self.size, pages * resource.getpagesize() / (1 << 20))


class Rows(DataSource):
    """``format("bench-rows")``: a segment of the log again and again, as Arrow or as tuples, in two tasks."""

    @classmethod
    def name(cls) -> str:
        """The name in ``format``."""
        return "bench-rows"

    @staticmethod
    def prepare(messages: Sequence[Message], path: Path) -> None:
        """Write the segment."""
        batch = batch_of(messages, [message.jms_message_id for message in messages])
        with pa.ipc.new_file(str(path), batch.schema) as writer:
            writer.write_batch(batch)

    def schema(self) -> str:
        """The columns of a stream."""
        return ddl()

    def reader(self, schema: Any) -> DataSourceReader:
        """See the class."""
        return _Reader(str(self.options["segment"]), str(self.options["kind"]), int(self.options["repeats"]))


class _Reader(DataSourceReader):
    def __init__(self, segment: str, kind: str, repeats: int) -> None:
        self._part = Slice(segment, 0, 0, 0, 10_000)
        self._kind = kind
        self._repeats = repeats

    def partitions(self) -> Sequence[InputPartition]:
        return [InputPartition(number) for number in range(2)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        if self._kind == "arrow":
            for _ in range(self._repeats):
                yield self._batch()
            return
        batch = self._batch()
        columns = [
            [dict(each) for each in column.to_pylist()] if pa.types.is_map(column.type) else column.to_pylist()
            for column in batch.columns
        ]
        tuples = list(zip(*columns, strict=True))
        for _ in range(self._repeats):
            yield from tuples

    def _batch(self) -> pa.RecordBatch:
        return rows_of(self._part, list(types()), "binary", "fail")

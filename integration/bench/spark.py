"""Compares the Spark source and sink with plain clients on the same embedded file broker: ``make bench-spark``.

    python -m integration.bench.spark            # all figures
    python -m integration.bench.spark --write    # and write them to docs/performance-spark.md

Needs the extra ``spark`` and Java.
"""

import os
import shutil
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import pyarrow.parquet as pq
import typer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming import DataStreamWriter

import jmsbridge
from bench import report
from bench.measuring import Figure, figure_of, in_turn, windows
from integration.bench.brokers import DEFAULT
from integration.bench.spark_distributed import by_tasks
from integration.bench.spark_parts import Peak, Rows, free_receiver, log_seconds
from integration.lab.starting import start as start_broker
from integration.lab.table import MEASURING, kind
from jmsbridge import DUPS_OK_ACKNOWLEDGE, Message, Queue

__all__ = ["main"]

_TRIGGER = 50_000
_SEGMENT = 10_000
_PATIENCE = 300
_BODY = "x" * 200
_PAGE = Path(__file__).resolve().parents[2] / "docs" / "performance-spark.md"
_STREAM = """## A stream and a receive loop

Where the time of a stream goes, looked at on 2026-11-25: the receiver takes 16 µs of CPU for a message, the loop 14. It
stands still while a segment is written and committed; Spark's part of a batch, 0.4 to 0.9 s for 50,000 rows, runs on
the same two cores; and the last batch, 0.6 s of 7, has nothing to receive beside it.
"""
_FILES = """## A queue into Parquet files

The plain consumer writes three columns, 10,000 messages to a file, and commits; the stream writes all 19 columns.
"""
_BROKER = f"""## A stream of a real broker

{kind(DEFAULT).title} over `{DEFAULT}://`, half as many messages.
"""
_PARTS = """## Parts of the source

"No client" is the real receiver and log with messages that cost nothing to receive.
"""
_SINK = """## The sink
"""
_EXECUTORS = """## Consumers on executors

Both sides with a client that takes 50 µs of CPU for a message.
"""
_MEMORY = """## Memory

The largest resident memory of the process that receives, one run each, until all is read.
"""
_TEXT = """# Performance of the Spark source and sink

Text messages of 200 bytes, Spark in `local[2]`, the embedded broker in a file unless another one is named. What is
compared is measured in turn, window by window, in one run, and each window with the one of the same turn; medians of
five windows after one that warms up. The rates of streams are all rows, from when the source makes its log, just before
it connects to the broker, to the end of the last batch; the start of its process is not in them.

`make bench-spark ARGS=--write` measures all; `ARGS='--only sink --write'` measures one section: `stream`, `files`,
`broker`, `parts`, `sink`, `executors`, `memory`.
"""


class _Bench:
    """One Spark and one broker for all figures."""

    def __init__(self, spark: SparkSession, folder: Path, count: int) -> None:
        self.spark = spark
        self.folder = folder
        self.count = count
        self.url = f"embedded:{folder / 'broker.db'}"
        self.source = {"url": self.url}
        self._windows = 0

    def sections(self) -> dict[str, tuple[str, Callable[[], Iterator[Figure]]]]:
        """The heading and text of each section, and its figures."""
        return {
            "stream": (_STREAM, self._stream),
            "files": (_FILES, self._files),
            "broker": (_BROKER, self._broker),
            "parts": (_PARTS, self._parts),
            "sink": (_SINK, self._sinks),
            "executors": (_EXECUTORS, lambda: by_tasks(self.spark, self._new, _rate_of)),
            "memory": (_MEMORY, self._memory),
        }

    def _stream(self) -> Iterator[Figure]:
        loop, source, rate = in_turn(
            partial(self._filled, self._loop),
            partial(self._filled, self._noop),
            lambda: _rate_of(self._rates().writeStream.format("noop"), self._new(), 4 * _TRIGGER),
        )
        yield figure_of("receive loop, DUPS_OK", "messages/s", loop)
        yield figure_of(f"stream, {_TRIGGER:,} per trigger, no-op sink", "messages/s", source)
        yield figure_of("ceiling: Spark's rate-micro-batch source, no-op sink", "messages/s", rate)
        yield _ratio("the stream beside the loop", source, loop, 0.8, "of its rate")

    def _files(self) -> Iterator[Figure]:
        files = self.folder / "files"
        self._table(files)
        plain, archived, parquet = in_turn(
            partial(self._filled, self._plain_parquet),
            partial(self._filled, self._to_parquet),
            lambda: _rate_of(self._parquet(files).writeStream.format("noop"), self._new(), None),
        )
        yield figure_of("plain consumer into Parquet with pyarrow", "messages/s", plain)
        yield figure_of("stream into Parquet", "messages/s", archived)
        yield figure_of("ceiling: Spark's stream of Parquet files, no-op sink", "messages/s", parquet)

    def _broker(self) -> Iterator[Figure]:
        with start_broker(DEFAULT, options=(MEASURING,)) as broker:
            other = _Bench(self.spark, self.folder / "other", self.count // 2)
            other.folder.mkdir()
            other.url = broker.url()
            secret = other.folder / "secret"
            secret.write_text(broker.password, encoding="utf-8")
            other.source = {"url": broker.url(user=None), "user": broker.user, "passwordFile": str(secret)}
            loop, source = in_turn(partial(other._filled, other._loop), partial(other._filled, other._noop))
        yield figure_of("receive loop, DUPS_OK", "messages/s", loop)
        yield figure_of(f"stream, {_TRIGGER:,} per trigger, no-op sink", "messages/s", source)
        yield _ratio("the stream beside the loop", source, loop, 0.8, "of its rate")

    def _parts(self) -> Iterator[Figure]:
        self._fill(_SEGMENT)
        with jmsbridge.connect(self.url) as connection:
            connection.start()
            session = connection.create_session(True)
            messages = list(_received(session.create_consumer(Queue("orders")), _SEGMENT))
            free = partial(free_receiver, messages, count=2 * self.count)
            yield windows("no client", "messages/s", 80_000, lambda: free(self._new()))
            small = lambda: log_seconds(messages[:100], self._new()) * 1000  # noqa: E731
            yield windows("log of a small trigger (100 messages)", "ms", 5, small, more=False)
            segment = self._new() / "segment.arrow"
            Rows.prepare(messages, segment)
            session.commit()
        self.spark.dataSource.register(Rows)
        arrow, tuples = in_turn(*(partial(self._read, segment, kind) for kind in ("arrow", "tuples")))
        yield figure_of("tasks read the log as Arrow", "rows/s", arrow)
        yield figure_of("the same rows as tuples, prepared", "rows/s", tuples)
        yield _ratio("Arrow beside tuples", arrow, tuples, 2, "of their rate")

    def _sinks(self) -> Iterator[Figure]:
        sink, single = in_turn(partial(self._write, self.count // 2), partial(self._send_each, self.count // 50))
        yield figure_of("df.write", "messages/s", sink)
        yield figure_of("one confirmed send per row", "messages/s", single)
        yield _ratio("df.write beside single sends", sink, single, 5, "of their rate")

    def _memory(self) -> Iterator[Figure]:
        few, many = self.count // 2, 5 * self.count
        sizes = [self._peak(each) for each in (few, many)]
        for count, size in zip((few, many), sizes, strict=True):
            yield figure_of(f"the source's process, {count:,} messages waiting", "MiB", [size])
        yield figure_of("with ten times as many", "of its memory", [sizes[1] / sizes[0]], 1.25, more=False)

    # ---- what is measured: each returns messages per second

    def _filled(self, act: Callable[[], float]) -> float:
        self._fill(self.count)
        return act()

    def _loop(self) -> float:
        with jmsbridge.connect(self.url) as connection:
            connection.start()
            consumer = connection.create_session(False, DUPS_OK_ACKNOWLEDGE).create_consumer(Queue("orders"))
            started = time.perf_counter()
            for message in _received(consumer, self.count):
                if message.get_body(str) != _BODY:
                    raise RuntimeError(f"{message!r} is not what was sent")
            return self.count / (time.perf_counter() - started)

    def _plain_parquet(self) -> float:
        with jmsbridge.connect(self.url) as connection:
            connection.start()
            session = connection.create_session(True)
            consumer = session.create_consumer(Queue("orders"))
            started = time.perf_counter()
            folder = self._new()
            for number in range(self.count // _SEGMENT):
                rows = [
                    {"messageId": each.jms_message_id, "timestamp": each.jms_timestamp, "body": each.get_body(str)}
                    for each in _received(consumer, _SEGMENT)
                ]
                pq.write_table(pa.Table.from_pylist(rows), folder / f"{number}.parquet")
                session.commit()
            return self.count / (time.perf_counter() - started)

    def _noop(self) -> float:
        folder = self._new()
        return _rate_of(self._messages(folder).writeStream.format("noop"), folder, None, self.count)

    def _peak(self, count: int) -> float:
        """MiB of the source's process at most, while a stream reads so many messages."""
        self._fill(count)
        with Peak("python_streaming_source_runner") as peak:
            folder = self._new()
            _rate_of(self._messages(folder).writeStream.format("noop"), folder, None, count)
        return peak.size

    def _to_parquet(self) -> float:
        folder = self._new()
        writer = self._messages(folder).writeStream.format("parquet").option("path", str(folder / "files"))
        return _rate_of(writer, folder, None, self.count)

    def _read(self, segment: Path, kind: str) -> float:
        repeats = max(1, self.count // _SEGMENT)
        frame = self.spark.read.format("bench-rows").options(segment=str(segment), kind=kind, repeats=repeats).load()
        started = time.perf_counter()
        frame.write.format("noop").mode("overwrite").save()
        return 2 * repeats * _SEGMENT / (time.perf_counter() - started)

    def _write(self, count: int) -> float:
        rows = self.spark.range(0, count, 1, 2).select(F.lit(_BODY).alias("body"), F.expr("uuid()").alias("messageId"))
        options = {"url": self.url, "queue": "written", "duplicateWindow": count}
        started = time.perf_counter()
        rows.write.format("jms").options(**options).mode("append").save()
        seconds = time.perf_counter() - started
        self._purge("written")
        return count / seconds

    def _send_each(self, count: int) -> float:
        with jmsbridge.connect(self.url) as connection:
            session = connection.create_session()
            producer = session.create_producer(Queue("written"))
            started = time.perf_counter()
            for _ in range(count):
                producer.send(session.create_text_message(_BODY))
            seconds = time.perf_counter() - started
        self._purge("written")
        return count / seconds

    # ---- what that needs

    def _fill(self, count: int) -> None:
        with jmsbridge.connect(self.url) as connection:
            session = connection.create_session(True)
            producer = session.create_producer(Queue("orders"))
            for number in range(count):
                producer.send(session.create_text_message(_BODY))
                if number % 1000 == 999:
                    session.commit()
            session.commit()

    def _purge(self, queue: str) -> None:
        with jmsbridge.connect(self.url) as connection:
            connection.admin.purge(Queue(queue))

    def _messages(self, folder: Path) -> DataFrame:
        options = {"queue": "orders", "walPath": folder / "log", "maxMessagesPerTrigger": _TRIGGER, **self.source}
        return self.spark.readStream.format("jms").options(**{name: str(each) for name, each in options.items()}).load()

    def _table(self, files: Path) -> None:
        files.mkdir()
        for number in range(6):
            ids = [str(uuid.uuid4()) for _ in range(_TRIGGER)]
            table = pa.table({"messageId": ids, "body": [_BODY] * _TRIGGER})
            pq.write_table(table, files / f"{number}.parquet")

    def _parquet(self, files: Path) -> DataFrame:
        stream = self.spark.readStream.schema("messageId string, body string").option("maxFilesPerTrigger", 1)
        return stream.parquet(str(files))

    def _rates(self) -> DataFrame:
        return self.spark.readStream.format("rate-micro-batch").option("rowsPerBatch", _TRIGGER).load()

    def _new(self) -> Path:
        """A new folder; the one before is deleted, in which a task of a stopped stream may still write."""
        shutil.rmtree(self.folder / f"window-{self._windows}", ignore_errors=True)
        self._windows += 1
        folder = self.folder / f"window-{self._windows}"
        folder.mkdir()
        return folder


def _received(consumer: Any, count: int) -> Iterator[Message]:
    for _ in range(count):
        message: Message | None = consumer.receive(timeout=_PATIENCE)
        if message is None:
            raise RuntimeError("a message is missing")
        yield message


def _rate_of(writer: DataStreamWriter, folder: Path, until: int | None, expected: int | None = None) -> float:
    """Rows a second to the end of the last batch; ``until`` so many rows, or what is there.

    From when the source makes its log, just before it connects; without a log, from the first trigger with rows.
    Receivers work ahead of Spark: a rate from a later moment on would count what they had before it.
    """
    writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
    if until is None:
        query = writer.trigger(availableNow=True).start()
        ended = query.awaitTermination(_PATIENCE)
    else:
        query = writer.start()
        deadline = time.monotonic() + _PATIENCE
        while _rows(query) < until and time.monotonic() < deadline:
            query.awaitTermination(0.1)
        ended = _rows(query) >= until
    query.stop()
    if not ended or (expected is not None and _rows(query) != expected):
        raise RuntimeError(f"the stream ended with {_rows(query)} rows instead of {until or expected}")
    batches = [each for each in query.recentProgress if each.numInputRows]
    began, last = (datetime.fromisoformat(batches[at].timestamp).timestamp() for at in (0, -1))
    journal = folder / "log" / "log.json"
    began = journal.stat().st_mtime if journal.exists() else began
    return float(_rows(query) / (last + batches[-1].batchDuration / 1000 - began))


def _rows(query: Any) -> int:
    return sum(each.numInputRows for each in query.recentProgress)


def _ratio(name: str, ours: Sequence[float], other: Sequence[float], bar: float, unit: str) -> Figure:
    """Compare windows of the same turn, so that the load of the machine affects both."""
    return figure_of(name, unit, [one / two for one, two in zip(ours, other, strict=True)], bar)


def main(
    quick: Annotated[bool, typer.Option(help="a tenth of the messages")] = False,
    only: Annotated[list[str] | None, typer.Option(help="a section; repeatable")] = None,
    write: Annotated[bool, typer.Option(help="write the sections to docs/performance-spark.md")] = False,
) -> None:
    """Measure in turn, print, and with --write update the page."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    page = _PAGE.read_text(encoding="utf-8") if _PAGE.exists() else _TEXT
    page = report.replaced(page, _TEXT)
    try:
        with tempfile.TemporaryDirectory(prefix="jmsbridge-bench-") as folder:
            sections = _Bench(spark, Path(folder), 20_000 if quick else 200_000).sections()
            for name in only or sections:
                text, measure = sections[name]
                figures = list(measure())
                report.show(figures)
                command = f"make bench-spark ARGS='--only {name} --write'"
                page = report.replaced(page, report.page(text, figures, command))
                if write:
                    _PAGE.write_text(page, encoding="utf-8")
                    print(f"written to {_PAGE}")
    finally:
        spark.stop()


if __name__ == "__main__":
    typer.run(main)

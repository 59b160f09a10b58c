"""Tasks as consumers beside one receiver in the driver, both with a client that costs 50 us of CPU for each message."""

import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit
from pyspark.sql.types import StructType

import jmsbridge
from bench.measuring import Figure, figure_of, in_turn
from jmsbridge import JMSException, Message
from jmsbridge.spark import receiving
from jmsbridge.spark.distributed import DistributedReader
from jmsbridge.spark.source import JmsDataSource
from jmsbridge.spark.stream import JmsStreamReader

__all__ = ["Costly", "by_tasks"]

_COST = 50e-6
_TRIGGER = 50_000
_COUNT = 100_000
_BODY = "x" * 200
_NATIVE = SimpleNamespace(outcome="native")


class _Client:
    """Connection, session and consumer in one."""

    capabilities: ClassVar = {"transactions": _NATIVE, "settle_confirm": _NATIVE}

    def __init__(self, *_: object, **__: object) -> None:
        self._own = jmsbridge.connect("embedded:")
        self._session = self._own.create_session()
        self._name, self._count = uuid.uuid4().hex, 0

    @property
    def admin(self) -> Any:
        raise JMSException("the stub has no administration")

    def create_session(self, _: object) -> "_Client":
        return self

    def create_consumer(self, *_: object, **__: object) -> "_Client":
        return self

    def receive(self, timeout: float) -> Message:
        until = time.perf_counter() + _COST
        self._count += 1
        message = self._session.create_text_message(_BODY)
        message.jms_message_id = f"ID:{self._name}:{self._count}"
        while time.perf_counter() < until:
            continue
        return message

    def start(self) -> None:
        """Nothing is to be started."""

    def commit(self) -> None:
        """Nothing is to be told to anybody."""

    def close(self) -> None:
        """Nothing is to be closed between two tasks."""

    def __enter__(self) -> "_Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Costly(JmsDataSource):
    """``format("bench-costly")``: the source with this client."""

    @classmethod
    def name(cls) -> str:
        """The name in ``format``."""
        return "bench-costly"

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        """See the class."""
        reader: Any = super().streamReader(schema)
        kind = _DistributedReader if reader._options.distributed else _Reader
        return kind(reader._options, reader._columns)


class _Reader(JmsStreamReader):
    def latestOffset(self, start: dict[str, Any] | None = None, limit: ReadLimit | None = None) -> dict[str, Any]:  # noqa: N802
        _replace_client()
        return super().latestOffset(start, limit)


class _DistributedReader(DistributedReader):
    def latestOffset(self, start: dict[str, Any] | None = None, limit: ReadLimit | None = None) -> dict[str, Any]:  # noqa: N802
        _replace_client()
        return super().latestOffset(start, limit)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        _replace_client()
        return super().read(partition)


def _replace_client() -> None:
    vars(receiving)["connect"] = _Client  # in the process in which Spark calls


def by_tasks(spark: SparkSession, folder: Callable[[], Path], rate_of: Callable[..., float]) -> Iterator[Figure]:
    """Two consumers on executors, and one receiver; ``rate_of`` runs a stream until it has so many rows."""
    spark.dataSource.register(Costly)

    def rate(**options: object) -> float:
        here = folder()
        given = {"url": "embedded:", "queue": "orders", "walPath": here / "log", "maxMessagesPerTrigger": _TRIGGER}
        stream = spark.readStream.format("bench-costly")
        for name, value in (given | options).items():
            stream = stream.option(name, str(value))
        return rate_of(stream.load().writeStream.format("noop"), here, _COUNT)

    one, two = in_turn(rate, lambda: rate(distributed=True, receivers=2))
    yield figure_of("one receiver, a client of 50 µs a message", "messages/s", one)
    yield figure_of("two consumers on executors, the same client", "messages/s", two)
    ratios = [tasks / driver for driver, tasks in zip(one, two, strict=True)]
    yield figure_of("two consumers beside one receiver", "of its rate", ratios, 1.4)

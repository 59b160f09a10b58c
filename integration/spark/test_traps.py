"""The traps of PySpark's Data Source API, each with a test: a Spark that changes one fails here.

They were found with PySpark 4.3; in order: names of options, keyword parameters, ``write()`` that returns None, a write
without a mode, ``pushFilters``, the simple reader, an empty batch, exact Arrow schemas, constructors that connect,
broken packages beside ours, memory that Spark does not limit, and the size of Arrow batches.
"""

import inspect
import json
import os
import pickle
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from pyspark import cloudpickle
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.datasource import DataSource, DataSourceReader, SimpleDataSourceStreamReader, WriterCommitMessage
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

import jmsbridge
from jmsbridge.spark.log import Log
from jmsbridge.spark.options import read_options
from jmsbridge.spark.receiving import Drain
from jmsbridge.spark.showing import JmsReader
from jmsbridge.spark.source import JmsDataSource
from jmsbridge.spark.stream import JmsStreamReader

pytestmark = [pytest.mark.server, pytest.mark.timeout(300)]

UNREACHABLE = "amqp://127.0.0.1:1"
QUEUE = jmsbridge.Queue("orders")


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"embedded:{tmp_path / 'broker.db'}"


def send(url: str, count: int, size: int = 10) -> None:
    with jmsbridge.connect(url) as connection:
        session = connection.create_session(True)
        producer = session.create_producer(QUEUE)
        for number in range(count):
            producer.send(session.create_text_message(f"{number:0{size}}"))
        session.commit()


def depth(url: str) -> int:
    with jmsbridge.connect(url) as connection:
        return int(connection.admin.depth(QUEUE))


def source(url: str, folder: Path, **options: str) -> dict[str, str]:
    return {"url": url, "queue": "orders", "walPath": str(folder / "log")} | options


def streamed(spark: Any, given: dict[str, str], folder: Path, name: str = "", schema: str = "") -> Any:
    """Start a query with AvailableNow into a table in memory, or nowhere."""
    reader = spark.readStream.format("jms").options(**given)
    writer = (reader.schema(schema) if schema else reader).load().writeStream
    writer = writer.format("memory").queryName(name) if name else writer.format("noop")
    return writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start()


def ended(query: Any) -> None:
    assert query.awaitTermination(120)


def test_names_of_options_arrive_in_lower_case(spark: Any, url: str) -> None:
    """``jms.MaxRedeliveries`` arrives as ``jms.maxredeliveries``, and is the client's ``max_redeliveries``."""
    send(url, 3)
    given = {"url": url, "QUEUE": "orders", "BodyFormat": "text"}
    read = spark.read.format("jms").options(**given, **{"jms.MaxRedeliveries": "3"})
    assert read.load().where("body = '0000000002'").count() == 1
    with pytest.raises(Exception, match="max_redeliveries"):
        spark.read.format("jms").options(**given, **{"jms.MaxRedeliveries": "many"}).load().count()


def test_spark_calls_with_the_keywords_schema_and_overwrite() -> None:
    for method in ("reader", "streamReader", "writer", "streamWriter"):
        own, base = (inspect.signature(getattr(owner, method)).parameters for owner in (JmsDataSource, DataSource))
        assert list(own) == list(base)


def test_write_never_returns_none_also_for_a_task_without_rows(spark: Any, url: str) -> None:
    """None would fail the task, and its repetition would send the rows again."""
    spark.range(3).repartition(2).where("id < 1").select(F.lit("x").alias("body")).write.format("jms").options(
        url=url, queue="orders"
    ).mode("append").save()
    assert depth(url) == 1
    schema = StructType().add("body", "string")
    for make in (JmsDataSource({"url": url, "queue": "orders"}).writer, JmsDataSource({"url": url}).streamWriter):
        assert isinstance(make(schema=schema, overwrite=False).write(iter([])), WriterCommitMessage)


def test_a_write_without_a_mode_is_refused_by_spark_and_sends_nothing(spark: Any, url: str) -> None:
    send(url, 1)
    with pytest.raises(Exception, match="UNSUPPORTED_DATA_SOURCE_SAVE_MODE"):
        spark.range(3).select(F.lit("x").alias("body")).write.format("jms").options(url=url, queue="orders").save()
    assert depth(url) == 1


@pytest.mark.parametrize("pushed", ["false", "true"])
def test_filters_work_whether_spark_may_push_them_down_or_not(spark: Any, url: str, pushed: str) -> None:
    """A reader with ``pushFilters`` of its own fails every read while the setting is false, its default."""
    send(url, 3)
    assert JmsReader.pushFilters is DataSourceReader.pushFilters
    spark.conf.set("spark.sql.python.filterPushdown.enabled", pushed)
    try:
        frame = spark.read.format("jms").options(url=url, queue="orders", bodyFormat="text").load()
        assert frame.where("priority = 4 AND body = '0000000001'").count() == 1
    finally:
        spark.conf.unset("spark.sql.python.filterPushdown.enabled")


def test_the_simple_reader_which_spark_cannot_limit_is_not_used(spark: Any, url: str, tmp_path: Path) -> None:
    assert not issubclass(JmsStreamReader, SimpleDataSourceStreamReader)
    send(url, 25)
    query = streamed(spark, source(url, tmp_path, maxMessagesPerTrigger="10"), tmp_path)
    ended(query)
    assert [each.numInputRows for each in query.recentProgress if each.numInputRows] == [10, 10, 5]


def test_no_batch_without_rows_and_no_rows_without_a_new_offset(spark: Any, url: str, tmp_path: Path) -> None:
    """An idle trigger returns the start itself: the same text, so that Spark sees nothing new."""
    send(url, 5)
    query = (
        spark.readStream.format("jms")
        .options(**source(url, tmp_path))
        .load()
        .writeStream.format("noop")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(processingTime="0 seconds")
        .start()
    )
    try:
        deadline = time.monotonic() + 120
        while not (tmp_path / "checkpoint" / "commits" / "0").exists():
            assert time.monotonic() < deadline
            assert query.exception() is None
            time.sleep(0.05)  # sleep: a file of another process wakes nobody
        time.sleep(1)  # sleep: some idle triggers, of 0.1 s each
    finally:
        query.stop()
    offsets = (tmp_path / "checkpoint" / "offsets").glob("[0-9]*")
    ends = [json.loads(path.read_text().splitlines()[-1])["lanes"]["0"] for path in offsets]
    assert len(ends) == len(set(ends)) <= 5
    assert max(ends) == 5


@pytest.mark.parametrize("body_format", ["binary", "text"])
def test_arrow_batches_have_exactly_the_types_that_spark_asks_for(
    spark: Any, url: str, tmp_path: Path, body_format: str
) -> None:
    """Order, ``string`` rather than ``large_string``, ``timestamp[us, tz=UTC]``; Spark checks the first batch alone."""
    send(url, 5)
    given = source(url, tmp_path, bodyFormat=body_format, maxMessagesPerTrigger="3")
    reader = JmsDataSource({name.lower(): value for name, value in given.items()})
    frame = spark.readStream.format("jms").options(**given).load()
    stream: Any = reader.streamReader(frame.schema)
    ended(streamed(spark, given, tmp_path, f"all_{body_format}"))
    assert spark.table(f"all_{body_format}").where("timestamp IS NOT NULL AND size(properties) >= 0").count() == 5
    journal = Log(tmp_path / "log", *_of_log(stream))
    stream._log = journal
    start, end = ({"v": 1, "log": journal.uuid, "lanes": {"0": at}} for at in (journal.lanes[0].low, 5))
    batches = [batch for task in stream.partitions(start, end) for batch in stream.read(task)]
    stream.stop()
    wanted = to_arrow_schema(frame.schema, timezone="UTC")
    assert batches
    for batch in batches:
        assert [(field.name, field.type) for field in batch.schema] == [(field.name, field.type) for field in wanted]


def _of_log(stream: Any) -> tuple[dict[str, Any], int, float]:
    return {"destination": "queue:orders", "subscription": None, "selector": None}, 1, 3600.0


def test_a_schema_with_some_columns_in_another_order(spark: Any, url: str, tmp_path: Path) -> None:
    send(url, 5)
    schema = "offset bigint, body string, timestamp timestamp"
    ended(streamed(spark, source(url, tmp_path, bodyFormat="text"), tmp_path, "some", schema))
    assert sorted(row.offset for row in spark.table("some").collect()) == list(range(5))


def test_constructors_and_copies_connect_nowhere(tmp_path: Path) -> None:
    """Spark makes copies in the planner and in executors, which would swallow messages."""
    given = source(UNREACHABLE, tmp_path)
    own = JmsDataSource({name.lower(): value for name, value in given.items()})
    sink = JmsDataSource({"url": UNREACHABLE, "queue": "orders"})
    schema, rows = StructType().add("body", "binary"), StructType().add("body", "string")
    made = [own, own.streamReader(schema), sink.reader(schema)]
    made += [sink.writer(rows, overwrite=False), sink.streamWriter(rows, overwrite=False)]
    threads = threading.active_count()
    for each in made:
        pickle.loads(cloudpickle.dumps(each))
    assert threading.active_count() == threads
    assert not (tmp_path / "log").exists()


def test_a_broken_package_beside_ours_hides_all_sources_until_they_are_registered(tmp_path: Path) -> None:
    """Spark imports every ``pyspark_…`` to find sources; one that fails hides the others."""
    broken = tmp_path / "path" / "pyspark_broken"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text("raise RuntimeError('broken')")
    url = f"embedded:{tmp_path / 'broker.db'}"
    send(url, 3)
    where = os.environ | {"PYTHONPATH": str(broken.parent)}
    done = subprocess.run(
        [sys.executable, "-c", _BESIDE_BROKEN, url], env=where, capture_output=True, text=True, timeout=200, check=False
    )
    assert done.stdout.split() == ["True", "3"], done.stderr[-3000:]


_BESIDE_BROKEN = """
import sys
from pyspark.sql import SparkSession
from jmsbridge.spark.source import JmsDataSource
spark = SparkSession.builder.master("local[1]").getOrCreate()
read = spark.read.format("jms").options(url=sys.argv[1], queue="orders")
try:
    read.load()
except Exception as error:
    print("DATA_SOURCE_NOT_FOUND" in str(error))
spark.dataSource.register(JmsDataSource)
print(read.load().count())
"""


def test_the_package_that_spark_imports_brings_no_client_of_a_broker() -> None:
    code = "import sys, pyspark_jms; print([name for name in sys.modules if name.startswith(('jmsbridge_', 'pika'))])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(("size", "limit"), [(10, {}), (10_000, {"maxBytesPerTrigger": "50000"})])
def test_memory_that_spark_does_not_limit_is_bounded_by_the_source(
    url: str, tmp_path: Path, size: int, limit: dict[str, str]
) -> None:
    """``spark.sql.planner.pythonExecution.memory`` does not reach it: a few triggers are received ahead, no more."""
    send(url, 400, size)
    options = read_options(source(url, tmp_path, maxMessagesPerTrigger="20", **limit))
    journal = Log(tmp_path / "log", {}, 1, 3600.0)
    drain = Drain(options, journal)
    drain.start(available_now=False)
    try:
        deadline = time.monotonic() + 30
        while journal.lanes[0].end < 80 if not limit else journal.size < 200_000:
            assert time.monotonic() < deadline
            time.sleep(0.02)  # sleep: the log grows in another thread
        time.sleep(0.5)  # sleep: it does not grow further
        assert 20 <= journal.lanes[0].end <= 100
        assert journal.size <= 200_000 + 20 * (size + 1000)
    finally:
        drain.stop()
        journal.close()


def test_a_task_gets_several_arrow_batches_which_are_counted_together(spark: Any, url: str) -> None:
    """Spark gives a writer at most 10,000 rows in a batch, so a batch is neither a task nor a batch of the stream."""
    numbers = spark.range(0, 12_000, 1, 1).select(F.col("id").cast("string").alias("body"))
    frame = numbers.select("body", F.col("body").alias("messageId"))
    write = frame.write.format("jms").options(url=url, queue="orders").mode("append")
    with pytest.raises(Exception, match=r"a batch of 11001 rows for queue:orders is more than the 11000 ids"):
        write.option("duplicateWindow", "11000").save()
    write.option("duplicateWindow", "12000").save()
    assert depth(url) == 12_000

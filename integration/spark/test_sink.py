"""Real jobs that write to the embedded file broker, also with tasks and drivers that die."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

import jmsbridge
from integration.spark.killing import PATIENCE, kill_all

pytestmark = [pytest.mark.server, pytest.mark.timeout(300)]  # the first test starts Java

ROWS = 1000


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"embedded:{tmp_path / 'broker.db'}"


def bodies(url: str, queue: str = "orders") -> Counter[str]:
    with jmsbridge.connect(url) as connection:
        browser = connection.create_session().create_browser(jmsbridge.Queue(queue))
        return Counter(str(message.get_body(str)) for message in browser)


def rows(spark: Any) -> DataFrame:
    numbers = spark.range(0, ROWS, 1, 2).select(F.col("id").cast("string").alias("body"))
    return numbers.select("body", F.concat(F.lit("ID:"), "body").alias("messageId"))


def written(frame: DataFrame, url: str, **options: Any) -> None:
    frame.write.format("jms").options(**{"url": url, "queue": "orders"} | options).mode("append").save()


def test_a_frame_is_written_once_however_often_it_is_written(spark: Any, url: str) -> None:
    written(rows(spark), url)
    written(rows(spark).repartition(3), url)
    assert bodies(url) == Counter(str(number) for number in range(ROWS))


@pytest.mark.parametrize(
    ("mode", "options", "text"),
    [
        ("overwrite", {}, "append"),
        ("append", {"queu": "x"}, "did you mean 'queue'"),
        ("append", {"password": "hunter2"}, "passwordEnv"),
    ],
)
def test_a_wrong_write_sends_nothing(spark: Any, url: str, mode: str, options: dict[str, str], text: str) -> None:
    writer = rows(spark).write.format("jms").options(**{"url": url, "queue": "orders"} | options).mode(mode)
    with pytest.raises(Exception, match=text):
        writer.save()
    assert not bodies(url)


def test_a_column_that_a_message_does_not_have(spark: Any, url: str) -> None:
    with pytest.raises(Exception, match=r"no column 'bodie'.*'body'"):
        written(rows(spark).withColumnRenamed("body", "bodie"), url)


def _dying(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The first attempt of each task ends after 300 of its 500 rows; SIGKILL of the worker for the odd ones."""
    task = TaskContext.get()
    assert task is not None
    for batch in batches:
        if task.attemptNumber() == 0:
            yield batch.slice(0, 300)
            if task.partitionId() % 2:
                os.kill(os.getpid(), signal.SIGKILL)
            raise RuntimeError("this attempt ends")
        yield batch


def test_a_task_that_dies_mid_way_is_repeated(spark: Any, url: str) -> None:
    written(rows(spark).mapInArrow(_dying, "body string, messageId string"), url)
    assert bodies(url) == Counter(str(number) for number in range(ROWS))


def test_a_task_that_dies_is_rolled_back_with_its_transaction(spark: Any, url: str) -> None:
    written(rows(spark).mapInArrow(_dying, "body string, messageId string"), url, transacted="true")
    assert bodies(url) == Counter(str(number) for number in range(ROWS))


def begun(spark: Any, url: str, folder: str, files: str, **options: str) -> Any:
    """A stream of files into the queue, one file for a batch."""
    read = spark.readStream.schema("body string, messageId string").option("maxFilesPerTrigger", 1).parquet(files)
    return (
        read.repartition(2, F.rand())  # another order and division for each run
        .writeStream.format("jms")
        .options(url=url, queue="orders", checkpointLocation=f"{folder}/checkpoint", **options)
        .trigger(availableNow=True)
        .start()
    )


def _stream(spark: Any, url: str, folder: Path, files: Path) -> None:
    query = begun(spark, url, str(folder), str(files))
    query.awaitTermination(120)
    assert query.exception() is None
    assert not query.isActive


@pytest.mark.parametrize("forgotten", [1, 2])
def test_a_batch_that_is_sent_but_not_noted_is_sent_again_in_another_order(
    spark: Any, url: str, tmp_path: Path, forgotten: int
) -> None:
    """The driver dies after its tasks have sent: the note of the last batches is missing at the restart."""
    files = tmp_path / "files"
    rows(spark).repartition(4).write.parquet(str(files))
    _stream(spark, url, tmp_path, files)
    commits = sorted((tmp_path / "checkpoint" / "commits").glob("[0-9]*"), key=lambda path: int(path.name))
    assert len(commits) >= 2
    commits[-1].unlink()
    (commits[-1].parent / f".{commits[-1].name}.crc").unlink(missing_ok=True)
    for _ in range(forgotten - 1):  # and once more before anything else
        _stream(spark, url, tmp_path, files)
        commits[-1].unlink()
        (commits[-1].parent / f".{commits[-1].name}.crc").unlink(missing_ok=True)
    _stream(spark, url, tmp_path, files)
    assert bodies(url) == Counter(str(number) for number in range(ROWS))
    shutil.rmtree(tmp_path / "checkpoint")


_SENDING = """
import sys
from pyspark.sql import SparkSession
from integration.spark.test_sink import begun

begun(SparkSession.builder.master("local[2]").getOrCreate(), *sys.argv[1:], maxRate="200").awaitTermination()
"""


def test_all_is_killed_while_it_sends_and_sent_again_in_another_order(spark: Any, url: str, tmp_path: Path) -> None:
    files = tmp_path / "files"
    rows(spark).repartition(4).write.parquet(str(files))
    line = [sys.executable, "-c", _SENDING, url, str(tmp_path), str(files)]
    env = os.environ | {"JOB_FOLDER": str(tmp_path), "PYSPARK_PYTHON": sys.executable}
    killed = subprocess.Popen(line, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + PATIENCE
    while (sent := sum(bodies(url).values())) < ROWS // 4 + 50:  # of four batches, the second one
        assert killed.poll() is None, killed.communicate()[1][-3000:]
        assert time.monotonic() < deadline
        time.sleep(0.05)  # sleep: a queue without a consumer wakes nobody
    kill_all(tmp_path)
    killed.communicate()
    assert sent < ROWS // 2
    _stream(spark, url, tmp_path, files)
    assert bodies(url) == Counter(str(number) for number in range(ROWS))


def test_a_batch_larger_than_the_memory_of_the_broker_is_refused(spark: Any, url: str) -> None:
    with pytest.raises(Exception, match=r"rows for queue:orders is more than the 100 ids.*duplicateWindow"):
        written(rows(spark), url, duplicateWindow="100")
    with pytest.raises(Exception, match=r"a batch of 1000 rows for queue:orders is more than the 600 ids"):
        written(rows(spark), url, queue="orders", duplicateWindow="600")


def test_a_batch_read_shows_the_queue_and_leaves_it(spark: Any, url: str) -> None:
    written(rows(spark), url)
    frame = spark.read.format("jms").options(url=url, queue="orders", bodyFormat="text").load()
    assert frame.count() == ROWS
    assert frame.where("body = '17'").select("bodyType", "destination").collect() == [("text", "queue:orders")]
    assert sum(bodies(url).values()) == ROWS

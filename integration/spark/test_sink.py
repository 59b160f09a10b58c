"""Real jobs that write to the embedded file broker, also with tasks and drivers that die."""

import os
import shutil
import signal
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


def _stream(spark: Any, url: str, folder: Path, files: Path) -> None:
    read = spark.readStream.schema("body string, messageId string").option("maxFilesPerTrigger", 1).parquet(str(files))
    query = (
        read.repartition(2, F.rand())  # another order and division for each run
        .writeStream.format("jms")
        .options(url=url, queue="orders", checkpointLocation=str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
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

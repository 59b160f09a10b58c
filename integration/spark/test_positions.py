"""Streams and batches by the positions of a broker, without a log: killed, restarted, divided, removed."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import jmsbridge
from integration.lab.broker import Broker
from integration.spark.brokers import WITH_POSITIONS
from integration.spark.killing import PATIENCE, Job
from integration.spark.observed import BY_POSITION
from jmsbridge.spark.source import JmsDataSource

pytestmark = [pytest.mark.server, pytest.mark.broker(WITH_POSITIONS[0]), pytest.mark.timeout(400)]

SENT, BATCH = 300, 100
SHORT = {"beginning logged, not planned", "in a task's read of positions"}
COLUMNS = ["body", "position", "lane"]


class PositionJob(Job):
    """A job by position; what it reads stays at the broker."""

    def send(self, numbers: range) -> None:
        """Send messages with these numbers, many of them in one entry."""
        with self.connect() as connection:
            session = connection.create_session()
            producer = session.create_producer(self.queue)
            sent = [producer.send_async(session.create_text_message(f"text {number}")) for number in numbers]
            for each in sent:
                each.result(60)

    def options(self, **more: Any) -> dict[str, str]:
        """The options of the source."""
        given = super().options(**{"offsets": "native", "startingOffsets": "earliest"} | more)
        del given["walPath"]
        return given

    def assert_each_is_one_row(self, spark: Any, count: int) -> None:
        """Rows = unique = sent."""
        rows = self.rows(spark)
        assert rows == {f"text {number}": 1 for number in range(count)}, (rows.total(), len(rows))


@pytest.fixture(scope="module")
def url(request: pytest.FixtureRequest) -> str:
    name, options = WITH_POSITIONS
    broker: Broker = request.getfixturevalue(name)
    return f"{broker.url()}?{options}"


@pytest.fixture
def job(tmp_path: Path, url: str) -> Iterator[PositionJob]:
    made = PositionJob(tmp_path, url, f"orders-{time.time_ns()}", batch=BATCH)
    made.send(range(SENT))
    yield made
    made.kill()


@pytest.fixture
def source(spark: Any) -> Any:
    spark.dataSource.register(JmsDataSource)
    return spark


def _plain(job: PositionJob, **more: str) -> dict[str, str]:
    given = {"url": job.url, "queue": job.queue.queue_name, "offsets": "native", "bodyFormat": "text"}
    return {**given, **more}


@pytest.mark.parametrize(
    "point", [pytest.param(each, marks=() if each in SHORT else pytest.mark.long) for each in BY_POSITION]
)
def test_killed_and_started_again_each_message_is_one_row(spark: Any, job: PositionJob, point: str) -> None:
    job.kill_at(point)
    job.send(range(SENT, SENT + 50))
    job.run(spark)
    job.assert_each_is_one_row(spark, SENT + 50)


@pytest.mark.long
@pytest.mark.parametrize("first", BY_POSITION)
def test_two_crashes(spark: Any, job: PositionJob, first: str) -> None:
    job.kill_at(first)
    job.send(range(SENT, SENT + 2 * BATCH))
    job.kill_at("in a task's read of positions")
    job.run(spark)
    job.assert_each_is_one_row(spark, SENT + 2 * BATCH)


def test_available_now_reads_what_was_there_in_batches(spark: Any, job: PositionJob) -> None:
    """Messages are not consumed: another query, and consumers, get them, too."""
    assert job.run(spark) == [BATCH] * 3
    assert job.run(spark) == []
    job.send(range(SENT, SENT + 5))
    assert job.run(spark) == [5]
    job.assert_each_is_one_row(spark, SENT + 5)
    assert len(job.take(SENT + 5)) == SENT + 5


def test_latest_begins_behind_what_is_there_also_when_the_first_batch_is_interrupted(
    spark: Any, job: PositionJob
) -> None:
    job.kill_at("beginning logged, not planned", startingOffsets="latest")
    job.send(range(1000, 1010))
    job.run(spark, startingOffsets="latest")
    assert set(job.rows(spark)) == {f"text {number}" for number in range(1000, 1010)}


def test_removed_messages_end_a_query_or_are_left_out(source: Any, job: PositionJob) -> None:
    """The position of an entry that never was is as one of an entry that was removed."""
    end = source.read.format("jms").options(**_plain(job)).load().select("position").collect()[-1].position
    gone = json.dumps({"0": "0:7:-1"})
    options = _plain(job, startingOffsets=gone, endingOffsets=json.dumps({"0": end}))
    with pytest.raises(Exception, match="are gone, or may be"):
        source.read.format("jms").options(**options).load().count()
    assert source.read.format("jms").options(**options, failOnDataLoss="false").load().count() == SENT


def test_a_batch_reads_a_range_and_each_action_the_same_one(source: Any, job: PositionJob) -> None:
    frame = source.read.format("jms").options(**_plain(job)).load().select(*COLUMNS)
    rows = frame.collect()
    assert [row.body for row in rows] == [f"text {number}" for number in range(SENT)]
    job.send(range(SENT, SENT + 5))
    assert frame.union(frame).count() == 2 * SENT
    ends = json.dumps({"0": rows[99].position}), json.dumps({"0": rows[199].position})
    options = _plain(job, startingOffsets=ends[0], endingOffsets=ends[1])
    found = source.read.format("jms").options(**options).load().select(*COLUMNS).collect()
    assert found == rows[100:200]


def test_a_large_batch_is_divided_among_tasks(source: Any, url: str, tmp_path: Path) -> None:
    job = PositionJob(tmp_path, url, f"many-{time.time_ns()}", batch=5000)
    job.send(range(5000))
    options = _plain(job, startingOffsets="earliest", maxMessagesPerTrigger="4000", minPartitions="3")
    counted: list[tuple[int, int]] = []

    def count(frame: Any, number: int) -> None:
        counted.append((frame.rdd.getNumPartitions(), frame.count()))

    stream = source.readStream.format("jms").options(**options).load()
    query = stream.writeStream.foreachBatch(count).option("checkpointLocation", f"{tmp_path}/checkpoint")
    assert query.trigger(availableNow=True).start().awaitTermination(PATIENCE)
    assert [rows for _, rows in counted] == [0, 4000, 1000]
    assert counted[1][0] == 3


def test_a_broker_without_positions_is_refused(source: Any, tmp_path: Path) -> None:
    options = {"url": f"embedded:{tmp_path / 'broker.db'}", "queue": "orders", "offsets": "native"}
    with pytest.raises(Exception, match="is not read by position"):
        source.read.format("jms").options(**options).load().count()


def test_a_checkpoint_of_another_source_is_refused(spark: Any, job: PositionJob) -> None:
    job.run(spark)
    job.queue = jmsbridge.Queue(f"{job.queue.queue_name}-other")
    job.send(range(3))
    with pytest.raises(Exception, match="the checkpoint is of queue:orders"):
        job.run(spark)

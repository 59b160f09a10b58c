"""The streaming source as real jobs, each in processes of its own, on an embedded file broker; killed and restarted."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow.dataset
import pytest

import jmsbridge
from integration.spark.streaming_job import POINTS

pytestmark = [pytest.mark.server, pytest.mark.timeout(400)]

SENT, BATCH = 300, 100
ORDERS = jmsbridge.Queue("orders")
SHORT = [
    "received, not in the log",
    "on disk, not acknowledged",
    "acknowledged, not marked",
    "planned, not read",
    "in a task's read",
    "batch finished, not yet told",
]
_PATIENCE = 180.0  # seconds for a job, or for the point at which it stops; Spark alone needs 10 to start
_AT_ONCE = ("in a task's read", "batch finished, not yet told", "low is written, segment not deleted")


class Job:
    """A folder with a broker, a log, a checkpoint and the rows that were written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.url = f"embedded:{folder / 'broker.db'}"

    def send(self, numbers: range) -> None:
        with jmsbridge.connect(self.url) as connection:
            session = connection.create_session(True)
            producer = session.create_producer(ORDERS)
            for number in numbers:
                message = session.create_text_message(f"text {number}")
                message.set_int_property("n", number)
                producer.send(message)
            session.commit()

    def start(self, point: str = "none", **options: Any) -> "subprocess.Popen[str]":
        given = {"queue": "orders", "maxMessagesPerTrigger": str(BATCH), "bodyFormat": "text"} | options
        before = "0" if point in _AT_ONCE else "1"
        command = [sys.executable, "-m", "integration.spark.streaming_job", self.url, str(self.folder)]
        return subprocess.Popen(
            [*command, json.dumps(given), point, before], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def run(self, **options: Any) -> list[int]:
        """Start it and wait for its end; the number of rows of each batch."""
        job = self.start(**options)
        try:
            out, errors = job.communicate(timeout=_PATIENCE)
        finally:
            self.kill()
        assert job.returncode == 0, errors[-5000:]
        counts: list[int] = json.loads(out)
        return [count for count in counts if count]

    def kill(self) -> None:
        """SIGKILL for every process of the job: the driver, Java, the source, the tasks' workers."""
        mine = f"JOB_FOLDER={self.folder}\0".encode()
        for _ in range(2):  # the second time for what was being started
            for process in Path("/proc").glob("[0-9]*"):
                with contextlib.suppress(OSError):
                    environment = (process / "environ").read_bytes() + b"\0"
                    command = (process / "cmdline").read_bytes()
                    if mine in environment or b"streaming_job\0" + self.url.encode() in command:
                        os.kill(int(process.name), signal.SIGKILL)

    def rows(self, *columns: str) -> list[tuple[Any, ...]]:
        found = pyarrow.dataset.dataset(self.folder / "rows", format="parquet", exclude_invalid_files=True)
        table = found.to_table(list(columns) or None).to_pylist()
        return [tuple(row.values()) for row in table]

    def left(self) -> int:
        with jmsbridge.connect(self.url) as connection:
            return sum(1 for _ in connection.create_session().create_browser(ORDERS))

    def assert_exactly_once(self, count: int) -> None:
        bodies = [body for (body,) in self.rows("body")]
        assert len(bodies) == len(set(bodies)) == count
        assert self.left() == 0

    def calls(self) -> list[str]:
        return (self.folder / "calls").read_text(encoding="ascii").split()


@pytest.fixture
def job(tmp_path: Path) -> Any:
    made = Job(tmp_path)
    made.send(range(SENT))
    yield made
    made.kill()


def test_each_run_reads_what_is_new_and_spark_calls_in_the_known_order(job: Job) -> None:
    """A Spark that calls in another order needs a look at ``stream.py``."""
    assert job.run() == [BATCH] * 3
    assert job.calls() == [
        *("prepareForTriggerAvailableNow", "getDefaultReadLimit", "initialOffset", "latestOffset"),
        *("initialOffset", "partitions"),
        *("latestOffset", "commit", "partitions"),
        *("latestOffset", "commit", "partitions"),
        "latestOffset",  # nothing new: the end, without a commit of the last batch
    ]
    job.send(range(SENT, SENT + 20))
    assert job.run() == [20]
    job.assert_exactly_once(SENT + 20)


@pytest.mark.parametrize(
    "point", [pytest.param(each, marks=() if each in SHORT else pytest.mark.long) for each in POINTS]
)
def test_killed_and_started_again_each_message_is_one_row(job: Job, point: str) -> None:
    running = job.start(point)
    deadline = time.monotonic() + _PATIENCE
    while not (job.folder / "reached").exists():
        assert running.poll() is None, running.communicate()[1][-5000:]
        assert time.monotonic() < deadline, f"the job did not come to: {point}"
        time.sleep(0.1)  # sleep: a file of another process wakes nobody
    job.kill()
    running.communicate()
    job.run()
    job.assert_exactly_once(SENT)

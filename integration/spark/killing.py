"""A queue, a job over it that can be killed at a point, and what must hold after the last run: for the crash matrix."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import jmsbridge
from integration.spark.observed import Observed

__all__ = ["PATIENCE", "Job", "kill_all"]

PATIENCE = 180.0
"""Seconds for a job, or for the point at which it stops; Spark alone needs 10 to start on a machine at work."""


def kill_all(folder: Path) -> None:
    """SIGKILL for every process of the job whose variable JOB_FOLDER this is: driver, Java, source, tasks' workers."""
    mine = f"JOB_FOLDER={folder}\0".encode()
    for _ in range(2):  # the second time for what was being started
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if mine in (process / "environ").read_bytes() + b"\0":
                    os.kill(int(process.name), signal.SIGKILL)


class Job:
    """A folder with the log, the checkpoint and the rows that were written, and a queue of numbered messages.

    Runs are in the test's session of Spark, ``start`` is a process of its own, which can be killed with all of its own.
    """

    def __init__(self, folder: Path, url: str, queue: str = "orders", batch: int = 100, **options: str) -> None:
        self.folder = folder
        self.url = url
        self.queue = jmsbridge.Queue(queue)
        self.batch = batch
        self.login = options

    def connect(self) -> jmsbridge.Connection:
        """A connection of the test, or of another consumer."""
        file = self.login.get("passwordFile")
        password = None if file is None else Path(file).read_text(encoding="utf-8")
        return jmsbridge.connect(self.url, user=self.login.get("user"), password=password)

    def send(self, numbers: range) -> None:
        """Send messages with these numbers."""
        with self.connect() as connection:
            session = connection.create_session(True)
            producer = session.create_producer(self.queue)
            for number in numbers:
                message = session.create_text_message(f"text {number}")
                message.set_int_property("n", number)
                producer.send(message)
            session.commit()

    def take(self, count: int) -> set[str]:
        """Another consumer: receive so many messages for good, and return their bodies."""
        taken: set[str] = set()
        with self.connect() as connection:
            connection.start()
            consumer = connection.create_session().create_consumer(self.queue, prefetch=1)
            while len(taken) < count:
                message = consumer.receive(timeout=20)
                assert message is not None
                taken.add(str(message.get_body(str)))
        return taken

    def to_tail(self, selector: str) -> int:
        """Move these messages behind all others, as a broker that requeues at the tail; returns their number."""
        aside = jmsbridge.Queue("aside")
        with self.connect() as connection:
            moved = connection.admin.move(self.queue, aside, selector)
            if moved:  # else there is no such queue
                assert connection.admin.move(aside, self.queue) == moved
        return moved

    def options(self, **more: Any) -> dict[str, str]:
        """The options of the source."""
        given = {"url": self.url, "queue": self.queue.queue_name, "walPath": f"{self.folder}/log"} | self.login
        given |= {"maxMessagesPerTrigger": str(self.batch), "bodyFormat": "text", "observedFolder": str(self.folder)}
        return given | {name: str(value) for name, value in more.items()}

    def begin(self, spark: Any, **options: Any) -> Any:
        """Start a query with AvailableNow in this session, where the source is ``observed``."""
        spark.dataSource.register(Observed)
        stream = spark.readStream.format("observed").options(**self.options(**options)).load()
        files = stream.writeStream.format("parquet").option("path", f"{self.folder}/rows")
        return files.option("checkpointLocation", f"{self.folder}/checkpoint").trigger(availableNow=True).start()

    def run(self, spark: Any, **options: Any) -> list[int]:
        """A whole run in this session; the number of rows of each batch."""
        query = self.begin(spark, **options)
        try:
            assert query.awaitTermination(PATIENCE), "the run does not end"
        finally:
            query.stop()
        return [progress.numInputRows for progress in query.recentProgress if progress.numInputRows]

    def source_dies(self, spark: Any, point: str, **options: Any) -> None:
        """A run in this session whose source process gets SIGKILL at the point, which ends the query with an error."""
        (self.folder / "reached").unlink(missing_ok=True)
        query = self.begin(spark, observedPoint=point, observedFate="dies", **options)
        with pytest.raises(Exception) as caught:  # Spark has no type and no text for it
            query.awaitTermination(PATIENCE)
        assert (self.folder / "reached").exists(), caught.value

    def start(self, **options: Any) -> "subprocess.Popen[str]":
        """Start a process of its own with Java, source and workers of its own."""
        command = [sys.executable, "-m", "integration.spark.streaming_job", str(self.folder)]
        given = json.dumps(self.options(**options))
        env = os.environ | {"JOB_FOLDER": str(self.folder)}
        return subprocess.Popen([*command, given], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def start_to(self, point: str, fate: str = "stands", **options: Any) -> "subprocess.Popen[str]":
        """``start``, and wait until it has come to the point."""
        (self.folder / "reached").unlink(missing_ok=True)
        running = self.start(observedPoint=point, observedFate=fate, **options)
        deadline = time.monotonic() + PATIENCE
        while not (self.folder / "reached").exists():
            assert running.poll() is None, running.communicate()[1][-5000:]
            assert time.monotonic() < deadline, f"the job did not come to: {point}"
            time.sleep(0.1)  # sleep: a file of another process wakes nobody
        return running

    def kill_at(self, point: str, **options: Any) -> None:
        """``start_to``, then SIGKILL for every process of the job."""
        running = self.start_to(point, **options)
        self.kill()
        running.communicate()

    def kill(self) -> None:
        """SIGKILL for every process of the job."""
        kill_all(self.folder)

    def rows(self, spark: Any) -> Counter[str]:
        """The bodies in the files of finished batches."""
        return Counter(row.body for row in spark.read.parquet(f"{self.folder}/rows").select("body").collect())

    def left(self) -> int:
        """How many messages can still be received; they are gone then."""
        count = 0
        with self.connect() as connection:
            connection.start()
            consumer = connection.create_session().create_consumer(self.queue)
            while consumer.receive(timeout=1) is not None:
                count += 1
        return count

    def assert_exactly_once(self, spark: Any, count: int, besides: set[str] | None = None) -> None:
        """Each message is one row, or was taken by another consumer; nothing is left."""
        rows, wanted = self.rows(spark), {f"text {number}" for number in range(count)}
        twice = [body for body, times in rows.items() if times > 1]
        assert not twice, f"{len(twice)} rows are twice"
        lost = wanted - rows.keys() - (besides or set())
        assert not lost, f"{len(lost)} messages are lost"
        assert rows.keys() <= wanted
        assert self.left() == 0

    def calls(self) -> list[str]:
        """What Spark has called in the source's process."""
        return (self.folder / "calls").read_text(encoding="ascii").split()

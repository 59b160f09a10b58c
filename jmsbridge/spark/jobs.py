"""Pipelines as jobs: from the command line or a TOML file, with progress, until they end or Ctrl-C."""

import logging
import os
import re
import signal
import sys
import threading
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from datetime import datetime
from pathlib import Path
from types import FrameType
from typing import Any, ClassVar

import msgspec
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import (
    AnalysisException,
    IllegalArgumentException,
    PySparkException,
    UnsupportedOperationException,
)
from pyspark.logger import PySparkLogger
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from jmsbridge.cli.printing import print_json
from jmsbridge.cli.progress import counting
from jmsbridge.cli.running import OK, note, reporting
from jmsbridge.cli.tables import print_rows
from jmsbridge.core.runtime.signals import handling_stops
from jmsbridge.errors import ConfigurationError, JMSException
from jmsbridge.spark import pipelines
from jmsbridge.spark.pipelines import AVAILABLE_NOW

__all__ = ["Analyse", "Archive", "Bridge", "DlqReport", "Drain", "Job", "Replay", "job_of", "run"]

_POLL = 0.5
_CAUSE = re.compile(r"^jmsbridge\.(?:[a-z_]+\.)*(\w+): (.+)$", re.MULTILINE)
_FAILURES = (PySparkException, Py4JError, OSError)
_REFUSALS = (AnalysisException, IllegalArgumentException, UnsupportedOperationException)
_OF_THE_INPUT = ("PATH_NOT_FOUND", "UNABLE_TO_INFER_SCHEMA", "PYTHON_DATA_SOURCE_ERROR")
"""Conditions of an AnalysisException that are no mistake in the settings."""
_WITH_TRACES = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
"""Loggers of Spark that print each refusal with Java's trace."""


class Job(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, tag_field="pipeline"):
    """What all jobs share. The names in a file are those of the fields."""

    verb: ClassVar[str] = ""
    """What the job has done with each message."""

    def check(self) -> None:
        """ConfigurationError if the job cannot run with these settings; without Spark, whose start takes long."""
        raise NotImplementedError

    def start(self, spark: SparkSession) -> StreamingQuery | None:
        """Start the query; None if there is nothing to wait for, since the job has printed what it found."""
        raise NotImplementedError


class _Reading(Job, kw_only=True):
    source: dict[str, Any]
    """Options of ``spark.readStream.format("jms")``, without walPath."""
    root: str
    """The folder of the job's log and checkpoint."""
    trigger: str = AVAILABLE_NOW

    def check(self) -> None:
        """See ``Job.check``."""
        pipelines.check_source(self.source, self.root)
        pipelines.check_trigger(self.trigger)


class Bridge(_Reading, kw_only=True, tag="bridge"):
    """``pipelines.bridge``."""

    verb = "moved"
    sink: dict[str, Any]
    transform: str | None = None

    def check(self) -> None:
        """See ``Job.check``."""
        pipelines.check_bridge(self.source, self.sink, self.root)
        pipelines.check_trigger(self.trigger)

    def start(self, spark: SparkSession) -> StreamingQuery:
        """See ``pipelines.bridge``."""
        return pipelines.bridge(
            spark, self.source, self.sink, root=self.root, transform=self.transform, trigger=self.trigger
        )


class Archive(_Reading, kw_only=True, tag="archive"):
    """``pipelines.archive``."""

    verb = "archived"
    to: str

    def start(self, spark: SparkSession) -> StreamingQuery:
        """See ``pipelines.archive``."""
        return pipelines.archive(spark, self.source, self.to, root=self.root, trigger=self.trigger)


class Drain(_Reading, kw_only=True, tag="drain"):
    """Consumes a queue into files of a format, in one folder."""

    verb = "drained"
    to: str
    format: str = "parquet"

    def check(self) -> None:
        """See ``Job.check``."""
        super().check()
        pipelines.check_format(self.format, self.source)

    def start(self, spark: SparkSession) -> StreamingQuery:
        """See ``pipelines.drained_to``."""
        return pipelines.drained_to(spark, self.source, self.to, self.format, root=self.root, trigger=self.trigger)


class Analyse(_Reading, kw_only=True, tag="analyse"):
    """``pipelines.analyse``."""

    verb = "analysed"
    to: str
    by: list[str] = []
    value: str | None = None
    window: str = "1 hour"
    delay: str = "10 minutes"

    def check(self) -> None:
        """See ``Job.check``."""
        super().check()
        pipelines.check_names(self.by, self.value)

    def start(self, spark: SparkSession) -> StreamingQuery:
        """See ``pipelines.analyse``."""
        return pipelines.analyse(
            spark,
            self.source,
            self.to,
            root=self.root,
            by=self.by,
            value=self.value,
            window=self.window,
            delay=self.delay,
            trigger=self.trigger,
        )


class Replay(Job, kw_only=True, tag="replay"):
    """``pipelines.replay``."""

    verb = "sent"
    archived: str
    sink: dict[str, Any]
    root: str | None = None
    where: str | None = None
    rate: int | None = None
    dry_run: bool = False

    def check(self) -> None:
        """See ``Job.check``."""
        pipelines.check_replay(self.sink, self.rate)
        if self.root is None and not self.dry_run:
            raise ConfigurationError("root is missing: the folder in which the job notes what it has sent")

    def start(self, spark: SparkSession) -> StreamingQuery | None:
        """See ``pipelines.replay``; with ``dry_run`` prints ``pipelines.replay_counts``."""
        if self.dry_run:
            _print(pipelines.replay_counts(spark, self.archived, self.sink, self.where), as_json=False)
            return None
        root = str(self.root)
        return pipelines.replay(spark, self.archived, self.sink, root=root, where=self.where, rate=self.rate)


class DlqReport(Job, kw_only=True, tag="dlq-report"):
    """``pipelines.dlq_report``."""

    source: dict[str, Any]
    json: bool = False

    def check(self) -> None:
        """See ``Job.check``."""
        pipelines.check_letters(self.source)

    def start(self, spark: SparkSession) -> None:
        """Print the report."""
        _print(pipelines.dlq_report(spark, self.source), as_json=self.json)


def job_of(path: Path) -> Job:
    """The job of a TOML file; ConfigurationError says what is wrong with it."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
        return msgspec.convert(document, Bridge | Archive | Replay | Drain | DlqReport | Analyse)
    except OSError as error:
        raise ConfigurationError(f"cannot read {str(path)!r}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise ConfigurationError(f"{path}: {error}") from None


def run(job: Job) -> int:
    """Run a job in the session of the environment, as ``spark-submit`` sets it up."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    job.check()
    with _explained():
        spark = SparkSession.builder.appName(f"jmsbridge {type(job).__name__.lower()}").getOrCreate()
        try:
            query = job.start(spark)
            if query is not None:
                _wait(query, job.verb, spark)
        finally:
            _stop(spark)
    return OK


def _stop(spark: SparkSession) -> None:
    """Stop Spark, unless a signal to all processes has ended its Java already, of which py4j would print a trace."""
    logging.disable()
    try:
        with suppress(Py4JError, OSError):
            spark.stop()
    finally:
        logging.disable(logging.NOTSET)


def _wait(query: StreamingQuery, verb: str, spark: SparkSession) -> None:
    """Show progress until the query ends; Ctrl-C and SIGTERM stop it, and the next run goes on from there."""
    progress = _Progress()

    def report(whole: bool) -> None:
        with nullcontext() if whole else suppress(*_FAILURES):
            progress.add(query)
        note(f"{'' if whole else 'at least '}{progress.rows} {verb}{progress.guarantee}")

    with reporting(report), counting(verb) as show, _asked_to_stop() as asked, _interrupted(asked):
        try:
            while not query.awaitTermination(_POLL):
                progress.add(query)
                show(progress.rows)
                if asked.is_set():
                    _silence(spark)
                    raise KeyboardInterrupt
        finally:
            query.stop()


@contextmanager
def _interrupted(asked: threading.Event) -> Iterator[None]:
    """What fails after the process was asked to stop is no error of the job: Spark's Java may have been asked, too."""
    try:
        yield
    except _FAILURES as error:
        if not asked.is_set():
            raise
        raise KeyboardInterrupt from error


def _silence(spark: SparkSession) -> None:
    """Spark is about to kill tasks, each with a trace."""
    with suppress(PySparkException):  # over Spark Connect the log is that of the server
        spark.sparkContext.setLogLevel("OFF")


class _Progress:
    def __init__(self) -> None:
        self.rows = 0
        self.guarantee = ""
        self._seen = -1

    def add(self, query: StreamingQuery) -> None:
        """Add the batches that have ended since the last call."""
        for each in query.recentProgress:
            if each.batchId > self._seen:
                self._seen = each.batchId
                self.rows += each.numInputRows
            latest = msgspec.json.decode(each.sources[0].latestOffset or "null")
            if isinstance(latest, dict) and "guarantee" in latest:
                self.guarantee = f", received {latest['guarantee']}"


@contextmanager
def _asked_to_stop() -> Iterator[threading.Event]:
    """Set by Ctrl-C and SIGTERM, while a query runs; what comes after the first raises KeyboardInterrupt at once.

    An exception, or Spark's own handler of Ctrl-C, which cancels the jobs, would come in the middle of a call to Java
    and leave its connection in disorder.
    """
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return

    def stop(number: int, frame: FrameType | None) -> None:
        if asked.is_set():
            signal.default_int_handler(number, frame)
        asked.set()
        logging.disable()  # until ``_stop``: py4j prints a trace of a call in which Java ends, which may be asked, too

    with handling_stops(stop):
        yield asked


@contextmanager
def _explained() -> Iterator[None]:
    """The errors of Spark as those of jmsbridge, without Java's and Python's traces."""
    for name in _WITH_TRACES:
        PySparkLogger.getLogger(name).disabled = True
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        causes = _CAUSE.findall(str(error))
        if causes:
            name, text = causes[-1]
            raise (ConfigurationError if name == "ConfigurationError" else JMSException)(text) from error
        told = error.java_exception.getMessage() if isinstance(error, Py4JJavaError) else error
        text = str(told).strip().partition("\n")[0]
        raise (ConfigurationError if _is_of_settings(error, text) else JMSException)(text) from error


def _is_of_settings(error: Exception, text: str) -> bool:
    """Whether Spark refuses a query, a format or an interval: what a running query fails with is of other kinds."""
    if isinstance(error, Py4JJavaError):
        return "[DATA_SOURCE_NOT_FOUND]" in text
    return isinstance(error, _REFUSALS) and not any(f"[{name}" in text for name in _OF_THE_INPUT)


def _print(rows: DataFrame, *, as_json: bool) -> None:
    found = [tuple(row) for row in rows.collect()]
    if as_json:
        for row in found:
            texts = [each.isoformat() if isinstance(each, datetime) else each for each in row]
            print_json(dict(zip(rows.columns, texts, strict=True)))
    else:
        print_rows(rows.columns, [tuple("-" if each is None else each for each in row) for row in found])

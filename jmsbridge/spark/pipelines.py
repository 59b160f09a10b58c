"""Ready pipelines over ``format("jms")``. Each keeps its log and checkpoint together in ``root`` and can be restarted.

A pipeline that is stopped or killed continues where it was when it is started with the same ``root``.
"""

import importlib
import re
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import DataStreamWriter, StreamingQuery

from jmsbridge.config.suggest import nearest
from jmsbridge.errors import ConfigurationError
from jmsbridge.spark.options import (
    BrowseOptions,
    ReadOptions,
    WriteOptions,
    browse_options,
    converted,
    read_options,
    write_options,
)
from jmsbridge.spark.ownership import claim
from jmsbridge.spi import DEAD_LETTER_ORIGIN, DEAD_LETTER_REASON

__all__ = [
    "AVAILABLE_NOW",
    "Options",
    "Transform",
    "analyse",
    "archive",
    "bridge",
    "check_bridge",
    "check_format",
    "check_letters",
    "check_names",
    "check_replay",
    "check_sink",
    "check_source",
    "check_trigger",
    "dlq_report",
    "drain",
    "drained_to",
    "replay",
    "replay_counts",
    "replayed",
]

AVAILABLE_NOW = "available-now"
"""The trigger of a run that ends with what is in the queue when it starts; others are intervals: ``10 seconds``."""

Options = Mapping[str, Any]
Transform = Callable[[DataFrame], DataFrame] | str
"""A function, its name as ``module:function``, or a query in SQL over the view ``messages``."""

_FUNCTION = re.compile(r"[\w.]+:\w+")
_PART = r"[+-]?\s*\d*\.?\d+\s+(?:microsecond|millisecond|second|minute|hour|day|week)s?"
_INTERVAL = re.compile(rf"\s*(?:interval\s+)?{_PART}(?:\s+{_PART})*\s*", re.IGNORECASE)
_TABLES = ("json", "orc", "parquet")
_NEED_MORE = {
    "csv": "it has no maps, as properties are: give includeProperties=false to the source",
    "text": "it has one column",
    "xml": "it needs the option rowTag: write this as a query of Spark",
}
"""Formats of Spark that cannot hold messages as they are, and why."""


def bridge(
    spark: SparkSession,
    source: Options,
    sink: Options,
    *,
    root: str,
    transform: Transform | None = None,
    trigger: str = AVAILABLE_NOW,
) -> StreamingQuery:
    """Move the messages of a queue or durable subscription to another broker, as they are or changed.

    Without a queue or topic in ``sink`` each goes to the destination of the same name.
    """
    check_bridge(source, sink, root)
    messages = _messages(spark, source, root)
    rows = messages if transform is None else _transformed(spark, messages, transform)
    return _start(rows.writeStream.format("jms").options(**_texts(sink)), root, trigger)


def check_bridge(source: Options, sink: Options, root: str) -> None:
    """ConfigurationError if ``bridge`` would not take these options."""
    options, limits = check_sink(sink), check_source(source, root)
    if options.dedup_column is not None and limits.max_messages_per_trigger > options.duplicate_window:
        raise ConfigurationError(
            f"maxMessagesPerTrigger is {limits.max_messages_per_trigger}, but the broker remembers only "
            f"{options.duplicate_window} ids (duplicateWindow): use smaller batches"
        )


def check_source(source: Options, root: str) -> ReadOptions:
    """The options of a pipeline's source; ConfigurationError says what is wrong."""
    return read_options(_with_log(source, root))


def check_sink(sink: Options) -> WriteOptions:
    """The options of a pipeline's sink; ConfigurationError says what is wrong."""
    return write_options(_texts(sink))


def check_replay(sink: Options, rate: int | None) -> WriteOptions:
    """The options of ``replay``'s sink; ConfigurationError says what is wrong with them or the rate."""
    if rate is not None and rate < 1:
        raise ConfigurationError(f"rate is {rate}: give at least one message a second, or leave it out for no limit")
    return check_sink(sink)


def check_trigger(trigger: str) -> None:
    """ConfigurationError unless it is one of Spark's intervals, or ``AVAILABLE_NOW``."""
    if trigger != AVAILABLE_NOW and not _INTERVAL.fullmatch(trigger):
        raise ConfigurationError(
            f"trigger is {trigger!r}: give an interval in words, such as '10 seconds' or '1 minute 30 seconds', or "
            f"{AVAILABLE_NOW!r}"
        )


def check_format(form: str, source: Options) -> None:
    """ConfigurationError for a format that cannot hold messages, or that has nearly the name of another one."""
    name = form.lower()
    has_maps = converted(ReadOptions, _texts(source)).include_properties
    if name in _NEED_MORE and (has_maps or name != "csv"):
        raise ConfigurationError(f"format {form} cannot be written: {_NEED_MORE[name]}, or use {', '.join(_TABLES)}")
    if name not in _TABLES and get_close_matches(name, _TABLES):
        raise ConfigurationError(f"unknown format {form!r}: {nearest(name, _TABLES, 'formats')}")


def check_letters(source: Options) -> BrowseOptions:
    """The options of ``dlq_report``; ConfigurationError says what is wrong."""
    return browse_options(_texts(source))


def archive(
    spark: SparkSession, source: Options, to: str, *, root: str, trigger: str = AVAILABLE_NOW
) -> StreamingQuery:
    """Move messages into Parquet files at ``to``, in folders by date and destination, each exactly once."""
    rows = _messages(spark, source, root).withColumn("date", F.to_date(_sent()))
    writer = _into_files(rows, source, to, "parquet", root).partitionBy("date", "destination")
    return _start(writer, root, trigger)


def replayed(spark: SparkSession, archived: str, where: str | None = None) -> DataFrame:
    """What ``replay`` would send, as a batch."""
    return _chosen(spark.read.parquet(archived), where)


def replay_counts(spark: SparkSession, archived: str, sink: Options, where: str | None = None) -> DataFrame:
    """How many messages ``replay`` would send to each destination, and how many of them would expire at once."""
    rows = replayed(spark, archived, where)
    expires = "expiration" in rows.columns and check_sink(sink).ttl is None
    is_over = F.col("expiration") <= F.current_timestamp() if expires else F.lit(False)
    counts = F.count("*").alias("count"), F.count_if(is_over).alias("expired")
    return rows.groupBy("destination").agg(*counts).orderBy("destination")


def replay(
    spark: SparkSession,
    archived: str,
    sink: Options,
    *,
    root: str,
    where: str | None = None,
    rate: int | None = None,
) -> StreamingQuery:
    """Send archived messages, file by file, those for which ``where`` holds, at most ``rate`` a second.

    With the same ``root``, a later run sends what was archived since.
    """
    check_replay(sink, rate)
    target = _texts(sink) | ({} if rate is None else {"maxRate": str(rate)})
    schema = spark.read.parquet(archived).schema
    files = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(archived)
    rows = _chosen(files, where).coalesce(1)
    return _start(rows.writeStream.format("jms").options(**target), root, AVAILABLE_NOW)


def drain(spark: SparkSession, source: Options, each: Callable[[DataFrame, int], None], *, root: str) -> StreamingQuery:
    """Consume what is in a queue now: ``each`` gets it in batches, each with its number.

    After a failure the last batch comes again with the same number and rows.
    """
    return _start(_messages(spark, source, root).writeStream.foreachBatch(each), root, AVAILABLE_NOW)


def drained_to(
    spark: SparkSession, source: Options, to: str, form: str, *, root: str, trigger: str = AVAILABLE_NOW
) -> StreamingQuery:
    """``drain`` into files of this format in one folder, each message exactly once."""
    check_format(form, source)
    return _start(_into_files(_messages(spark, source, root), source, to, form, root), root, trigger)


def dlq_report(spark: SparkSession, source: Options) -> DataFrame:
    """The dead letters of a queue by origin and reason: how many, and since when. They stay in the queue."""
    letters = spark.read.format("jms").options(**_texts(source)).load()
    properties = F.col("properties")
    return (
        letters.groupBy(properties[DEAD_LETTER_ORIGIN].alias("origin"), properties[DEAD_LETTER_REASON].alias("reason"))
        .agg(F.count("*").alias("count"), F.min("timestamp").alias("oldest"), F.max("timestamp").alias("newest"))
        .orderBy(F.desc("count"), "origin", "reason")
    )


def analyse(  # size: one parameter per setting of the aggregation
    spark: SparkSession,
    source: Options,
    to: str,
    *,
    root: str,
    by: Sequence[str] = (),
    value: str | None = None,
    window: str = "1 hour",
    delay: str = "10 minutes",
    trigger: str = AVAILABLE_NOW,
) -> StreamingQuery:
    """Count messages by time window and by properties ``by``, into Parquet files at ``to``.

    ``value`` names a property whose sum, least, greatest and mean are added. A window is written, once, when a message
    is seen that was sent ``delay`` after its end; messages that come later than that are left out. A message without
    a timestamp counts as sent when it is read.
    """
    check_names(by, value)
    rows = _messages(spark, source, root).withColumn("timestamp", _sent()).withWatermark("timestamp", delay)
    properties = F.col("properties")
    keys = [F.window("timestamp", window).alias("window"), *(properties[name].alias(name) for name in by)]
    found: list[Column] = [F.count("*").alias("count")]
    if value is not None:
        number = properties[value].try_cast("double")
        found += [F.sum(number).alias("sum"), F.min(number).alias("min"), F.max(number).alias("max")]
        found.append(F.avg(number).alias("mean"))
    table = rows.groupBy(*keys).agg(*found)
    start, end = F.col("window.start").alias("start"), F.col("window.end").alias("end")
    flat = table.select(start, end, *(column for column in table.columns if column != "window"))
    return _start(_into_files(flat, source, to, "parquet", root), root, trigger)


def check_names(by: Sequence[str], value: str | None) -> None:
    """ConfigurationError for a property that has the name of another column of the table."""
    own = {"window", "start", "end", "count"} | (set() if value is None else {"sum", "min", "max", "mean"})
    for name in by:
        if name.lower() in own:
            raise ConfigurationError(
                f"by: the table has a column {name.lower()!r} of its own, or a property is named twice: "
                "write this analysis as a query of Spark"
            )
        own.add(name.lower())


def _sent() -> Column:
    """When a message was sent; for one that does not say so, when it was read."""
    return F.coalesce(F.col("timestamp"), F.current_timestamp())


def _messages(spark: SparkSession, source: Options, root: str) -> DataFrame:
    return spark.readStream.format("jms").options(**_with_log(source, root)).load()


def _with_log(source: Options, root: str) -> dict[str, str]:
    given = _texts(source)
    if any(name.lower() == "walpath" for name in given):
        raise ConfigurationError("leave out walPath: a pipeline keeps its log in root, beside its checkpoint")
    return {**given, "walPath": f"{root}/log"}


def _into_files(rows: DataFrame, source: Options, to: str, form: str, root: str) -> DataStreamWriter:
    """Writes files of a folder that belongs to this pipeline; ConfigurationError if it is another one's."""
    claim(rows.sparkSession, to, form, Path(str(check_source(source, root).wal_path)).parent)
    return rows.writeStream.format(form).option("path", to)


def _start(writer: DataStreamWriter, root: str, trigger: str) -> StreamingQuery:
    writer = writer.option("checkpointLocation", f"{root}/checkpoint")
    if trigger == AVAILABLE_NOW:
        return writer.trigger(availableNow=True).start()
    return writer.trigger(processingTime=trigger).start()


def _transformed(spark: SparkSession, messages: DataFrame, transform: Transform) -> DataFrame:
    if not isinstance(transform, str):
        return transform(messages)
    if _FUNCTION.fullmatch(transform):
        return _function(transform)(messages)
    messages.createOrReplaceTempView("messages")
    return spark.sql(transform)


def _function(name: str) -> Callable[[DataFrame], DataFrame]:
    module, _, function = name.partition(":")
    try:
        found: Callable[[DataFrame], DataFrame] = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise ConfigurationError(f"transform {name!r} cannot be imported: {error}") from None
    return found


def _chosen(rows: DataFrame, where: str | None) -> DataFrame:
    return (rows if where is None else rows.where(where)).drop("date")


def _texts(options: Options) -> dict[str, str]:
    """Options as texts, as Spark wants them: true and false in lower case."""
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in options.items()}

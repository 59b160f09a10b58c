"""A folder of files belongs to one pipeline, and to one checkpoint of it.

Spark's file sink numbers the batches of a folder, and writes none whose number the folder has already. Those of another
pipeline have numbers of their own, and with a new checkpoint numbers begin anew: such batches would be taken from the
queue and never be written.
"""

import uuid
from pathlib import Path

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from jmsbridge.errors import ConfigurationError
from jmsbridge.spark.files import write_whole
from jmsbridge.spark.options import local_path

__all__ = ["claim"]

_FORMATS = frozenset({"avro", "csv", "json", "orc", "parquet", "text", "xml"})
"""Those that Spark's file sink writes; other formats tell queries apart by themselves."""


def claim(spark: SparkSession, to: str, form: str, root: Path) -> None:
    """Note in a folder that the pipeline in ``root`` writes it; ConfigurationError if another one does."""
    if form.lower() not in _FORMATS:
        return
    own = _own(root)
    mark = f"{to}/_jmsbridge"
    owners = _owners(spark, mark)
    is_behind = _last_batch(f"{to}/_spark_metadata") > _last_batch(f"{root}/checkpoint/offsets")  # as from a backup
    if is_behind or (owners and own not in owners):
        raise ConfigurationError(
            f"{to} has the files of another stream, with a root or checkpoint other than that in {root}: Spark would "
            "not write batches whose numbers it has. Give a new folder, or the root and checkpoint it was begun with"
        )
    if owners:
        return
    spark.createDataFrame([(own,)], "value string").coalesce(1).write.mode("overwrite").text(mark)


def _own(root: Path) -> str:
    """What identifies the pipeline in this folder; it is gone with its checkpoint."""
    path = root / "checkpoint" / "pipeline"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, str(uuid.uuid4()).encode())
    return path.read_text(encoding="ascii")


def _last_batch(folder: str) -> int:
    """The highest number of the files that Spark keeps for batches; -1 if it has none, or the folder is elsewhere."""
    path = local_path(folder)
    names = (each.name.removesuffix(".compact") for each in Path(path).glob("*")) if path is not None else ()
    return max((int(name) for name in names if name.isdigit()), default=-1)


def _owners(spark: SparkSession, mark: str) -> list[str]:
    """Which pipelines have claimed it."""
    try:
        # Given alone, a path that does not exist makes Spark print a trace.
        return [row[0] for row in spark.read.text([mark, mark]).distinct().collect()]
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
        return []

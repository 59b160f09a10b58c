"""A folder of files belongs to one pipeline.

Spark's file sink numbers the batches of a folder, and writes none whose number the folder has already. Those of another
pipeline have numbers of their own: they would be taken from the queue and never be written.
"""

import re
import uuid
from pathlib import Path

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from jmsbridge.errors import ConfigurationError
from jmsbridge.spark.files import write_whole

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
    if own in owners:
        return
    if owners or _newest(to) > _planned(root):
        raise ConfigurationError(
            f"{to} has the files of another stream, with a root or checkpoint other than {root}: Spark would not write "
            "batches whose numbers it has. Give a new folder, or the root that it was begun with"
        )
    spark.createDataFrame([(own,)], "value string").coalesce(1).write.mode("overwrite").text(mark)


def _own(root: Path) -> str:
    """What identifies the pipeline in this folder."""
    path = root / "pipeline"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, str(uuid.uuid4()).encode())
    return path.read_text(encoding="ascii")


def _newest(to: str) -> int:
    """The number of the last batch that a folder has; -1 if it has none, or is not in a local file system."""
    folder = Path(re.sub(r"^file:/*", "/", to)) / "_spark_metadata"
    numbers = (path.name.removesuffix(".compact") for path in folder.glob("*"))
    return max((int(number) for number in numbers if number.isdigit()), default=-1)


def _planned(root: Path) -> int:
    """The number of the last batch that the pipeline has planned; -1 if it has none."""
    found = (path.name for path in (root / "checkpoint" / "offsets").glob("*"))
    return max((int(number) for number in found if number.isdigit()), default=-1)


def _owners(spark: SparkSession, mark: str) -> list[str]:
    """Which pipelines have claimed it."""
    try:
        return [row[0] for row in spark.read.text(mark).collect()]
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
        return []

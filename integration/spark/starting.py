"""How the tests start Java: each start of Spark costs a quarter of what it does without these options.

An archive of Spark's classes is made once for each environment (186 MB beside its packages), by a process that runs a
job; Java then loads them from there. Compiling them well would cost more than jobs of seconds get back.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from integration.spark.killing import Job, kill_all

__all__ = ["SETTINGS", "java_options"]

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.python.authenticate.socketTimeout": "120s",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1",
}
_PATIENCE = 200.0
"""Seconds in which the archive must be there; 20 on a quiet machine."""
_QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xlog:disable"


def java_options() -> str:
    """For the variable SPARK_SUBMIT_OPTS, which every start of Spark reads; makes the archive if there is none."""
    from pyspark import __version__

    archive = Path(sys.prefix) / f"spark-{__version__}.jsa"
    used = [f"-XX:SharedArchiveFile={archive}"] if archive.exists() or _made(archive) else []
    return " ".join([_QUICK, *used, *(f"-D{name}={SETTINGS[name]}" for name in SETTINGS)])


def _made(archive: Path) -> bool:
    """Make the archive; False, and a line on standard error, if that fails: Java then only starts more slowly."""
    new = archive.with_suffix(f".{os.getpid()}")
    options = {"SPARK_SUBMIT_OPTS": f"{_QUICK} -XX:ArchiveClassesAtExit={new}", "JOB_FOLDER": str(new)}
    command = [sys.executable, "-m", "integration.spark.starting"]
    try:
        subprocess.run(command, env=os.environ | options, check=True, timeout=_PATIENCE)
        new.replace(archive)
    except (subprocess.SubprocessError, OSError) as error:
        kill_all(new)
        new.unlink(missing_ok=True)
        print(f"Spark is started without an archive of its classes, which takes longer: {error}", file=sys.stderr)
        return False
    return True


def _main() -> None:
    """A job that loads what jobs use."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = SparkSession.builder.master("local[2,4]").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    with tempfile.TemporaryDirectory() as folder:
        job = Job(Path(folder), f"embedded:{folder}/broker.db")
        job.send(range(10))
        job.run(spark)
        assert job.rows(spark).total() == 10
    gateway = spark.sparkContext._gateway
    spark.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()  # Java ends, and writes the archive
    gateway.proc.wait(100)


if __name__ == "__main__":
    _main()

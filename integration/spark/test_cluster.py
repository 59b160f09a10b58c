"""Source and sink where tasks run in executors of their own, and over Spark Connect."""

import os
import subprocess
import sys
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pyspark
import pytest

import jmsbridge

pytestmark = [pytest.mark.server, pytest.mark.timeout(600)]

SENT = 1000
JOB = """
import sys
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from jmsbridge.spark import pipelines

kind, where, url, root, sent = sys.argv[1:]
builder = SparkSession.builder.config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "2")
spark = getattr(builder, kind)(where).getOrCreate()
numbers = spark.range(int(sent)).select(F.col("id").cast("string").alias("body"))
orders = numbers.select("body", F.concat(F.lit("ID:"), "body").alias("messageId"))
orders.write.format("jms").options(url=url, queue="orders").mode("append").save()
print("shown", spark.read.format("jms").options(url=url, queue="orders").load().count())
source = {"url": url, "queue": "orders", "maxMessagesPerTrigger": 600}
query = pipelines.bridge(spark, source, {"url": url, "queue": "moved"}, root=root)
print("ended", query.awaitTermination(500), query.exception())
source |= {"queue": "moved", "distributed": True, "receivers": 2}
query = pipelines.bridge(spark, source, {"url": url, "queue": "orders"}, root=root + "-by-tasks")
print("ended", query.awaitTermination(500), query.exception())
spark.stop()
"""


CONNECT = pytest.mark.skipif(
    not find_spec("grpc"), reason="Spark Connect needs pyspark[connect]; make test-spark has it"
)


@pytest.mark.parametrize(
    ("kind", "where"), [("master", "local-cluster[2,1,1024]"), pytest.param("remote", "local[2]", marks=CONNECT)]
)
def test_each_row_is_written_and_moved_once_by_the_driver_and_by_tasks(tmp_path: Path, kind: str, where: str) -> None:
    url = f"embedded:{tmp_path / 'broker.db'}"
    settings = {
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_HOME": str(Path(pyspark.__file__).parent),  # where local-cluster finds what its workers start
        "SPARK_WORKER_DIR": str(tmp_path / "work"),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    job = [sys.executable, "-c", JOB, kind, where, url, str(tmp_path / "job"), str(SENT)]
    done = subprocess.run(job, env=os.environ | settings, cwd=tmp_path, capture_output=True, text=True, timeout=560)
    assert done.stdout.split("\n")[:3] == [f"shown {SENT}", *["ended True None"] * 2], done.stderr[-5000:]
    with jmsbridge.connect(url) as connection:
        session = connection.create_session()
        left, moved = (session.create_browser(jmsbridge.Queue(name)) for name in ("moved", "orders"))
        assert list(left) == []
        assert Counter(message.get_body(str) for message in moved) == Counter(str(each) for each in range(SENT))

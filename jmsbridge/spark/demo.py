"""A demonstration: ``make demo-spark`` or ``python -m jmsbridge.spark.demo [FOLDER]``.

Sends orders to a queue of an embedded broker, streams the queue into Parquet files, and asks them a question. With a
folder, broker and files stay there, and the next run adds to them.
"""

import os
import sys
import tempfile

import jmsbridge
from jmsbridge.spark.extra import advise_extra

try:
    from pyspark.sql import SparkSession

    from jmsbridge.spark import pipelines
except ModuleNotFoundError as missing:
    advise_extra(missing)

__all__ = ["main", "run"]

_ORDERS = 10_000
_QUERY = """
SELECT properties['region'] AS region, count(*) AS orders, count(DISTINCT messageId) AS different,
       sum(CAST(body AS int)) AS amount
FROM orders GROUP BY region ORDER BY region
"""


def _send(url: str) -> None:
    """Send the orders in one transaction."""
    with jmsbridge.connect(url) as connection:
        session = connection.create_session(True)
        producer = session.create_producer(session.create_queue("orders"))
        for number in range(_ORDERS):
            order = session.create_text_message(str(number % 100))
            order.properties["region"] = ("asia", "europe", "america", "africa")[number % 4]
            producer.send(order)
        session.commit()


def run(spark: SparkSession, folder: str) -> None:
    """Send, stream into files, query."""
    url, files = f"embedded:{folder}/broker.db", f"{folder}/orders"
    os.makedirs(folder, exist_ok=True)
    _send(url)
    print(f"{_ORDERS} orders are in the queue; Spark streams them into Parquet files in {files}")
    source = {"url": url, "queue": "orders", "bodyFormat": "text"}
    pipelines.archive(spark, source, files, root=f"{folder}/job").awaitTermination()
    spark.read.parquet(files).createOrReplaceTempView("orders")
    spark.sql(_QUERY).show()


def main(arguments: list[str]) -> int:
    """Run the demonstration in a local Spark, in this folder or in one that is deleted at its end."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("jmsbridge demo").config("spark.ui.enabled", "false")
    spark = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    try:
        if arguments:
            run(spark, arguments[0])
        else:
            with tempfile.TemporaryDirectory(prefix="jmsbridge-") as folder:
                run(spark, folder)
    finally:
        spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

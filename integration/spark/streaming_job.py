"""A streaming job of its own process, to be killed: a queue into Parquet files by the data source ``observed``.

Arguments: the job's folder, and the options of the source as JSON.
"""

import json
import os
import sys

from pyspark.sql import SparkSession

from integration.spark.observed import Observed

__all__ = ["main"]


def main(folder: str, options: str) -> None:
    """Run the job with AvailableNow; print the number of rows of each batch."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = SparkSession.builder.master("local[2,4]").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    spark.dataSource.register(Observed)
    stream = spark.readStream.format("observed").options(**json.loads(options)).load()
    files = stream.writeStream.format("parquet").option("path", f"{folder}/rows")
    query = files.option("checkpointLocation", f"{folder}/checkpoint").trigger(availableNow=True).start()
    query.awaitTermination()
    print(json.dumps([progress.numInputRows for progress in query.recentProgress]))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])

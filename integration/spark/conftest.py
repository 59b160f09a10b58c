"""A Spark session for real jobs; without the extra `spark` nothing here is collected."""

import importlib.util
import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest

collect_ignore_glob = [] if importlib.util.find_spec("pyspark") else ["test_*.py"]


@pytest.fixture(scope="session", autouse=True)
def _quick_java() -> None:
    """For every Spark that a test, or a command of one, starts."""
    from integration.spark.starting import java_options

    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_SUBMIT_OPTS": java_options()}


@pytest.fixture(scope="session")
def spark(_quick_java: None) -> Iterator[Any]:
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master("local[2,4]").appName("jmsbridge tests").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()

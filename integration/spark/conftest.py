"""A Spark session for real jobs; without the extra `spark` nothing here is collected."""

import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

collect_ignore_glob = [] if importlib.util.find_spec("pyspark") else ["test_*.py"]


@pytest.fixture(scope="session", autouse=True)
def _defaults() -> None:
    """Of every Spark here, and of every command that starts one."""
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_CONF_DIR": str(Path(__file__).parent / "conf")}


@pytest.fixture(scope="session")
def spark(_defaults: None) -> Iterator[Any]:
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master("local[2,4]").appName("jmsbridge tests").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()

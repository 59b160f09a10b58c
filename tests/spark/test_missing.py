"""The programs say what to install where Spark is missing."""

import subprocess
import sys

import pytest

_WITHOUT = """
import runpy, sys
sys.modules.update(dict.fromkeys(["pyspark", "py4j", "pandas", "pyarrow"]))
runpy.run_module(sys.argv[1], run_name="__main__", alter_sys=True)
"""


@pytest.mark.parametrize("program", ["jmsbridge.spark", "jmsbridge.spark.demo"])
def test_a_program_without_spark_says_what_to_install(program: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", _WITHOUT, program], capture_output=True, text=True, timeout=120, check=False
    )
    assert ran.stderr == "error: Spark is missing: pip install 'jmsbridge[spark]'\n"
    assert ran.returncode == 1

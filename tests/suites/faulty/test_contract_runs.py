"""The whole contract level on each faulty variant: what the table names is among what fails."""

import os
import re
import subprocess
import sys

import pytest

from tests.suites.faulty.table import TABLE
from tools.laws.source import ROOT

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]

VARIANTS = sorted({row.name for row in TABLE})
COMMAND = (sys.executable, "-m", "pytest", "tests/suites/faulty/contract_run.py", "--level", "contract")
QUIET = ("-q", "-rf", "--tb=no", "-p", "no:cacheprovider")


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_contract_fails_where_the_table_says(variant: str) -> None:
    environment = os.environ | {"JMSBRIDGE_FAULTY": variant, "COLUMNS": "200"}
    command = [*COMMAND, *QUIET]
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=590, check=False)
    failed = re.findall(r"^FAILED \S+::(test_\w+)(?:\[(\S+)\])?", ran.stdout, re.MULTILINE)
    assert failed, ran.stdout
    found = {name for name, _ in failed}
    found |= {f"{name}[{one}]" for name, parameters in failed for one in parameters.split("-")}
    assert {case for row in TABLE if row.name == variant for case in row.cases} <= found, ran.stdout

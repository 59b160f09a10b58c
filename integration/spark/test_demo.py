"""The command of the README for newcomers."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import jmsbridge

pytestmark = [pytest.mark.server, pytest.mark.timeout(300)]


def test_a_queue_is_streamed_into_parquet_and_queried(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "jmsbridge.spark.demo", str(tmp_path / "demo")]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert shown.returncode == 0, shown.stderr
    found = re.findall(r"\| *(\w+)\| *(\d+)\| *(\d+)\| *\d+\|", shown.stdout)
    assert found == [(region, "2500", "2500") for region in ("africa", "america", "asia", "europe")]
    with jmsbridge.connect(f"embedded:{tmp_path / 'demo' / 'broker.db'}") as connection:
        assert list(connection.create_session().create_browser(jmsbridge.Queue("orders"))) == []

"""The demo leaves nothing behind on RabbitMQ."""

import os
import subprocess
import sys
from pathlib import Path

from integration.lab.broker import Broker
from jmsbridge.testing.suite.support import eventually

ROOT = Path(__file__).resolve().parents[2]


def run(broker: Broker, *command: str) -> str:
    """Run a new Python, which gets the broker from the environment; return its output."""
    paths = f"{ROOT}{os.pathsep}{ROOT / 'backends'}"
    environment = {**os.environ, "JMSBRIDGE_URL": broker.url(), "PYTHONPATH": paths, "COLUMNS": "200"}
    ran = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, env=environment, timeout=90, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_the_demo_leaves_nothing_behind(broker: Broker, tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.py").write_text("one\ntwo\n\nfour" * 50, encoding="utf-8")
    shown = run(broker, "-m", "jmsbridge.demo", str(tmp_path))
    assert shown.count("identical") == 5
    assert "jbpass" not in shown

    def left() -> list[str]:
        kinds = ("queues", "exchanges")
        return [each["name"] for kind in kinds for each in broker.admin.get(f"/api/{kind}") if "demo" in each["name"]]

    eventually(lambda: left() == [], 10.0)

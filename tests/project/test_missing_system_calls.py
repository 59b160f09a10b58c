"""What works where the system has no ``fcntl``, no fork and no epoll, as Windows."""

import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]

_WITHOUT = """
import os, select, socket, sys
for module, names in (
    (os, ("fork", "forkpty", "register_at_fork", "eventfd", "eventfd_read", "eventfd_write", "fdatasync")),
    (select, ("epoll", "poll")),
    (socket, ("AF_UNIX",)),
):
    for name in names:
        if hasattr(module, name):
            delattr(module, name)
sys.modules["fcntl"] = None
"""


def run(code: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", _WITHOUT + code]
    return subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, timeout=100, check=False)


def test_the_import_and_the_memory_broker_work() -> None:
    found = run("""
import jmsbridge
with jmsbridge.context("embedded:") as context:
    queue = context.create_queue("orders")
    context.create_producer().send(queue, "x")
    print(context.create_consumer(queue).receive_body(str, timeout=5))
""")
    assert (found.stdout, found.stderr) == ("x\n", "")


@pytest.mark.timeout(120)
def test_the_memory_broker_keeps_the_contract() -> None:
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "tests/suites/memory", "--level", "contract"]
    found = run(f"import pytest; sys.exit(pytest.main({options}))")
    assert found.returncode == 0, found.stdout + found.stderr
    assert " passed" in found.stdout


def test_a_broker_in_a_file_says_which_system_calls_it_needs(tmp_path: Path) -> None:
    found = run(f"""
import jmsbridge
try:
    jmsbridge.connect("embedded:{tmp_path / "broker.db"}")
except jmsbridge.JMSError as error:
    print(type(error).__name__, error)
""")
    assert "needs POSIX file locks" in found.stdout, found.stderr
    assert sys.platform in found.stdout
    assert "use embedded:" in found.stdout
    assert list(tmp_path.iterdir()) == []

"""Pitfalls of the client library, in processes of their own: a mistake in its use hangs, freezes or aborts them."""

import subprocess
import sys

from integration.lab.broker import Broker


def test_connections_break_while_messages_are_acknowledged(pulsar: Broker) -> None:
    url = f"{pulsar.url()}?single_address=true"
    program = [sys.executable, "-m", "integration.pulsar.acknowledging", url]
    ended = subprocess.run(program, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=50, check=False)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.endswith("done\n")
    assert "frozen" not in ended.stdout

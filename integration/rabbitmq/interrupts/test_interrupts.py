"""An interrupted call (Ctrl-C) blocks no thread and no session of its link, and leaves nothing incomplete."""

import json
import random
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from integration.lab.broker import Broker
from integration.rabbitmq.interrupts.interrupted import Verdict

ROOT = Path(__file__).parents[3]

CLOSING = """
import json, sys, threading, time
from jmsbridge.spi import Address
from integration.rabbitmq.interrupts.interrupted import Signals
from integration.rabbitmq.support import Client

url, queue, seed = sys.argv[1:]
signals, times, slow = Signals(int(seed)), 0, 0.0
for number in range(60):
    client = Client(None, url=url)
    client.send(Address(queue), str(number))
    subscription, box = client.consume(Address(queue), 1)
    box.wait(1)
    begun = time.monotonic()
    for close in (subscription.retire, subscription.close, client.channel.close, client.link.close):
        for _ in range(number % 4):
            times += not signals.during(close)
        close()
    slow = max(slow, time.monotonic() - begun)
left = [each.name for each in threading.enumerate() if "rabbitmq" in each.name]
print(json.dumps([times, slow, left]))
"""


def run(*arguments: str, timeout: float) -> str:
    """Run a program; return its output."""
    done = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=timeout, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("seconds", "signals"),
    [(4.0, 500), pytest.param(600.0, 100_000, marks=[pytest.mark.long, pytest.mark.timeout(800)])],
)
def test_interrupted_verbs_block_no_thread(broker: Broker, name: str, seconds: float, signals: int) -> None:
    seed = str(random.randrange(1 << 30))
    printed = run(
        "-m",
        "integration.rabbitmq.interrupts.interrupted",
        broker.url(),
        name,
        str(seconds),
        seed,
        timeout=seconds + 120,
    )
    verdict = msgspec.json.decode(printed, type=Verdict)
    assert (verdict.stuck, verdict.lost, verdict.doubled) == ([], [], []), f"seed {seed}: {verdict}"
    assert verdict.signals >= signals, verdict
    assert min(verdict.confirmed, verdict.others_sent, verdict.others_received) > 50, verdict
    assert set(verdict.interrupted) == {"send", "grant", "settle", "drain"}


def test_an_interrupted_close_can_be_repeated(broker: Broker, name: str) -> None:
    seed = str(random.randrange(1 << 30))
    times, slow, left = json.loads(run("-c", CLOSING, broker.url(), name, seed, timeout=120))
    assert times > 50, f"seed {seed}"
    assert slow < 20.0, f"seed {seed}"
    assert left == [], f"seed {seed}"

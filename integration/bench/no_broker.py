"""The comparison over AMQP 1.0 without a broker: only the clients are measured."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from integration.bench.over_amqp import ASYNC, BLOCKING, CONTAINER, LOADER, PACKAGES, QPID, QPID_ASYNC, SEND, text
from integration.bench.rows import Comparison, Cost, Rate

__all__ = ["NO_BROKER"]

_ROOT = Path(__file__).resolve().parents[2]


class _Discarding:
    """The peer that discards, in a process of its own, until it is closed."""

    title = "a peer that accepts each message and keeps none"

    def __init__(self) -> None:
        command = [sys.executable, "-m", "integration.bench.discarding"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=_ROOT)
        assert self._process.stdout is not None
        self._port = int(self._process.stdout.readline())

    def url(self, scheme: str | None = None) -> str:
        """Where it is."""
        return f"amqp://bench:bench@127.0.0.1:{self._port}"

    def close(self) -> None:
        """End it, and say what a message cost it, which shows that it is no limit."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        accepted, cpu = self._process.stdout.readline().split()
        self._process.wait(15)
        print(f"The peer took {float(cpu) / max(1, int(accepted)) * 1e6:.1f} µs of CPU per message.")


@contextmanager
def _started() -> Iterator[_Discarding]:
    peer = _Discarding()
    try:
        yield peer
    finally:
        peer.close()


class _NoQueues(msgspec.Struct, frozen=True):
    def make(self, server: object, name: str, queue_type: str) -> None: ...

    def empty(self, server: object, name: str) -> None: ...

    def remove(self, server: object, name: str) -> None: ...


NO_BROKER = Comparison(
    name="discarding",
    start=_started,
    queue_types=("no",),
    rows=(SEND, BLOCKING, ASYNC, CONTAINER, QPID_ASYNC),
    loader=LOADER,
    queues=_NoQueues(),
    peer_url=str,
    rates=(
        Rate(ASYNC.name, CONTAINER.name, 3.0),
        Rate(ASYNC.name, BLOCKING.name, 10.0),
    ),
    costs=(Cost(ASYNC.name, CONTAINER.name, 0.35),),
    delayed=(),
    kept=0,
    page="performance-amqp.md",
    text=text("without a broker", ", so that only the client is measured"),
    packages=PACKAGES,
    java_clients=QPID,
)

"""Measures the rows in turn: a part of each one's first window, then the next part of each, then the second windows.
So a machine that is slow for a few seconds is slow for all of them. The order is another one every time: a broker is
slower for a while after some rows, and that must not always hit the same one.
"""

import os
import random
import statistics
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

import msgspec

from integration.bench.java_peer import class_path
from integration.bench.rows import Comparison, Queues, Row, Server
from integration.lab.fetching.java import java
from jmsbridge.testing.proxy import FaultProxy

__all__ = ["WINDOWS", "Figure", "measure"]

WINDOWS = 5
_Way = Callable[[str], str]
"""From a URL to the one that is used: itself, or one through a proxy."""
_PIECES = 4  # part of a window; only without delay, because each part would wait for the round trip again
_PATIENCE = 180.0  # seconds for one part of a window; a connection may have stalled
_ROOT = Path(__file__).resolve().parents[2]


class Figure(msgspec.Struct, frozen=True):
    """A row's windows: messages per second, and CPU microseconds of the client per message."""

    row: Row
    queue_type: str
    delay: float | None
    """Seconds of round trip through a proxy; None without a proxy."""
    rates: tuple[float, ...]
    costs: tuple[float, ...]

    @property
    def rate(self) -> float:
        """The median."""
        return statistics.median(self.rates)

    @property
    def cost(self) -> float:
        """The median."""
        return statistics.median(self.costs)


class _Program:
    """A running client of the benchmark."""

    def __init__(self, row: Row, url: str, queue: str, folder: Path) -> None:
        self._name = row.name
        self._output = folder / f"{queue}.err"
        with self._output.open("wb") as errors:
            self._process = subprocess.Popen(
                _command(row, url, queue),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                cwd=_ROOT,
                env={**os.environ, "PYTHONPATH": f"{_ROOT}:{_ROOT / 'backends'}"},
            )
        if self._line() != "ready":
            raise RuntimeError(f"{row.name} printed something else than ready")

    def window(self, count: int) -> tuple[float, float]:
        """The seconds and CPU seconds for ``count`` messages."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{count}\n")
        self._process.stdin.flush()
        seconds, cpu = map(float, self._line().split())
        return seconds, cpu

    def _line(self) -> str:
        assert self._process.stdout is not None
        late = threading.Timer(_PATIENCE, self._process.kill)
        late.start()
        line = self._process.stdout.readline().strip()
        late.cancel()
        if not line:
            self.close()
            tail = self._output.read_text(errors="replace").strip()[-1500:]
            raise RuntimeError(f"{self._name} has ended, or was silent for {_PATIENCE:.0f} s: {tail}")
        return line

    def close(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        try:
            self._process.wait(15)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _command(row: Row, url: str, queue: str) -> list[str]:
    if row.program == "java":
        return [java(), "-Xmx512m", "-cp", class_path(row.client), "Peer", row.role, url, queue]
    return [sys.executable, "-m", f"integration.bench.clients.{row.program}", row.role, url, queue]


def _url(comparison: Comparison, row: Row, url: str) -> str:
    if not row.is_ours:
        return comparison.peer_url(url)
    return f"{url}{'&' if '?' in url else '?'}{row.options}" if row.options else url


class _Contender:
    """A row with its queue, its program and, if it receives, the program that fills the queue."""

    def __init__(
        self, comparison: Comparison, row: Row, queue_type: str, server: Server, way: _Way, folder: Path
    ) -> None:
        self.row = row
        self._server = server
        self._queues: Queues = comparison.queues
        self._queue = f"bench-{queue_type}-{row.program}-{row.role}-{os.urandom(2).hex()}"
        self._queues.make(server, self._queue, queue_type)
        self.rates: list[float] = []
        self.costs: list[float] = []
        self._pieces: list[tuple[int, float, float]] = []
        loader = comparison.loader
        loading = _url(comparison, loader, server.url(loader.scheme or None))
        self._loader = _Program(loader, loading, self._queue, folder / "loader") if row.receives else None
        self._program = _Program(row, _url(comparison, row, way(server.url(row.scheme or None))), self._queue, folder)

    def piece(self, count: int) -> None:
        """Measure a part of a window, with an empty queue before and after."""
        if self._loader is not None:
            self._loader.window(count)
        seconds, cpu = self._program.window(count)
        self._queues.empty(self._server, self._queue)
        self._pieces.append((count, seconds, cpu))

    def end_window(self, *, keep: bool) -> None:
        """Combine the parts of the window."""
        count, seconds, cpu = map(sum, zip(*self._pieces, strict=True))
        self._pieces.clear()
        if keep:
            self.rates.append(count / seconds)
            self.costs.append(cpu / count * 1e6)

    def close(self) -> None:
        self._program.close()
        if self._loader is not None:
            self._loader.close()
        self._queues.remove(self._server, self._queue)


def measure(
    comparison: Comparison,
    rows: Sequence[Row],
    server: Server,
    folder: Path,
    *,
    queue_type: str,
    delays: Sequence[float | None] = (None,),
    share: float = 1.0,
    say: Callable[[str], None] = lambda text: None,
) -> list[Figure]:
    """The figures of these rows for each delay: None connects to the broker directly, a number through a proxy that
    adds that many seconds of round trip, also if it is 0.
    """
    (folder / "loader").mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        contenders: list[tuple[_Contender, float | None]] = []
        for row in rows:
            for delay in delays:
                way = _way(server.url(row.scheme or None), delay, stack)
                contender = _Contender(comparison, row, queue_type, server, way, folder)
                stack.callback(contender.close)
                contenders.append((contender, delay))
        pieces = 1 if any(delays) else _PIECES
        for turn in range(-1, WINDOWS):
            for _ in range(pieces):
                for contender, delay in random.sample(contenders, len(contenders)):
                    waits = delay and contender.row.group == "one at a time"  # fifty per second at 20 ms
                    contender.piece(max(100, int(contender.row.count * share / pieces / (20 if waits else 1))))
                    say(f"{queue_type}, window {turn + 1} of {WINDOWS}: {contender.row.name}")
            for contender, _ in contenders:
                contender.end_window(keep=turn >= 0)
        return [Figure(one.row, queue_type, delay, tuple(one.rates), tuple(one.costs)) for one, delay in contenders]


def _way(url: str, delay: float | None, stack: ExitStack) -> _Way:
    return str if delay is None else stack.enter_context(FaultProxy.to(url, delay=delay)).through

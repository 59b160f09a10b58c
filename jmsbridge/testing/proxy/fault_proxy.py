"""The public class of the fault proxy, and its thread."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Self, TypeVar
from urllib.parse import urlsplit

from jmsbridge.closing import Closing
from jmsbridge.testing.proxy.loop import Cut, Loop
from jmsbridge.testing.proxy.relay import Direction, End

__all__ = ["FaultProxy"]

_PATIENCE = 10.0  # seconds within which the proxy's thread executes a command
T = TypeVar("T")


class FaultProxy(Closing):
    """Forwards between clients and the broker at ``host:port``, and simulates the failures of a network on request.

    ``delay`` (seconds per round trip) and ``bandwidth`` (bytes per second, each direction of each connection) may be
    set at any time and apply to data received from then on; neither limits the amount of data in transit. ``watch`` is
    called on the proxy's thread with the connection's number, the direction and the bytes. Every method may be called
    from any thread and has taken effect when it returns. Buffers are bounded.
    """

    def __init__(
        self,
        host: str,
        port: int,
        *,
        listen: int = 0,
        delay: float = 0.0,
        bandwidth: float | None = None,
        watch: Callable[[int, Direction, bytes], None] | None = None,
    ) -> None:
        self._target = f"{host}:{port}"
        self._loop = Loop((host, port), listen, delay, bandwidth, watch)
        self.host, self.port = self._loop.host, self._loop.port
        self._commands: deque[Callable[[], None]] = deque()
        self._stopping = False
        self._wakeup_reader, self._wakeup = socket.socketpair()
        for one in (self._wakeup_reader, self._wakeup):
            one.setblocking(False)
        self._loop.accept()
        self._thread = threading.Thread(target=self._run, name=f"jmsbridge-proxy-{self.port}", daemon=True)
        self._thread.start()

    @classmethod
    def to(cls, url: str, **settings: Any) -> Self:
        """A proxy in front of the broker that a URL names; the URL must include the port."""
        parts = urlsplit(url)
        if parts.hostname is None or parts.port is None:
            raise ValueError(f"a proxy needs to know where the broker listens: {parts.scheme}://HOST:PORT")
        return cls(parts.hostname, parts.port, **settings)

    def through(self, url: str) -> str:
        """The URL with this proxy's host and port."""
        parts = urlsplit(url)
        user, at, _ = parts.netloc.rpartition("@")
        return parts._replace(netloc=f"{user}{at}{self.host}:{self.port}").geturl()

    # -- what happens to the network ---------------------------------------------------------------------------------

    def cut(self, how: End = End.RESET) -> int:
        """End every connection now and return their number; new ones pass."""
        return self._do(lambda: self._loop.cut_all(how))

    def cut_after(
        self,
        count: int,
        direction: Direction = Direction.OUT,
        *,
        connection: int | None = None,
        how: End = End.RESET,
    ) -> None:
        """Cut the first connection that has forwarded exactly ``count`` bytes in a direction, once.

        Existing connections count from now. ``connection`` limits it to one connection, by the number that ``watch``
        gets.
        """
        self._do(lambda: self._loop.limit(Cut(count, direction, connection, how)))

    def stall(self) -> None:
        """Accept and keep connections but forward nothing, until ``resume``."""
        self._do(self._loop.stall)

    def freeze(self, direction: Direction | None = None) -> None:
        """Stop forwarding on the existing connections, in this direction or in both; new ones are not affected.

        They stay open until they are cut; ``resume`` forwards what was held.
        """
        self._do(lambda: self._loop.freeze(direction))

    def refuse(self) -> None:
        """Refuse new connections until ``resume``; existing ones are not affected."""
        self._do(self._loop.refuse)

    def resume(self) -> None:
        """End all simulated failures: forward everything, accept connections, cancel a pending cut."""
        self._do(self._loop.resume)

    @property
    def delay(self) -> float:
        """The round-trip delay in seconds."""
        return self._loop.delay

    @delay.setter
    def delay(self, seconds: float) -> None:
        self._loop.delay = seconds

    @property
    def bandwidth(self) -> float | None:
        """Bytes per second of each direction of each connection; None is unlimited."""
        return self._loop.bandwidth

    @bandwidth.setter
    def bandwidth(self, rate: float | None) -> None:
        self._loop.bandwidth = rate

    @property
    def connections(self) -> int:
        """The number of open connections."""
        return len(self._loop.pairs)

    @property
    def accepted(self) -> int:
        """How many connections were accepted so far: the number of the newest."""
        return self._loop.accepted

    @property
    def cuts(self) -> int:
        """How many connections were cut, by ``cut`` or ``cut_after``."""
        return self._loop.cuts

    def passed(self, direction: Direction) -> int:
        """How many bytes the open connections have forwarded in this direction."""
        return self._do(lambda: sum(pair.stream(direction).passed for pair in self._loop.pairs))

    def close(self) -> None:
        """End every connection and the proxy. Idempotent."""
        self._stopping = True
        self._wake()
        self._thread.join(_PATIENCE)
        if self._thread.is_alive():
            raise RuntimeError(f"{self!r} does not stop: its ``watch`` has not returned")

    def __repr__(self) -> str:
        return f"<FaultProxy {self.host}:{self.port} to {self._target}>"

    # -- from other threads to the proxy's ---------------------------------------------------------------------------

    def _do(self, command: Callable[[], T]) -> T:
        if threading.current_thread() is self._thread:  # called by ``watch``
            return command()
        done: Future[T] = Future()

        def run() -> None:
            try:
                done.set_result(command())
            except BaseException as error:
                done.set_exception(error)

        self._commands.append(run)
        self._wake()
        if not self._thread.is_alive():
            raise RuntimeError(f"{self!r} is closed")
        return done.result(_PATIENCE)

    def _wake(self) -> None:
        with contextlib.suppress(OSError):  # full: the loop wakes anyway; closed: the loop has ended
            self._wakeup.send(b"!")

    # -- on the proxy's thread ---------------------------------------------------------------------------------------

    def _run(self) -> None:
        with self._wakeup_reader, self._wakeup:
            self._loop.run(self._wakeup_reader, self._run_commands)

    def _run_commands(self) -> bool:
        with contextlib.suppress(BlockingIOError):  # no wake-up: the loop woke for another socket
            self._wakeup_reader.recv(4096)
        while self._commands:
            self._commands.popleft()()
        return not self._stopping

"""The peer: a thread that listens, with any number of connections."""

import itertools
import selectors
import socket
import threading
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import TypeVar

from tests.amqp.peer.connection import PeerConnection
from tests.amqp.peer.link import PeerLink
from tests.amqp.peer.records import PATIENCE, Records
from tests.amqp.peer.script import Script

__all__ = ["Peer"]

_T = TypeVar("_T")
_TICK = 0.1
_numbers = itertools.count(1)


class Peer:
    """A small AMQP 1.0 server, in this process, that does what its script says, and what tests tell it with ``do``."""

    def __init__(self, script: Script | None = None) -> None:
        self.script = script or Script()
        self.records = Records()
        self.stock: dict[str, deque[bytes]] = {}
        self.connections: list[PeerConnection] = []
        self._tasks: deque[Callable[[], None]] = deque()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._selector = selectors.DefaultSelector()
        self._wake, self._waker = socket.socketpair()
        self._ended = False
        self._listener.setblocking(False)
        self._wake.setblocking(False)
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._wake, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._run, name=f"peer-{next(_numbers)}", daemon=True)
        self.failure: BaseException | None = None
        self._thread.start()

    def __enter__(self) -> "Peer":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"amqp://127.0.0.1:{self.port}"

    def close(self) -> None:
        """Close every socket and end the thread; what went wrong there is raised."""
        self._ended = True
        self._thread.join(PATIENCE)
        if self.failure is not None:
            raise self.failure

    # -- for tests, from any thread

    def do(self, task: Callable[[], _T]) -> _T:
        """Run this on the peer's thread, and return what it returns."""
        if threading.current_thread() is self._thread:
            return task()
        done = threading.Event()
        results: list[_T] = []
        errors: list[BaseException] = []

        def run() -> None:
            try:
                results.append(task())
            except BaseException as error:
                errors.append(error)
            done.set()

        self._tasks.append(run)
        self._waker.send(b"x")
        assert done.wait(PATIENCE), "the peer's thread is busy or gone"
        if errors:
            raise errors[0]
        return results[0]

    def wait_link(self, address: str | None, *, receives: bool) -> PeerLink:
        """The newest attached link with that address, once there is one."""

        def found() -> list[PeerLink]:
            links: list[PeerLink] = [about for name, about in self.records.events if name == "attach"]
            return [
                link
                for link in links
                if link.receives == receives and link.address == address and not link.coordinator and not link.refused
            ]

        self.records.wait(found, f"a link to {address}")
        return found()[-1]

    def put(self, address: str, *messages: bytes) -> None:
        """Messages for the first receiver from that address."""

        def put() -> None:
            self.stock.setdefault(address, deque()).extend(messages)
            for connection in [each for each in self.connections if each.socket is not None]:
                for link in connection.links:
                    if link.receives and link.address == address and not link.refused:
                        connection.serve(link)
                connection.flush()

        self.do(put)

    @property
    def connection(self) -> PeerConnection:
        """The newest one."""
        return self.connections[-1]

    # -- the thread

    def forget(self, sock: socket.socket) -> None:
        """A connection closed its socket."""
        self._selector.unregister(sock)

    def _run(self) -> None:
        try:
            while not self._ended:
                for key, _ in self._selector.select(_TICK):
                    if key.fileobj is self._listener:
                        self._accept()
                    elif key.fileobj is self._wake:
                        self._wake.recv(4096)
                    else:
                        key.data.readable()
                while self._tasks:
                    self._tasks.popleft()()
                for connection in self.connections:
                    connection.tick()
        except BaseException as error:
            self.failure = error
        finally:
            for connection in self.connections:
                connection.cut()
            self._listener.close()
            self._wake.close()
            self._waker.close()
            self._selector.close()

    def _accept(self) -> None:
        sock, _ = self._listener.accept()
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection = PeerConnection(self, sock)
        self.connections.append(connection)
        self._selector.register(sock, selectors.EVENT_READ, connection)
        self.records.event("connected", connection)

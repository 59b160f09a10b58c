"""The proxy's event loop: accepts, connects, forwards and ends connections.

Everything here runs on the proxy's own thread.
"""

from __future__ import annotations

import selectors
import socket
import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from jmsbridge.testing.proxy.relay import CHUNK, Direction, End, Pair, Stream

__all__ = ["Cut", "Loop"]


class Cut(NamedTuple):
    """Where to cut: after so many bytes in a direction, on this connection or on the first that reaches them."""

    after: int
    direction: Direction
    connection: int | None
    how: End


class Loop:
    """All connections of one proxy, and the simulated network conditions.

    ``delay``, ``bandwidth`` and ``watch`` may be set by any thread; the methods are for the proxy's own.
    """

    def __init__(
        self,
        target: tuple[str, int],
        listen: int,
        delay: float,
        bandwidth: float | None,
        watch: Callable[[int, Direction, bytes], None] | None,
    ) -> None:
        self.delay = delay
        self.bandwidth = bandwidth
        self.watch = watch
        self.pairs: set[Pair] = set()
        self.accepted = 0
        self.cuts = 0
        self._buffer = memoryview(bytearray(CHUNK))  # for one read at a time
        self._stalled = False
        self._cut: Cut | None = None
        found = socket.getaddrinfo(*target, type=socket.SOCK_STREAM)
        # prefer IPv4: many servers on localhost listen only there
        chosen = min(found, key=lambda one: one[0] != socket.AF_INET)
        self._family, self._address = chosen[0], chosen[4]
        self._selector = selectors.DefaultSelector()
        self._listener = _bound(listen)
        self.host, self.port = self._listener.getsockname()[:2]

    def run(self, wakeup: socket.socket, run_commands: Callable[[], bool]) -> None:
        """Run until ``run_commands``, called in each turn, returns False; data on ``wakeup`` starts a turn."""
        self._selector.register(wakeup, selectors.EVENT_READ, lambda mask: None)
        try:
            while run_commands():
                for key, mask in self._selector.select(self._pass_on()):
                    key.data(mask)
        finally:
            self.cut_all(End.RESET)
            self._selector.close()
            self._listener.close()

    # -- what happens to the network ---------------------------------------------------------------------------------

    def cut_all(self, how: End) -> int:
        """End every connection."""
        ended = list(self.pairs)
        for pair in ended:
            self._end(pair, how, is_cut=True)
        return len(ended)

    def limit(self, cut: Cut | None) -> None:
        """Replace the pending cut."""
        self._cut = cut
        for pair in list(self.pairs):
            for stream in pair.streams:
                stream.limit = None
            if cut is not None:
                self._apply(cut, pair)
            self._look_after(pair)
            if self._cut is not cut:
                break  # the cut has just been made

    def stall(self) -> None:
        """Forward nothing."""
        self._stalled = True
        for pair in list(self.pairs):
            self._look_after(pair)

    def freeze(self, direction: Direction | None) -> None:
        """Stop forwarding on the existing connections, in this direction or in both."""
        for pair in list(self.pairs):
            for stream in pair.streams:
                stream.frozen |= direction in (None, stream.direction)
            self._look_after(pair)

    def resume(self) -> None:
        """Forward everything, accept connections, forget the cut."""
        self._stalled = False
        for pair in self.pairs:
            for stream in pair.streams:
                stream.frozen = False
        self.limit(None)
        self.accept()

    def accept(self) -> None:
        """Accept connections."""
        self._listener.listen(128)
        if self._selector.get_map().get(self._listener) is None:
            self._selector.register(self._listener, selectors.EVENT_READ, self._on_connection)

    def refuse(self) -> None:
        """Refuse connections, after accepting those that the kernel has already accepted."""
        if self._selector.get_map().get(self._listener) is not None:
            before = -1
            while before != self.accepted:
                before = self.accepted
                self._on_connection(selectors.EVENT_READ)
            self._selector.unregister(self._listener)
            self._listener.close()
            self._listener = _bound(self.port)  # bound but not listening: keeps the port, and connecting is refused

    # -- connections -------------------------------------------------------------------------------------------------

    def _pass_on(self) -> float | None:
        """Forward what is due; return the seconds until there is more to do."""
        if self._stalled:
            return None
        now, soonest = time.monotonic(), None
        for pair in list(self.pairs):
            waits = [due for due in (pair.out.due, pair.into.due) if due is not None]
            if waits and min(waits) <= now:
                for stream in pair.streams:
                    stream.pass_on(now)
                self._look_after(pair)
                waits = [due for due in (pair.out.due, pair.into.due) if due is not None]
            soonest = min(waits if soonest is None else [*waits, soonest], default=None)
        return None if soonest is None else max(0.0, soonest - time.monotonic())

    def _on_connection(self, mask: int) -> None:
        try:
            client, _ = self._listener.accept()
        except OSError:  # the client has left already, or ``watch`` has closed the listener
            return
        broker = socket.socket(self._family, socket.SOCK_STREAM)
        for one in (client, broker):
            one.setblocking(False)
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.accepted += 1
        pair = Pair(self.accepted, client, broker)
        self.pairs.add(pair)
        if self._cut is not None:
            self._apply(self._cut, pair)
        broker.connect_ex(self._address)  # the result is read when the socket becomes writable
        self._look_after(pair)

    def _on_client(self, pair: Pair, mask: int) -> None:
        self._on_socket(pair, pair.out, pair.into, mask)

    def _on_broker(self, pair: Pair, mask: int) -> None:
        if pair in self.pairs and not pair.is_connected:
            if pair.broker.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                self._end(pair, End.RESET)
                return
            pair.is_connected = True
        self._on_socket(pair, pair.into, pair.out, mask)

    def _on_socket(self, pair: Pair, as_source: Stream, as_sink: Stream, mask: int) -> None:
        if pair not in self.pairs or self._stalled:
            return  # ended or stalled earlier in the same turn of the loop
        if mask & selectors.EVENT_WRITE and as_sink.blocked:
            as_sink.blocked = False
            as_sink.pass_on(time.monotonic())
        if mask & selectors.EVENT_READ and as_source.wants_more(self):
            as_source.read(self, self._buffer)
        if pair in self.pairs:  # ``watch`` may have cut it
            self._look_after(pair)

    def _look_after(self, pair: Pair) -> None:
        """End the connection if it is over, otherwise wait for its next events."""
        if pair.is_connected and not self._stalled:
            at_limit = End.RESET if self._cut is None else self._cut.how
            end = pair.due_end(at_limit)
            if end is not None:
                self._end(pair, end)
                return
        self._await(pair.client, self._on_client, pair, pair.out, pair.into)
        self._await(pair.broker, self._on_broker, pair, pair.into, pair.out)

    def _await(
        self, one: socket.socket, call: Callable[[Pair, int], None], pair: Pair, as_source: Stream, as_sink: Stream
    ) -> None:
        if not pair.is_connected:
            wanted = selectors.EVENT_WRITE if one is pair.broker else 0
        elif self._stalled:
            wanted = 0
        else:
            wanted = selectors.EVENT_READ if as_source.wants_more(self) else 0
            wanted |= selectors.EVENT_WRITE if as_sink.blocked else 0
        known = self._selector.get_map().get(one)
        if known is None and wanted:
            self._selector.register(one, wanted, partial(call, pair))
        elif known is not None and not wanted:
            self._selector.unregister(one)
        elif known is not None and known.events != wanted:
            self._selector.modify(one, wanted, known.data)

    def _end(self, pair: Pair, end: End, *, is_cut: bool = False) -> None:
        self.pairs.discard(pair)
        for one in (pair.client, pair.broker):
            if self._selector.get_map().get(one) is not None:
                self._selector.unregister(one)
        at_limit = any(stream.limit is not None and stream.passed >= stream.limit for stream in pair.streams)
        self.cuts += is_cut or at_limit
        if at_limit:
            self.limit(None)  # once
        pair.close(end)

    def _apply(self, cut: Cut, pair: Pair) -> None:
        if cut.connection in (None, pair.number):
            stream = pair.stream(cut.direction)
            stream.limit = stream.passed + cut.after


def _bound(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.setblocking(False)
    return listener

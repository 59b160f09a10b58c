"""What the client library writes to a broker: passed on, except that its consumers get the credit that we give them.

The library asks for as many messages as its queue holds (FLOW), which it could not be told to do one by one. So its
requests are dropped and ours are written instead, between its frames.
"""

from collections.abc import Callable
from typing import Protocol

from jmsbridge_pulsar.connection.protocol import FLOW, SUBSCRIBE, contents, flow, parse_subscribe

__all__ = ["Controlled", "Upstream"]

_HEAD = 10  # bytes with the lengths of a frame and of its command, and the command's type
_LARGEST_READ = 1 << 20  # a larger frame is passed on unread


class Controlled(Protocol):
    """A consumer whose credit is ours; called on the I/O thread."""

    durable: bool
    """Whether its subscription outlives it."""
    properties: dict[str, str]
    """Those of the subscription, if it is new."""

    def ready(self, grant: Callable[[int], None]) -> None:
        """It has no credit and can get some now, with ``grant``; again after the broker has moved its topic."""


class Upstream:
    """For one connection. ``controlled`` has the consumers by name, ``write`` passes bytes to the broker."""

    def __init__(self, controlled: dict[str, Controlled], write: Callable[[bytes], None]) -> None:
        self._controlled = controlled
        self._write = write
        self._ours: dict[int, Controlled] = {}
        self._fresh: set[int] = set()  # subscribed, and not ready yet
        self._left = 0  # bytes of the frame that is being passed on
        self._unread = b""
        self._grants: list[bytes] = []  # until the library's frame has ended

    def take(self, data: bytes) -> None:
        """Pass on what the library wrote."""
        if self._unread:
            data, self._unread = self._unread + data, b""
        at = begin = 0  # what is before ``begin`` has been passed on
        end = len(data)
        while at < end:
            if self._left:
                step = min(self._left, end - at)
                self._left -= step
                at += step
                continue
            if end - at < _HEAD:
                break
            size = int.from_bytes(data[at : at + 4], "big") + 4
            kind = data[at + 9]
            if kind not in (FLOW, SUBSCRIBE) or size > _LARGEST_READ:
                self._left = size
                continue
            if end - at < size:
                break
            self._pass(data[begin:at])
            self._replace(kind, data[at : at + size])
            at = begin = at + size
        self._pass(data[begin:at])
        self._unread = data[at:]
        if self._grants and not self._left:
            grants, self._grants = self._grants, []
            self._pass(b"".join(grants))

    def _pass(self, data: bytes) -> None:
        if data:
            self._write(data)

    def _replace(self, kind: int, frame: bytes) -> None:
        command = frame[8 : 8 + int.from_bytes(frame[4:8], "big")]
        if kind == SUBSCRIBE:
            asked = parse_subscribe(command)
            found = self._controlled.get(asked.name)
            if found is not None:
                frame = asked.encode(found.properties, durable=found.durable)
                if not asked.is_partition:  # the library divides the credit between partitions by itself
                    self._ours[asked.number] = found
                    self._fresh.add(asked.number)
            self._write(frame)
            return
        number = int(contents(command).get(1) or 0)
        ours = self._ours.get(number)
        if ours is None:
            self._write(frame)
        elif number in self._fresh:
            self._fresh.discard(number)
            ours.ready(lambda permits: self._grant(flow(number, permits)))

    def _grant(self, frame: bytes) -> None:
        if self._left:
            self._grants.append(frame)
        else:
            self._write(frame)

"""What the client library writes to a broker: passed on, except that its consumers get the credit that we give them.

The library asks for as many messages as its queue holds (FLOW), which it could not be told to do one by one. So its
requests are dropped and ours are written instead, between its frames.
"""

from collections.abc import Callable
from functools import partial
from typing import Final

from jmsbridge_pulsar.connection.attachments import REQUESTS, Attachments, Begins, Controlled
from jmsbridge_pulsar.connection.last_messages import LastMessages
from jmsbridge_pulsar.connection.protocol import (
    CLOSE_CONSUMER,
    FLOW,
    SUBSCRIBE,
    Consumer,
    Frame,
    Frames,
    contents,
    encode_flow,
    number_of,
    parse_subscribe,
)

__all__ = ["Upstream"]

_ANY: Final = 1 << 32  # bytes of a message: the library's frames are trusted


class Upstream:
    """For one connection. ``controlled`` has the consumers by name, ``write`` passes bytes to the broker."""

    def __init__(
        self,
        controlled: dict[str, Controlled],
        attachments: Attachments,
        last_messages: LastMessages,
        write: Callable[..., None],
    ) -> None:
        self._controlled = controlled
        self._attachments = attachments
        self._last_messages = last_messages
        self._write = write
        self._frames = Frames(_ANY)
        self._frames.wanted = {FLOW} | REQUESTS
        self._ours: dict[int, str] = {}  # their names, so that nothing of a consumer is kept after it has ended
        self._fresh: set[int] = set()  # subscribed, and not ready yet
        self._made: list[bytes] = []  # what ``take`` is about to write
        self._inserted: list[bytes] = []  # until the library's frame has ended

    def take(self, data: bytes) -> None:
        """Pass on what the library wrote."""
        made = self._made
        for found in self._frames.feed(data):
            if isinstance(found, Frame):
                self._read(found)
            else:
                made.append(found)
            if self._inserted and self._frames.is_between:
                made += self._inserted
                self._inserted.clear()
        if made:
            self._write(b"".join(made))
            made.clear()

    def insert(self, *frame: bytes) -> None:
        """Write the parts of a frame of ours, between two of the library's."""
        if self._made or not self._frames.is_between:
            self._inserted += frame
        else:
            self._write(*frame)

    def _read(self, frame: Frame) -> None:
        if frame.kind == FLOW:
            self._flow(frame)
            return
        self._attachments.asked(frame, self.insert)
        data = frame.data
        if frame.kind == CLOSE_CONSUMER:
            number = number_of(contents(frame.command), 1)
            self._ours.pop(number, None)
            self._fresh.discard(number)
        elif frame.kind == SUBSCRIBE:
            asked = parse_subscribe(frame.command)
            found = self._controlled.get(asked.name)
            if found is not None:
                start = self._start(frame, asked, found.begins) if found.begins and asked.begins_at_end else None
                data = asked.encode(found.own, found.properties, start, durable=found.durable)
                if asked.partition < 0 or not found.takes:  # the library divides the credit between partitions
                    self._ours[asked.number] = asked.name
                    self._fresh.add(asked.number)
        self._made.append(data)

    def _start(self, frame: Frame, asked: Consumer, begins: Begins) -> tuple[int, int] | None:
        if begins.asks(asked.partition):
            self._last_messages.subscribing(number_of(contents(frame.command), 5), asked, begins)
        return begins.start(asked.partition)

    def _flow(self, frame: Frame) -> None:
        number = number_of(contents(frame.command), 1)
        name = self._ours.get(number)
        if name is None:
            self._made.append(frame.data)
            return
        ours = self._controlled.get(name)
        if ours is None:  # it is being closed, or was refused
            return
        if number in self._fresh:
            self._fresh.discard(number)
            ours.ready(partial(self._grant, number))
        else:
            ours.used(number_of(contents(frame.command), 2))

    def _grant(self, number: int, permits: int) -> None:
        self.insert(encode_flow(number, permits))

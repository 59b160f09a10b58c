"""Asks for the last message of a topic on which a consumer begins that leaves nothing at the broker.

If the topic moves before anything has come, the library would begin at its end once more, and what was published
meanwhile would never come. So the broker is asked where that end was, before the library learns that it is subscribed.
"""

from collections.abc import Callable
from typing import Final

from jmsbridge_pulsar.connection.attachments import Begins
from jmsbridge_pulsar.connection.protocol import (
    ERROR,
    LAST_RESPONSE,
    SUCCESS,
    Consumer,
    Frame,
    contents,
    encode_ask_last,
    number_of,
    parse_last,
)

__all__ = ["LastMessages"]

_OURS: Final = 1 << 62  # added to the number of the library's request, for ours
_PATIENCE: Final = 1.0  # seconds: while a broker recovers transactions it answers later, and it is too late then


class LastMessages:
    """For one connection; I/O thread. ``late`` gets an answer of the broker that was kept for too long."""

    def __init__(
        self,
        call_later: Callable[[float, Callable[[], None]], object],
        write: Callable[[bytes], None],
        late: Callable[[Frame], None],
    ) -> None:
        self._call_later = call_later
        self._write = write
        self._late = late
        self._opening: dict[int, tuple[Consumer, Begins]] = {}  # by the number of the request
        self._kept: dict[int, Frame] = {}  # the answer to it

    def subscribing(self, request: int, asked: Consumer, begins: Begins) -> None:
        """The library subscribes, and nothing is known yet of this partition."""
        self._opening[request] = asked, begins

    def take(self, frame: Frame) -> Frame | None:
        """What is to be done with a frame of the broker: it comes back, or one that was kept, or none yet."""
        found = contents(frame.command)
        request = number_of(found, 2 if frame.kind == LAST_RESPONSE else 1)
        if request - _OURS in self._opening:
            asked, begins = self._opening.pop(request - _OURS)
            begins.learn(asked.partition, parse_last(frame.command) if frame.kind == LAST_RESPONSE else None)
            return self._kept.pop(request - _OURS, None)
        if frame.kind == ERROR:
            self._opening.pop(request, None)
        elif frame.kind == SUCCESS and request in self._opening:
            self._kept[request] = frame
            self._call_later(_PATIENCE, lambda: self._give_up(request))
            self._write(encode_ask_last(self._opening[request][0].number, request + _OURS))
            return None
        return frame

    def _give_up(self, request: int) -> None:
        kept = self._kept.pop(request, None)
        if kept is not None:
            asked, begins = self._opening[request]
            begins.learn(asked.partition, None)
            self._late(kept)

    def close(self) -> None:
        """The connection has ended."""
        self._kept.clear()

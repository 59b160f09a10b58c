"""Messages by their position, on brokers that keep them in a log: read again, by any number of readers."""

from collections.abc import Callable, Generator
from typing import NamedTuple, TypeVar

from jmsbridge.core import arguments
from jmsbridge.core.connection import ConnectionCore
from jmsbridge.core.runtime.interrupts import wait_whole
from jmsbridge.core.translate import translated
from jmsbridge.destinations import Destination
from jmsbridge.errors import JMSException, UnsupportedFeatureException, unchecked
from jmsbridge.message import Message, message_from_arrival
from jmsbridge.spi import Positions, Reading
from jmsbridge.strict import Strict

__all__ = ["MessagePositions", "PositionedMessage", "Skip"]

_MOST = 1000  # messages that are read at a time

T = TypeVar("T")


class PositionedMessage(NamedTuple):
    """A message, and the position behind it."""

    message: Message
    position: str


class Skip(NamedTuple):
    """The position behind some messages, and how many these are."""

    position: str
    messages: int


class MessagePositions(Strict):
    """Reads destinations by position, outside of any session or transaction. Thread-safe.

    A destination has one or more lanes (partitions), each with an order of its own. A position is a text that stands
    for the place behind a message of its lane, or before the first one; it stays valid in other processes and after a
    restart of the broker. Reading takes no message from a consumer, and delayed, expired and consumed messages are
    shown, too.

    Uses the current link of its connection. Raises JMSException and subclasses, or their unchecked twins when it
    belongs to a JMSContext: InvalidDestination for a destination or lane that the broker does not know; JMSError with
    the ``error_code`` "PositionLost" if messages of a range are gone, or may be.
    """

    __slots__ = ("_connection", "_core", "_simplified")

    def __init__(self, core: ConnectionCore, *, simplified: bool = False, connection: object = None) -> None:
        self._core = core
        self._connection = connection  # referenced so that it is not collected, and closed, while this is in use
        self._simplified = simplified
        self._ask(lambda positions: None)  # raises UnsupportedFeature if the backend has no positions

    def _ask(self, act: Callable[[Positions], T], undo: Callable[[T], None] | None = None) -> T:
        def asked() -> T:
            self._core.check_open()
            link, plan, _ = self._core.wait_link()
            if not isinstance(link, Positions):
                raise UnsupportedFeatureException(
                    f"{plan.broker} is not read by position: it forgets what was consumed; use a consumer or a browser",
                    "positions",
                )
            return wait_whole(lambda: act(link), undo)

        return self._checked(asked)

    def _checked(self, act: Callable[[], T]) -> T:
        try:
            with translated:
                return act()
        except JMSException as error:
            if self._simplified:
                raise unchecked(error) from error
            raise

    def lanes(self, destination: Destination) -> list[str]:
        """The names of its lanes: one, unless the destination is divided. New ones are added at the end."""
        address = arguments.destination(destination).address
        return self._ask(lambda positions: positions.lanes(address))

    def first(self, destination: Destination, lane: str) -> str:
        """The position before the first message that the broker still has; ``last`` if the lane is empty."""
        address = arguments.destination(destination).address
        return self._ask(lambda positions: positions.first(address, lane))

    def last(self, destination: Destination, lane: str) -> str:
        """The position behind the last message that the broker has now."""
        address = arguments.destination(destination).address
        return self._ask(lambda positions: positions.last(address, lane))

    def compare(self, one: str, other: str) -> int:
        """Negative, 0 or positive, as the first of two positions of a lane is before, at or behind the second one."""
        return self._ask(lambda positions: positions.compare(one, other))

    def skip(self, destination: Destination, lane: str, start: str, most: int, end: str | None = None) -> Skip:
        """The position behind the next ``most`` messages after ``start``, or behind all if they are fewer.

        It is never behind ``end``.
        """
        address, most = arguments.destination(destination).address, arguments.count(most, "most")
        return Skip(*self._ask(lambda positions: positions.skip(address, lane, start, most, end)))

    def read(
        self, destination: Destination, lane: str, start: str | None = None, end: str | None = None
    ) -> Generator[PositionedMessage, None, None]:
        """The messages behind ``start`` and not behind ``end``, in their order; by default all that there are now.

        A range gives the same messages each time, or fails. The broker is asked when the first message is; an iterator
        that is left early is closed when it is collected, or by its ``close``.
        """
        address = arguments.destination(destination).address
        begin = self.first(destination, lane) if start is None else start
        until = self.last(destination, lane) if end is None else end
        return self._messages(lambda positions: positions.read(address, lane, begin, until, _MOST))

    def _messages(self, open_reading: Callable[[Positions], Reading]) -> Generator[PositionedMessage, None, None]:
        reading = self._ask(open_reading, lambda opened: opened.close())
        try:
            while taken := self._checked(lambda: wait_whole(reading.take)):
                for envelope, after in taken:
                    yield PositionedMessage(message_from_arrival(envelope, False, 1, None), after)
        finally:
            wait_whole(reading.close)

    def __repr__(self) -> str:
        return f"<MessagePositions of {self._core.target.endpoints[0]}>"

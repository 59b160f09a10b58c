"""Ranges of a destination: where they begin and end, and their messages as batches of Arrow."""

import json
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import islice
from typing import NamedTuple, TypeVar

import pyarrow as pa

from jmsbridge import Connection, JMSException, MessagePositions, PositionedMessage
from jmsbridge.documents import size_of
from jmsbridge.errors import ConfigurationError
from jmsbridge.spark.connections import Connections
from jmsbridge.spark.options import connect
from jmsbridge.spark.position_options import PositionOptions
from jmsbridge.spark.schema import batch_of, placed

__all__ = ["Range", "Ranges", "rows_of_range"]

log = logging.getLogger("jmsbridge.spark")

_ROWS = 1000
_BYTES = 16 * 1024 * 1024
_STEP = 1000  # messages of a task, at least: each opens a reader
_PATIENCE = 30.0  # seconds for which a lost link is asked again
_LOST = ("LinkLost", "ConnectFailed")

T = TypeVar("T")


class Range(NamedTuple):
    """Messages of one lane, whose place among the lanes is ``number``."""

    lane: str
    number: int
    start: str
    end: str


class Ranges:
    """The lanes of a destination and the positions in them, as the driver plans with them. For one thread."""

    def __init__(self, options: PositionOptions) -> None:
        self._options = options
        self._where = options.destination
        self._connection: Connection | None = None

    def lanes(self) -> list[str]:
        """The names of its lanes."""
        return self._ask(lambda positions: positions.lanes(self._where))

    def first(self, lane: str) -> str:
        """The position before the first message that is there."""
        return self._ask(lambda positions: positions.first(self._where, lane))

    def last(self, lane: str) -> str:
        """The position behind the last message that is there."""
        return self._ask(lambda positions: positions.last(self._where, lane))

    def is_before(self, lane: str, one: str, other: str) -> bool:
        """Whether one position is before the other."""
        return self._ask(lambda positions: positions.compare(one, other)) < 0

    def chosen(self, name: str, value: str) -> dict[str, str]:
        """The positions that a user means by the option ``name``, by lane."""
        lanes = self.lanes()
        wanted = dict.fromkeys(lanes, value) if value in ("earliest", "latest") else json.loads(value)
        if wanted.keys() != set(lanes):
            raise ConfigurationError(
                f"{name} must have a position for each lane of {self._where}, {', '.join(lanes)}, and has one for "
                f"{', '.join(wanted) or 'none'}"
            )
        return {lane: self._position(lane, wanted[lane]) for lane in lanes}

    def _position(self, lane: str, value: str) -> str:
        if value == "earliest":
            return self.first(lane)
        if value == "latest":
            return self.last(lane)
        self._ask(lambda positions: positions.compare(value, value))  # refuses what is no position
        return value

    def steps(self, lane: str, start: str, most: int, pieces: int, end: str | None) -> tuple[list[str], int]:
        """Positions that divide the next messages, at most ``most``, among tasks, the last one at their end.

        And how many messages these are; none of them is behind ``end``.
        """
        size = max(_STEP, -(-most // pieces))
        found: list[str] = []
        count = 0
        at = start
        while count < most:
            at, passed = self._skip(lane, at, min(size, most - count), end)
            count += passed
            if not passed:
                break
            found.append(at)
            if passed < size:
                break
        return found, count

    def _skip(self, lane: str, start: str, most: int, end: str | None) -> tuple[str, int]:
        try:
            return self._ask(lambda positions: positions.skip(self._where, lane, start, most, end))
        except JMSException as error:
            if not _is_lost(error, self._options):
                raise
            return self._ask(lambda positions: positions.skip(self._where, lane, self.first(lane), most, end))

    def _ask(self, act: Callable[[MessagePositions], T]) -> T:
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                if self._connection is None:
                    self._connection = connect(self._options)
                return act(self._connection.positions)
            except JMSException as error:
                if error.error_code not in _LOST or time.monotonic() > deadline:
                    raise
                log.info("asking for positions of %s again: %s", self._where, error)

    def close(self) -> None:
        """Disconnect."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


_connections: Connections[PositionOptions, Connection] = Connections(connect, lambda made: made.close())


def rows_of_range(options: PositionOptions, columns: Sequence[str], part: Range) -> Iterator[pa.RecordBatch]:
    """The messages of a range with these columns; any number of times the same."""
    try:
        yield from _rows(options, columns, part, _connections.get(options).positions)
    except BaseException:
        _connections.forget(options)
        raise


def _rows(
    options: PositionOptions, columns: Sequence[str], part: Range, positions: MessagePositions
) -> Iterator[pa.RecordBatch]:
    start = part.start if options.fail_on_data_loss else _left(options, part, positions)
    try:
        with closing(positions.read(options.destination, part.lane, start, part.end)) as messages:
            while taken := list(_taken(messages)):
                yield _batch(taken, part.number, columns, options)
    except JMSException as error:
        if not _is_lost(error, options):  # if it is, all is gone: the broker does not say how far
            raise


def _left(options: PositionOptions, part: Range, positions: MessagePositions) -> str:
    """Where what is left of a range begins."""
    try:
        positions.skip(options.destination, part.lane, part.start, 1, part.end)
    except JMSException as error:
        if not _is_lost(error, options):
            raise
        return positions.first(options.destination, part.lane)
    return part.start


def _taken(messages: Iterator[PositionedMessage]) -> Iterator[PositionedMessage]:
    size = 0
    for each in islice(messages, _ROWS):
        yield each
        size += size_of(each.message)
        if size >= _BYTES:
            return


def _batch(
    taken: Sequence[PositionedMessage], number: int, columns: Sequence[str], options: PositionOptions
) -> pa.RecordBatch:
    count = len(taken)
    batch = batch_of([each.message for each in taken], [None] * count)
    added: dict[str, Callable[[], pa.Array]] = {
        "position": lambda: pa.array([each.position for each in taken], pa.string()),
        "lane": lambda: pa.repeat(pa.scalar(number, pa.int32()), count),
    }
    return placed(batch, columns, added, options.body_format, options.decode_errors)


def _is_lost(error: JMSException, options: PositionOptions) -> bool:
    """Whether messages are gone and the query goes on behind them."""
    if error.error_code != "PositionLost" or options.fail_on_data_loss:
        return False
    log.warning("failOnDataLoss=false: the query goes on with what is there: %s", error)
    return True

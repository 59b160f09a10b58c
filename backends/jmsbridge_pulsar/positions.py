"""The SPI's Positions: readers of the client library, one for each call that reads.

A position is a ledger, an entry and the index in its batch, of the message before it: ``12:34:5``, with -1 for the
index where a message is no part of a batch. ``12:-1:-1`` is the beginning of a ledger, ``-1:-1:-1`` that of the topic.
The broker removes whole ledgers. So a range is complete if its first message is of the ledger of ``start``, or if the
message before it, which is therefore asked for, too, is still there.
"""

import re
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, Final

import _pulsar

from jmsbridge.spi import Address, AddressRefused, BackendError, Envelope, Positioned, PositionLost, Reading, Skipped
from jmsbridge.transport.network.link_life import Done
from jmsbridge_pulsar.connection.errors import explain, result_of
from jmsbridge_pulsar.facts import LinkFacts
from jmsbridge_pulsar.receiving.delivery import envelope_of, key_of, read_text
from jmsbridge_pulsar.receiving.opening import has_more, open_reader, partitions_of, reader_settings

__all__ = ["PulsarPositions"]

_Place = tuple[int, int, int]

_BEGINNING: Final = (-1, -1, -1)
_TEXT: Final = re.compile(r"(-1|[0-9]+):(-1|[0-9]+):(-1|[0-9]+)", re.ASCII)
_WINDOW: Final = 1000  # messages that the broker sends ahead
_SLICE: Final = 1000  # milliseconds after which a wait looks whether the link is lost
_PATIENCE: Final = 30.0  # seconds for a message that is there


class PulsarPositions(ABC):
    """The verbs of the SPI's Positions; the link extends it. Any thread."""

    @abstractmethod
    def _reading(self) -> LinkFacts:
        """The link's; LinkLost if it has ended."""

    def lanes(self, address: Address) -> list[str]:
        """The numbers of its partitions; "0" for a topic that is not divided."""
        return [str(number) for number in range(len(partitions_of(self._reading(), address)))]

    def first(self, address: Address, lane: str) -> str:
        """The position before the first message."""
        reader = _Reader(self._reading(), address, lane, _pulsar.MessageId.earliest, 1)
        try:
            for _, (ledger, entry, index) in reader.messages():
                return _text((ledger, entry, index - 1) if index > 0 else (ledger, entry - 1, -1))
            return _text(_BEGINNING)
        finally:
            reader.close()

    def last(self, address: Address, lane: str) -> str:
        """The position behind the last message."""
        reader = _Reader(self._reading(), address, lane, _pulsar.MessageId.latest, 1)
        try:
            for _, place in reader.messages():
                return _text(place)
            return _text(_BEGINNING)
        finally:
            reader.close()

    def compare(self, one: str, other: str) -> int:
        """Ledgers, entries and indexes only grow."""
        first, second = _place(one), _place(other)
        return (first > second) - (first < second)

    def skip(self, address: Address, lane: str, start: str, most: int, end: str | None = None) -> Skipped:
        """Read without decoding."""
        at, until = _place(start), None if end is None else _place(end)
        count = 0
        if most < 1 or (until is not None and until <= at):
            return Skipped(start, count)
        source = _Range(self._reading(), address, lane, at, until, most)
        try:
            for _, place in source.messages():
                at = place
                count += 1
                if count == most:
                    break
            return Skipped(_text(at), count)
        finally:
            source.close()

    def read(self, address: Address, lane: str, start: str, end: str, most: int) -> Reading:
        """Read with one reader."""
        facts, begin, until = self._reading(), _place(start), _place(end)
        return _Reading(facts, address, _Range(facts, address, lane, begin, until, most), most)


class _Reading:
    """The SPI's Reading."""

    def __init__(self, facts: LinkFacts, address: Address, source: "_Range", most: int) -> None:
        self._facts = facts
        self._address = address
        self._source = source
        self._messages = source.messages()
        self._most = max(1, most)
        self._error: BackendError | None = None

    def take(self) -> Sequence[Positioned]:
        """The next messages."""
        if self._error is not None:  # an iterator that has failed would look as if it were at its end
            raise self._error
        found: list[Positioned] = []
        try:
            self._facts.life.check()
            for message, place in self._messages:
                found.append(Positioned(self._envelope(message), _text(place)))
                if len(found) == self._most:
                    break
        except BackendError as error:
            self._error = error
            raise
        return found

    def _envelope(self, message: Any) -> Envelope:
        properties = read_text(message.properties)
        return envelope_of(message, key_of(message), properties, self._address, self._facts.names)

    def close(self) -> None:
        """Stop."""
        self._source.close()


class _Reader:
    """A reader from ``start`` on, the message there included."""

    def __init__(self, facts: LinkFacts, address: Address, lane: str, start: Any, window: int) -> None:
        facts.life.check()
        self._facts = facts
        self._what = f"reading {address} by position"
        topics = partitions_of(facts, address)
        if lane not in map(str, range(len(topics))):
            raise AddressRefused(f"{address} has no lane {lane!r}: {facts.life.broker} has {len(topics)}, from '0' on")
        settings = reader_settings(min(window, _WINDOW))
        settings.start_message_id_inclusive(True)

        self._reader = open_reader(facts, topics[int(lane)], start, settings, self._what)
        self._closed = False

    def messages(self) -> Iterator[tuple[Any, _Place]]:
        """The messages that there are now, each with its place."""
        while True:
            try:
                if not has_more(self._facts, self._reader, self._what):
                    return
                message = self._next()
            except (_pulsar.PulsarException, BackendError) as error:
                self._facts.life.check()
                if self._closed:
                    raise BackendError(f"{self._what}: it was closed") from error
                if isinstance(error, BackendError):
                    raise
                raise explain(result_of(error), self._what, self._facts.life.broker) from error
            at = message.message_id()
            yield message, (at.ledger_id(), at.entry_id(), at.batch_index())

    def _next(self) -> Any:
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                return self._reader.read_next(_SLICE)
            except _pulsar.Timeout:
                self._facts.life.check()
                if time.monotonic() > deadline:
                    raise

    def close(self) -> None:
        """Close it."""
        if self._closed:
            return
        self._closed = True

        def close_reader(done: Done) -> None:
            self._facts.library.ask(self._reader.close_async, done=lambda *_: done(None, None))

        self._facts.life.wait_closing(close_reader, self._what)


class _Range:
    """The messages behind ``begin`` and not behind ``until``, or all there are; PositionLost unless all are there."""

    def __init__(
        self, facts: LinkFacts, address: Address, lane: str, begin: _Place, until: _Place | None, most: int
    ) -> None:
        self._begin = begin
        self._until = until
        self._broker = facts.life.broker
        self._address = address
        self._reader: _Reader | None = None
        if until is None or begin < until:
            self._reader = _Reader(facts, address, lane, _message_id(begin), most + 1)

    def messages(self) -> Iterator[tuple[Any, _Place]]:
        """The messages with their places."""
        if self._reader is None:
            return
        ledger = self._begin[0]
        at = self._begin
        for message, place in self._reader.messages():
            if ledger not in (-1, place[0]):
                raise self._lost(f"the broker has nothing of ledger {ledger} any more")
            ledger = -1
            if place <= self._begin:
                continue
            if self._until is not None and place > self._until:
                raise self._lost(f"the message before {_text(self._until)} is gone")
            at = place
            yield message, place
            if at == self._until:
                return
        if self._until is not None:
            raise self._lost(f"the broker has nothing behind {_text(at)}")

    def _lost(self, reason: str) -> PositionLost:
        until = "the end" if self._until is None else _text(self._until)
        return PositionLost(
            f"messages of {self._address} from {_text(self._begin)} to {until} are gone, or may be: {reason} "
            f"({self._broker}); keep them longer by the retention of its namespace"
        )

    def close(self) -> None:
        """Close it."""
        if self._reader is not None:
            self._reader.close()


def _message_id(place: _Place) -> Any:
    if place == _BEGINNING:
        return _pulsar.MessageId.earliest
    return _pulsar.MessageId(-1, *place)


def _place(text: str) -> _Place:
    found = _TEXT.fullmatch(text)
    if found is None:
        raise BackendError(f"{text!r} is no position of a topic: one is ledger, entry and index, such as '12:34:-1'")
    return int(found[1]), int(found[2]), int(found[3])


def _text(place: _Place) -> str:
    return ":".join(map(str, place))

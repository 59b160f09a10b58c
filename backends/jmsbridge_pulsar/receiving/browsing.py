"""Browsers: a reader from the first message that the queue's subscription has not settled.

The REST interface knows where that is, and which messages behind it are settled.
"""

import bisect
import re
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import _pulsar

from jmsbridge.spi import Address, AddressRefused
from jmsbridge.transport.network.link_life import after_all, ignored
from jmsbridge_pulsar.administration.rest import Rest, check_persistent, topic_path
from jmsbridge_pulsar.connection.library import Answered, Library, Result
from jmsbridge_pulsar.facts import LinkFacts
from jmsbridge_pulsar.receiving.delivery import key_of
from jmsbridge_pulsar.receiving.memory import Key, Lately, known_of
from jmsbridge_pulsar.receiving.opening import has_more, open_reader, partitions_of, reader_settings
from jmsbridge_pulsar.receiving.takers import ReaderTaker, Taker

__all__ = ["open_browser"]

_PATIENCE: Final = 5000  # milliseconds for a message that is there
_RANGE: Final = re.compile(r"([(\[])(\d+):(-?\d+)\.\.(\d+):(-?\d+)([)\]])")

_Position = tuple[int, int]


class _Part(ReaderTaker):
    """On a topic, or one of its partitions; ends with the last message there was."""

    def __init__(
        self, is_more: Callable[[Any], bool], reader: Any, settled: "_Settled", partition: int, accepted: Lately
    ) -> None:
        super().__init__(reader, ignored)
        self._is_more = is_more
        self._settled = settled
        self._partition = partition
        self._accepted = accepted

    def take(self, seconds: float) -> Any:
        """See ``Taker``; without more messages it does not wait."""
        while self._is_more(self._reader):
            message = self._reader.read_next(_PATIENCE)
            ledger, entry, _, batch, published = key_of(message)
            key = ledger, entry, self._partition, batch, published
            if (ledger, entry) not in self._settled and key not in self._accepted:
                return message
        return None


class _Browser:
    """A ``Taker`` of one part after the other; nothing is settled."""

    waiting = 0

    def __init__(self, parts: list[_Part]) -> None:
        self._parts = parts
        self._left = iter(parts)
        self._part = next(self._left, None)

    def take(self, seconds: float) -> Any:
        """See ``Taker``."""
        while self._part is not None:
            message = self._part.take(seconds)
            if message is not None:
                return message
            self._part = next(self._left, None)
        return None

    def accept(self, key: Key, message: Any) -> None:
        """Nothing to do."""

    def requeue(self, key: Key, message: Any) -> None:
        """Nothing to do."""

    def close(self, library: Library, done: Answered) -> None:
        """See ``Taker``."""
        after_all([partial(part.close, library) for part in self._parts], partial(done, Result.Ok, None))


class _Settled:
    """What a subscription has settled: the entries up to ``mark``, and the ranges that the broker lists behind it.

    The first end of a range is not in it, the second is.
    """

    def __init__(self, mark: _Position, text: str) -> None:
        found = _RANGE.findall(text)
        self._mark = mark
        self._begins: list[_Position] = [(int(part[1]), int(part[2])) for part in found]
        self._ends: list[_Position] = [(int(part[3]), int(part[4])) for part in found]

    def __contains__(self, position: _Position) -> bool:
        at = bisect.bisect_left(self._begins, position) - 1
        return position <= self._mark or (at >= 0 and position <= self._ends[at])


def open_browser(facts: LinkFacts, address: Address, window: int) -> Taker:
    """Open one; blocks."""
    rest = facts.rest
    assert rest is not None
    facts.life.wait(lambda done: facts.make_queue(address, done), f"browsing {address}")
    whole = facts.names.topic(address)
    topics = partitions_of(facts, address)
    accepted = known_of(str(facts.life.endpoint), whole, facts.options.queue_subscription).accepted
    parts = []

    def is_more(reader: Any) -> bool:
        return has_more(facts, reader, f"browsing {address}")

    for number, topic in enumerate(topics):
        opened = _open_part(facts, rest, address, topic, window)
        if opened is not None:
            reader, settled = opened
            parts.append(_Part(is_more, reader, settled, number if topics != [whole] else -1, accepted))
    return _Browser(parts)


def _open_part(facts: LinkFacts, rest: Rest, address: Address, topic: str, window: int) -> tuple[Any, _Settled] | None:
    """The reader, and what it passes over; None if all is settled, and the library would wait for the last one."""
    check_persistent(topic)
    stats = rest.get(f"{topic_path(topic)}/internalStats")
    cursor = stats["cursors"].get(facts.options.queue_subscription)
    if cursor is None:
        raise AddressRefused(f"{address} has no subscription {facts.options.queue_subscription!r}")
    ledger, entry = _position(cursor["markDeletePosition"])
    if _position(stats["lastConfirmedEntry"]) <= (ledger, entry):
        return None
    start = _pulsar.MessageId(-1, ledger, entry, -1)  # of an entry with several messages it shows that one, too
    reader = open_reader(facts, topic, start, reader_settings(window), f"browsing {address}")
    return reader, _Settled((ledger, entry), cursor["individuallyDeletedMessages"])


def _position(text: str) -> _Position:
    ledger, entry = map(int, text.split(":"))
    return ledger, entry

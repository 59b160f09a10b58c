"""The producers and consumers that the client library has opened at the brokers.

When a broker closes one, because its topic moves to another broker or is deleted, the library opens it again by itself;
if that is refused it tries for ever, and tells nobody. Here such a refusal is noticed.

A broker may close one before it says that it is open. The library would then take it for open: its messages would never
be stored, or none would ever arrive. So the library gets the two in the order in which they make sense.

After most errors of a broker the library tries again to open a producer. It does not for a consumer that is opened for
the first time, and says so after its time-out. Such errors become one that it reports at once, and ``Words`` has the
true one.
"""

import time
from collections.abc import Callable
from typing import Final, Protocol

import msgspec

from jmsbridge.spi import BackendError
from jmsbridge_pulsar.connection.errors import Words
from jmsbridge_pulsar.connection.partitions import number_of_partition
from jmsbridge_pulsar.connection.protocol import (
    CLOSE_CONSUMER,
    CLOSE_PRODUCER,
    ERROR,
    LOOKUP,
    LOOKUP_RESPONSE,
    PRODUCER,
    PRODUCER_SUCCESS,
    SUBSCRIBE,
    SUCCESS,
    Frame,
    contents,
    finish,
    number_of,
    text_of,
    words_of,
)

__all__ = ["ANSWERS", "REQUESTS", "Attached", "Attachments", "Begins", "Controlled", "Sender"]

REQUESTS: Final = frozenset({SUBSCRIBE, PRODUCER, CLOSE_PRODUCER, CLOSE_CONSUMER, LOOKUP})
"""The kinds of frames that ``asked`` reads."""
ANSWERS: Final = frozenset({SUCCESS, PRODUCER_SUCCESS, ERROR, CLOSE_PRODUCER, CLOSE_CONSUMER, LOOKUP_RESPONSE})
"""The kinds of frames that ``answered`` reads."""

_TEMPORARY: Final = {0, 1, 2, 5, 6, 7, 8, 14, 16}  # codes of errors that may pass: the topic is on its way, or taken
_PATIENCE: Final = 10.0  # seconds for which such an error may last
_REPORTED: Final = {3, 4, 5, 7, 8, 9, 11, 14, 15, 16, 18, 19, 22}  # codes of errors that the library reports at once
_FAILED: Final = 2  # of the answers to lookups


class Begins(Protocol):
    """Where a subscription that is not durable begins, if it is new; a place is ledger and entry of a message."""

    def asks(self, partition: int) -> bool:
        """Whether it must ``learn`` where that partition ends now."""

    def learn(self, partition: int, last: tuple[int, int] | None) -> None:
        """The last message of the partition when the consumer was opened; None if the broker does not say."""

    def start(self, partition: int) -> tuple[int, int] | None:
        """After which message it begins; None: at the end."""


class Controlled(Protocol):
    """A consumer whose credit is ours; called on the I/O thread."""

    durable: bool
    """Whether its subscription outlives it."""
    takes: bool
    """Whether it gets messages at all."""
    own: dict[str, str]
    """More properties of the consumer."""
    properties: dict[str, str]
    """Those of the subscription, if it is new."""
    begins: Begins | None
    """None for one that is durable."""

    def ready(self, grant: Callable[[int], None]) -> None:
        """It has no credit and can get some now, with ``grant``; again after the broker has moved its topic."""

    def used(self, count: int) -> None:
        """The library would ask for that many messages more: it has passed so many on, or dropped them."""

    def refused(self, error: BackendError) -> None:
        """The broker has closed it, and does not let it come again."""


class Sender(Protocol):
    """Who sends through a producer, past the library; called on the I/O thread."""

    def opened(self) -> None:
        """It is open again: what has no answer is to be sent once more."""

    def answered(self, sequence: int, is_stored: bool) -> None:
        """The broker has stored what was sent with this number, or refuses that alone."""


class Attached(msgspec.Struct):
    """One producer or consumer; ``name`` is the consumer's, ``number`` that of the library."""

    topic: str
    name: str | None
    number: int
    insert: Callable[..., None]
    """Writes the parts of a frame to its broker."""
    producer: bytes = b""
    """The producer's name, which the broker has given it."""
    sender: Sender | None = None
    is_made: bool = False
    closed_at: float = 0.0
    """``time.monotonic()`` when the broker closed it; 0 while it is open."""
    is_asked: bool = False
    """Whether the broker has been asked to open it, and has not answered."""
    held: bytes = b""
    """The frame with which the broker closed it before it answered."""

    @property
    def is_open(self) -> bool:
        """Whether it can be used now."""
        return self.is_made and not self.is_asked and not self.closed_at


class Attachments:
    """For one link. ``refused`` gets what cannot be opened again, the broker's code and its words; ``closed`` gets what
    a broker has closed, which the library will open again, and gets it once more when it is open.

    ``words`` gets those with which it refuses to open something for the first time, which the library reports.
    """

    def __init__(
        self, refused: Callable[[Attached, int, str], None], closed: Callable[[Attached], None], words: Words
    ) -> None:
        self._refused = refused
        self._closed = closed
        self._words = words
        self._all: dict[tuple[int, int], Attached] = {}  # by the kind of the request that opens it, and its number
        self._requests: dict[int, tuple[int, int]] = {}
        self._lookups: dict[int, str] = {}

    def asked(self, frame: Frame, insert: Callable[..., None]) -> None:
        """The library opens, closes or looks for something, on the connection to which ``insert`` writes."""
        kind, found = frame.kind, contents(frame.command)
        if kind == LOOKUP:
            self._lookups[number_of(found, 2)] = text_of(found, 1)
        elif kind in (CLOSE_PRODUCER, CLOSE_CONSUMER):
            self._all.pop((_opening(kind), number_of(found, 1)), None)
        else:
            name = text_of(found, 6) if kind == SUBSCRIBE else None
            key = kind, number_of(found, 4 if kind == SUBSCRIBE else 2)
            self._requests[number_of(found, 5 if kind == SUBSCRIBE else 3)] = key
            asked = self._all.setdefault(key, Attached(text_of(found, 1), name, key[1], insert))
            asked.is_asked, asked.held, asked.insert = True, b"", insert

    def producer(self, topic: str, name: str) -> Attached | None:
        """The one that the broker has given this name; None if it has gone already."""
        wanted = name.encode()
        return next((each for each in self._all.values() if each.producer == wanted and each.topic == topic), None)

    def consumer(self, name: str, partition: int) -> Attached | None:
        """The one of this name on a partition of its topic, -1 if that has none; None if it has gone already."""
        found = (each for each in self._all.values() if each.name == name)
        return next((each for each in found if number_of_partition(each.topic) == partition), None)

    def sender(self, producer: int) -> Sender | None:
        """Who sends through the producer of this number; None if the library does."""
        found = self._all.get((PRODUCER, producer))
        return None if found is None else found.sender

    def closed(self, frame: Frame, passed: bytes) -> bytes:
        """A broker closes something. What the library gets now, ``passed`` or nothing."""
        closed = self._all.get((_opening(frame.kind), number_of(contents(frame.command), 1)))
        if closed is None:
            return passed
        closed.closed_at = time.monotonic()
        self._closed(closed)
        if closed.is_asked:
            closed.held, passed = passed, b""
        return passed

    def answered(self, frame: Frame) -> bytes:
        """A broker answers. What the library gets."""
        kind, found = frame.kind, contents(frame.command)
        if kind == LOOKUP_RESPONSE:
            topic = self._lookups.pop(number_of(found, 4), None)
            if topic is not None and number_of(found, 3) == _FAILED:
                self._fail_topic(topic, number_of(found, 6), words_of(found, 7))
            return frame.data
        key = self._requests.pop(number_of(found, 1), None)
        opened = self._all.get(key) if key is not None else None
        if key is None or opened is None:
            return frame.data
        held, opened.held, opened.is_asked = opened.held, b"", False
        if kind == ERROR:
            code = number_of(found, 2)
            self._fail(key, opened, code, words_of(found, 3))
            if opened.name is None or opened.is_made or code in _REPORTED:
                return frame.data
            self._words.correct(opened.name, code)
            return finish(frame)
        opened.is_made = True
        if kind == PRODUCER_SUCCESS:
            opened.producer = text_of(found, 2).encode()
        if opened.closed_at and not held:
            opened.closed_at = 0.0
            self._closed(opened)
        if opened.sender is not None and opened.is_open:
            opened.sender.opened()
        return frame.data + held

    def _fail_topic(self, topic: str, code: int, said: str) -> None:
        for key, each in list(self._all.items()):
            if each.topic == topic and each.closed_at:
                self._fail(key, each, code, said)

    def _fail(self, key: tuple[int, int], failed: Attached, code: int, said: str) -> None:
        if not failed.is_made:
            self._words.say(said)
            del self._all[key]
        elif code not in _TEMPORARY or time.monotonic() - failed.closed_at > _PATIENCE:
            del self._all[key]
            self._refused(failed, code, said)


def _opening(kind: int) -> int:
    return PRODUCER if kind == CLOSE_PRODUCER else SUBSCRIBE

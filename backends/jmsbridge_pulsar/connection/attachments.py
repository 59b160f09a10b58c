"""The producers and consumers that the client library has opened at the brokers.

When a broker closes one, because its topic moves to another broker or is deleted, the library opens it again by itself;
if that is refused it tries for ever, and tells nobody. Here such a refusal is noticed.
"""

import time
from collections.abc import Callable
from typing import Final, Protocol

import msgspec

from jmsbridge.spi import BackendError
from jmsbridge_pulsar.connection.errors import Words
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
    number_of,
    text_of,
    words_of,
)

__all__ = ["ANSWERS", "REQUESTS", "Attached", "Attachments", "Controlled"]

REQUESTS: Final = frozenset({SUBSCRIBE, PRODUCER, CLOSE_PRODUCER, CLOSE_CONSUMER, LOOKUP})
"""The kinds of frames that ``asked`` reads."""
ANSWERS: Final = frozenset({SUCCESS, PRODUCER_SUCCESS, ERROR, CLOSE_PRODUCER, CLOSE_CONSUMER, LOOKUP_RESPONSE})
"""The kinds of frames that ``answered`` reads."""

_TEMPORARY: Final = {0, 1, 2, 5, 6, 7, 8, 14, 16}  # codes of errors that may pass: the topic is on its way, or taken
_PATIENCE: Final = 10.0  # seconds for which such an error may last
_FAILED: Final = 2  # of the answers to lookups


class Controlled(Protocol):
    """A consumer whose credit is ours; called on the I/O thread."""

    durable: bool
    """Whether its subscription outlives it."""
    takes: bool
    """Whether it gets messages at all."""
    properties: dict[str, str]
    """Those of the subscription, if it is new."""

    def ready(self, grant: Callable[[int], None]) -> None:
        """It has no credit and can get some now, with ``grant``; again after the broker has moved its topic."""

    def refused(self, error: BackendError) -> None:
        """The broker has closed it, and does not let it come again."""


class Attached(msgspec.Struct):
    """One producer or consumer; ``name`` is the consumer's."""

    topic: str
    name: str | None
    is_made: bool = False
    closed_at: float = 0.0
    """``time.monotonic()`` when the broker closed it; 0 while it is open."""


class Attachments:
    """For one link. ``refused`` gets what cannot be opened again, the broker's code and its words.

    ``words`` gets those with which it refuses to open something for the first time, which the library reports.
    """

    def __init__(self, refused: Callable[[Attached, int, str], None], words: Words) -> None:
        self._refused = refused
        self._words = words
        self._all: dict[tuple[int, int], Attached] = {}  # by the kind of the request that opens it, and its number
        self._requests: dict[int, tuple[int, int]] = {}
        self._lookups: dict[int, str] = {}

    def asked(self, frame: Frame) -> None:
        """The library opens, closes or looks for something."""
        kind, found = frame.kind, contents(frame.command)
        if kind == LOOKUP:
            self._lookups[number_of(found, 2)] = text_of(found, 1)
        elif kind in (CLOSE_PRODUCER, CLOSE_CONSUMER):
            self._all.pop((_opening(kind), number_of(found, 1)), None)
        else:
            name = text_of(found, 6) if kind == SUBSCRIBE else None
            key = kind, number_of(found, 4 if kind == SUBSCRIBE else 2)
            self._requests[number_of(found, 5 if kind == SUBSCRIBE else 3)] = key
            self._all.setdefault(key, Attached(text_of(found, 1), name))

    def answered(self, frame: Frame) -> None:
        """A broker answers, or closes something."""
        kind, found = frame.kind, contents(frame.command)
        if kind == LOOKUP_RESPONSE:
            topic = self._lookups.pop(number_of(found, 4), None)
            if topic is not None and number_of(found, 3) == _FAILED:
                self._fail_topic(topic, number_of(found, 6), words_of(found, 7))
        elif kind in (CLOSE_PRODUCER, CLOSE_CONSUMER):
            closed = self._all.get((_opening(kind), number_of(found, 1)))
            if closed is not None:
                closed.closed_at = time.monotonic()
        else:
            key = self._requests.pop(number_of(found, 1), None)
            opened = self._all.get(key) if key is not None else None
            if key is None or opened is None:
                return
            if kind == ERROR:
                self._fail(key, opened, number_of(found, 2), words_of(found, 3))
            else:
                opened.is_made, opened.closed_at = True, 0.0

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

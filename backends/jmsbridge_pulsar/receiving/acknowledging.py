"""Acknowledges whole entries, between the library's frames.

The library wants a call for each message of an entry, and each call gives the GIL to other threads and waits for it
again, which takes longer than all else that is done with a message. What is acknowledged of an entry in part is left
to the library: it tells a broker that keeps such parts, and knows which messages it never showed.
"""

import contextlib
import threading
import time
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import _pulsar

from jmsbridge_pulsar.connection.attachments import Attached
from jmsbridge_pulsar.connection.protocol import encode_ack, parse_size
from jmsbridge_pulsar.facts import LinkFacts
from jmsbridge_pulsar.receiving.memory import Key

__all__ = ["Acknowledging"]

_PATIENCE: Final = 0.05  # seconds in which all of an entry may be acknowledged; after them, what is goes to the library


_Place = tuple[int, int, int]  # ledger, entry and partition


class _Entry(NamedTuple):
    size: int
    """0 if it is left to the library."""
    begun: float
    accepted: dict[int, Any]
    """By their index, the messages that are acknowledged."""


class Acknowledging:
    """For one consumer of the library, with the name by which the relay knows it. For any thread."""

    def __init__(self, facts: LinkFacts, name: str, consumer: Any) -> None:
        self._facts = facts
        self._name = name
        self._consumer = consumer
        self._outlets: dict[int, Attached] = {}  # by partition
        self._lock = threading.Lock()  # guards the next two
        self._entries: dict[_Place, _Entry] = {}
        self._whole: list[tuple[_Place, _Entry]] = []
        self._is_watched = False  # whether ``_look`` comes; I/O thread

    def add(self, key: Key, message: Any) -> None:
        """Acknowledge a message; it reaches the broker within 0.2 s."""
        place, index = key[:3], key[3]
        with self._lock:
            entry = self._entries.get(place)
            if entry is None:
                entry = _Entry(parse_size(message.message_id().serialize()), time.monotonic(), {})
                self._entries[place] = entry
            if entry.size:
                entry.accepted[index] = message
            is_whole = len(entry.accepted) == entry.size != 0
            if is_whole:
                self._whole.append((place, self._entries.pop(place)))
        if is_whole:
            self._facts.life.thread.post(self._write)
        else:
            if not entry.size:
                self._pass_on([message])
            self._watch()

    def part(self, key: Key) -> None:
        """A message returns: of its entry the others must be acknowledged before the broker delivers it again."""
        place = key[:3]
        with self._lock:
            entry = self._entries.get(place)
            self._entries[place] = _Entry(0, time.monotonic(), {})
        if entry is not None:
            self._pass_on(entry.accepted.values())
        self._watch()

    def _watch(self) -> None:
        if not self._is_watched:
            self._facts.life.thread.post(self._begin)

    def _begin(self) -> None:
        if not self._is_watched:
            self._is_watched = True
            self._facts.life.thread.call_later(_PATIENCE, self._look)

    def _write(self) -> None:
        """Acknowledge the entries that are whole; I/O thread."""
        with self._lock:
            whole, self._whole = self._whole, []
        for (ledger, number, partition), entry in whole:
            outlet = self._outlet(partition)
            if outlet is None or not outlet.is_open:
                self._pass_on(entry.accepted.values())
            else:
                outlet.insert(encode_ack(outlet.number, ledger, number))

    def _outlet(self, partition: int) -> Attached | None:
        found = self._outlets.get(partition)
        if found is None:
            found = self._facts.consumer(self._name, partition)
            if found is not None:
                self._outlets[partition] = found
        return found

    def _look(self) -> None:
        """Leave to the library what has been acknowledged in part for long; I/O thread."""
        self._is_watched = False
        self._write()  # an interrupt may have come before it was posted
        self._leave(time.monotonic() - _PATIENCE)
        if self._entries:
            self._begin()

    def _leave(self, before: float) -> None:
        with self._lock:
            late = [place for place, entry in self._entries.items() if entry.begun <= before]
            found = [self._entries.pop(place) for place in late]
        for entry in found:
            self._pass_on(entry.accepted.values())

    def _pass_on(self, messages: Iterable[Any]) -> None:
        with contextlib.suppress(_pulsar.PulsarException):  # it has ended, and the messages come again
            for message in messages:
                # without a callback, which the library would call, and so wait for the GIL, while it holds a lock
                self._consumer.acknowledge_async(message, None)

    def flush(self) -> None:
        """The consumer is about to be closed; I/O thread."""
        self._write()
        self._leave(time.monotonic())

"""Sessions of all modes with random calls in several threads: listeners, receives, consumers that open and close.

No link is lost, so no call may report that, no transaction may be rolled back unasked, and in the end every message
must have been consumed exactly once.
"""

import os
import random
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import jmsbridge
from jmsbridge import (
    AUTO_ACKNOWLEDGE,
    CLIENT_ACKNOWLEDGE,
    DUPS_OK_ACKNOWLEDGE,
    SESSION_TRANSACTED,
    Connection,
    IllegalState,
    Message,
    MessageConsumer,
    Queue,
    Session,
)

_MODES = (AUTO_ACKNOWLEDGE, CLIENT_ACKNOWLEDGE, DUPS_OK_ACKNOWLEDGE, SESSION_TRANSACTED)
_QUEUES = tuple(Queue(f"fuzz{number}") for number in range(3))
_THREADS = 6


class _Book:
    """The messages that all sessions sent and consumed; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._number = 0
        self.sent: set[str] = set()
        self.done: Counter[str] = Counter()
        self.mistakes: list[str] = []
        self.sessions = 0
        self.operations = 0

    def name(self) -> str:
        with self._lock:
            self._number += 1
            return f"m{self._number}"

    def keep(self, sent: list[str], done: list[str]) -> None:
        with self._lock:
            self.sent.update(sent)
            self.done.update(done)

    def count(self, operations: int) -> None:
        with self._lock:
            self.sessions += 1
            self.operations += operations

    def mistake(self, text: str) -> None:
        with self._lock:
            self.mistakes.append(text)


class _Life:
    """One session from creation to close, in one thread and that of its listeners."""

    def __init__(self, connection: Connection, book: _Book, draw: random.Random) -> None:
        self._book = book
        self._draw = draw
        self._mode = draw.choice(_MODES)
        self._session: Session = connection.create_session(session_mode=self._mode)
        self._consumers: list[MessageConsumer] = []
        self._sent: list[str] = []  # not committed
        self._held: list[str] = []  # received, not settled
        self._busy = threading.RLock()  # guards the lists of this session, which its thread and its listeners use

    def run(self) -> None:
        steps = self._draw.randrange(5, 60)
        for _ in range(steps):
            try:
                self._draw.choice(
                    (
                        self._send,
                        self._receive,
                        self._receive,
                        self._end,
                        self._come,
                        self._go,
                        self._listen,
                        self._undo,
                    )
                )()
            except IllegalState:
                continue  # for example a receive beside a listener
        self._close()
        self._book.count(steps)

    @property
    def _is_automatic(self) -> bool:
        return self._mode in (AUTO_ACKNOWLEDGE, DUPS_OK_ACKNOWLEDGE)

    def _got(self, message: Message) -> None:
        name = str(message.get_body(str))
        with self._busy:
            if self._is_automatic:
                self._book.keep([], [name])
            else:
                self._held.append(name)

    def _send(self) -> None:
        name = self._book.name()
        producer = self._session.create_producer(self._draw.choice(_QUEUES))
        with self._busy:
            producer.send(name)
            if self._mode == SESSION_TRANSACTED:
                self._sent.append(name)
            else:
                self._book.keep([name], [])
        producer.close()

    def _receive(self) -> None:
        if self._consumers:
            message = self._draw.choice(self._consumers).receive(timeout=self._draw.choice((0, 0.001)))
            if message is not None:
                self._got(message)

    def _come(self) -> None:
        if len(self._consumers) < 4:
            prefetch = self._draw.choice((0, 1, 10, None))
            self._consumers.append(self._session.create_consumer(self._draw.choice(_QUEUES), prefetch=prefetch))

    def _go(self) -> None:
        if self._consumers:
            self._consumers.pop(self._draw.randrange(len(self._consumers))).close()

    def _listen(self) -> None:
        if self._consumers:
            self._draw.choice(self._consumers).message_listener = self._heard

    def _heard(self, message: Message) -> None:
        self._got(message)
        choice = self._draw.random()
        if choice < 0.2:
            self._settle()
        elif choice < 0.25:
            self._take_back()

    def _end(self) -> None:
        if not self._has_listener():
            self._settle()

    def _undo(self) -> None:
        if not self._has_listener():
            self._take_back()

    def _has_listener(self) -> bool:
        # a session with a listener belongs to the listener's thread
        return any(consumer.message_listener is not None for consumer in self._consumers)

    def _settle(self) -> None:
        with self._busy:
            if self._mode == SESSION_TRANSACTED:
                self._session.commit()
            elif self._mode == CLIENT_ACKNOWLEDGE:
                self._session.acknowledge()
            self._book.keep(self._sent, self._held)
            self._sent, self._held = [], []

    def _take_back(self) -> None:
        with self._busy:
            if self._mode == SESSION_TRANSACTED:
                self._session.rollback()
            elif self._mode == CLIENT_ACKNOWLEDGE:
                self._session.recover()
            self._sent, self._held = [], []

    def _close(self) -> None:
        self._session.close()


def _work(connection: Connection, book: _Book, seed: int, until: float) -> None:
    draw = random.Random(seed)
    while time.monotonic() < until and not book.mistakes:
        try:
            _Life(connection, book, draw).run()
        except Exception as error:
            book.mistake(f"{type(error).__name__}: {error}")
            raise


def _drain(connection: Connection, book: _Book) -> None:
    session = connection.create_session()
    for queue in _QUEUES:
        with session.create_consumer(queue) as consumer:
            while (message := consumer.receive(timeout=0.2)) is not None:
                book.keep([], [str(message.get_body(str))])


def _fuzz(url: str, seconds: float) -> None:
    seed = int(os.environ.get("JMSBRIDGE_SEED", random.SystemRandom().randrange(1 << 30)))
    print(f"JMSBRIDGE_SEED={seed}")
    book = _Book()
    with jmsbridge.connect(url, redelivery_delay=0, max_redeliveries=1_000_000) as connection:
        connection.start()
        until = time.monotonic() + seconds
        workers = [
            threading.Thread(target=_work, args=(connection, book, seed + number, until)) for number in range(_THREADS)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(seconds + 60)
            assert not worker.is_alive(), f"stuck, seed {seed}"
        _drain(connection, book)
    print(f"{book.sessions} sessions, {book.operations} operations, {len(book.sent)} messages")
    assert book.mistakes == [], f"seed {seed}"
    wrong: dict[str, Any] = {name: book.done[name] for name in book.sent if book.done[name] != 1}
    assert wrong == {}, f"seed {seed}: {len(wrong)} of {len(book.sent)} messages were not consumed exactly once"
    assert set(book.done) <= book.sent


def _url(kind: str, folder: Path) -> str:
    return f"embedded:?broker=fuzz-{folder.name}" if kind == "memory" else f"embedded:{folder / 'fuzz.db'}"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.timeout(180)
@pytest.mark.parametrize("kind", ["memory", "file"])
def test_random_sessions_consume_each_message_once(kind: str, tmp_path: Path) -> None:
    _fuzz(_url(kind, tmp_path), 6.0)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", ["memory", "file"])
def test_random_sessions_consume_each_message_once_for_minutes(kind: str, tmp_path: Path) -> None:
    _fuzz(_url(kind, tmp_path), 240.0)

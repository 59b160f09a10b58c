"""A consumer in a separate process, until its standard input ends.

Run by ``integration.faults.run`` as ``python -m integration.faults.consuming SETTINGS``, the settings as JSON.
"""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

import jmsbridge
from integration.faults.ledger import MARKED, Ledger, Step
from integration.faults.process import SETTINGS, Settings, consume, play, taken
from jmsbridge import (
    AUTO_ACKNOWLEDGE,
    CLIENT_ACKNOWLEDGE,
    DUPS_OK_ACKNOWLEDGE,
    InDoubt,
    JMSException,
    Message,
    Queue,
    Session,
    Topic,
    aio,
)
from jmsbridge.app import App
from jmsbridge.cli.running import ERROR, OK

__all__ = ["HELD_BY_PROCESSES", "Book", "container", "main"]

_PREFETCH = 100
_BATCH = 50
_LATE_OVER_STOMP = 1 << 15
"""So many messages a consumer may take in advance over STOMP, if its session settles late: see its page."""
_TICK = 0.2
_ENDING = 60.0
_KILLED = -signal.SIGKILL
_ENDED = (
    _KILLED,
    OK,
    ERROR,  # a killed worker was not started again yet
    -signal.SIGTERM,  # it was started a moment ago, and had no handler for the signal yet
)
HELD_BY_PROCESSES = 4 * _PREFETCH
"""How many messages two worker processes with two consumers each may have unacknowledged."""
_OPTIONS: dict[str, Any] = {
    "prefetch": _PREFETCH,
    "dups_ok_messages": _PREFETCH,
    "max_redeliveries": 100,
    "reconnect_delay_max": 0.5,
}


class Book:
    """Logs received messages."""

    def __init__(self, settings: Settings, holds: int) -> None:
        self._settings = settings
        self._ledger = Ledger(Path(settings.ledger))
        self._holds = holds

    def consumer(self, session: Session) -> jmsbridge.MessageConsumer:
        """Create the consumer; from now on the network may fail."""
        made = consume(session, self._settings.place, self._settings.topic)
        self.connected()
        return made

    def connected(self) -> None:
        """There is a consumer."""
        self._ledger.write(Step.HOLDS, number=self._holds)

    def closed(self) -> None:
        """The connection is closed."""
        self._ledger.write(Step.CLOSED)

    def write(self, step: Step, messages: list[Message], detail: str = "") -> None:
        """Log a step of these messages."""
        for message in messages:
            producer = message.get_string_property("producer")
            key = f"{producer}:{message.get_int_property('number')}"
            said = MARKED if step is Step.GOT and message.jms_redelivered else detail
            self._ledger.write(step, key, message.get_int_property("call"), said)


_Role = Callable[[Settings, Book, threading.Event], None]


def _listening(session: Session, book: Book, stop: threading.Event) -> None:
    def listen(message: Message) -> None:
        book.write(Step.GOT, [message])
        book.write(Step.DONE, [message])

    book.consumer(session).message_listener = listen
    stop.wait()


def _receiving(session: Session, book: Book, stop: threading.Event) -> None:
    consumer = book.consumer(session)
    while not stop.is_set():
        message = consumer.receive(timeout=_TICK)
        if message is not None:
            book.write(Step.GOT, [message])
            book.write(Step.DONE, [message])


def _acknowledging(session: Session, book: Book, stop: threading.Event) -> None:
    consumer = book.consumer(session)
    got: list[Message] = []
    while not stop.is_set() or got:
        message = None if stop.is_set() else consumer.receive(timeout=_TICK)
        if message is not None:
            book.write(Step.GOT, [message])
            got.append(message)
        if got and (message is None or len(got) >= _BATCH):
            _settle(session, got, book)
            got = []


def _settle(session: Session, got: list[Message], book: Book) -> None:
    try:
        if session.transacted:
            session.commit()
        else:
            got[-1].acknowledge()
    except InDoubt as error:
        book.write(Step.MAYBE, got, repr(error))
    except JMSException:
        if session.transacted:  # rolled back: all of them come again
            session.rollback()
    else:
        book.write(Step.DONE, got)


def container(settings: Settings, book: Book, *, in_loop: bool = False) -> App:
    """An application with two consumers, each with a thread or in the event loop."""
    app = App(settings.url, **_OPTIONS)
    place = f"{'topic' if settings.topic else 'queue'}:{settings.place}"
    subscription = settings.place if settings.topic else None

    def on_message(message: Message) -> None:
        book.write(Step.GOT, [message])
        book.write(Step.DONE, [message])

    async def on_message_in_loop(message: Message) -> None:
        on_message(message)

    app.listener(place, concurrency=2, subscription=subscription)(on_message_in_loop if in_loop else on_message)
    return app


def _contained(settings: Settings, book: Book, stop: threading.Event, *, in_loop: bool = False) -> None:
    with container(settings, book, in_loop=in_loop):
        book.connected()
        stop.wait()


def _in_processes(settings: Settings, book: Book, stop: threading.Event) -> None:
    """``jmsbridge run`` with two worker processes; started again when it was killed."""
    command = [sys.executable, "-m", "jmsbridge", "run", "integration.faults.serving:app", "--processes", "2"]
    code = _KILLED
    while code == _KILLED and not stop.is_set():
        with subprocess.Popen(command, env={**os.environ, SETTINGS: msgspec.json.encode(settings).decode()}) as serving:
            while serving.poll() is None and not stop.wait(_TICK):
                if taken(settings, "supervisor"):
                    serving.kill()
            serving.terminate()
            code = serving.wait(_ENDING)
    if code not in _ENDED or not stop.is_set():
        raise RuntimeError(f"jmsbridge run ended with {code}")


def _awaiting(settings: Settings, book: Book, stop: threading.Event) -> None:
    """A task."""

    async def work() -> None:
        async with aio.connect(settings.url, **_OPTIONS) as connection, connection.create_session() as session:
            await connection.start()
            consumer = await (
                session.create_shared_durable_consumer(Topic(settings.place), settings.place)
                if settings.topic
                else session.create_consumer(Queue(settings.place))
            )
            book.connected()
            while not stop.is_set():
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_TICK):
                        message = await consumer.receive()
                    if message is not None:
                        book.write(Step.GOT, [message])
                        book.write(Step.DONE, [message])

    asyncio.run(work())


def _in_session(mode: int, work: Callable[[Session, Book, threading.Event], None]) -> _Role:
    """A role that has one session in this mode."""

    def play_it(settings: Settings, book: Book, stop: threading.Event) -> None:
        with jmsbridge.connect(settings.url, **_OPTIONS) as connection:
            connection.start()
            work(connection.create_session(mode), book, stop)

    return play_it


_ROLES: dict[str, tuple[_Role, int]] = {
    "listener": (_in_session(AUTO_ACKNOWLEDGE, _listening), _PREFETCH),
    "receive": (_in_session(AUTO_ACKNOWLEDGE, _receiving), _PREFETCH),
    "dups_ok": (_in_session(DUPS_OK_ACKNOWLEDGE, _listening), 2 * _PREFETCH),
    "client": (_in_session(CLIENT_ACKNOWLEDGE, _acknowledging), _PREFETCH + _BATCH),
    "transacted": (_in_session(jmsbridge.SESSION_TRANSACTED, _acknowledging), _PREFETCH + _BATCH),
    "container": (_contained, 2 * _PREFETCH),
    "async_container": (partial(_contained, in_loop=True), 2 * _PREFETCH),
    "aio": (_awaiting, _PREFETCH),
    "processes": (_in_processes, HELD_BY_PROCESSES),
}
"""By name, with how many messages it may have unacknowledged."""


def main(settings: Settings) -> None:
    """Receive until the standard input ends."""
    work, holds = _ROLES[settings.role]
    if settings.role in ("client", "transacted") and settings.url.startswith("stomp"):
        holds = _LATE_OVER_STOMP
    book = Book(settings, holds)
    stop = threading.Event()

    def listen_for_the_end() -> None:
        sys.stdin.read()
        stop.set()

    threading.Thread(target=listen_for_the_end, name="faults-stop", daemon=True).start()
    work(settings, book, stop)
    book.closed()


if __name__ == "__main__":
    play(main)

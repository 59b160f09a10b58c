"""Programs in one of the acknowledgement modes on a broker in a file, for tests that kill them anywhere.

Each opens a connection, sends, receives, settles and closes, repeatedly. It sets ``points`` to the kind of call that
comes next, and writes a log, whose lines (a time, a word, names) are passed to the operating system before the next
call:

``try NAME`` before a send, ``sent NAME…`` when it is confirmed; ``receive`` before a call, ``got NAME MARK`` after it
or in a listener, ``back NAME`` before the listener returns; ``settle NAME…`` and ``settled NAME…`` around an
acknowledgement; ``commit +SENT… -RECEIVED…`` and ``committed …`` around the end of a transaction; ``waits`` if the
connection waits for the confirmation of acknowledgements; ``closed`` after the close of the connection.
"""

import faulthandler
import os
import random
import signal
import time
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import Any

import jmsbridge
from jmsbridge import (
    AUTO_ACKNOWLEDGE,
    CLIENT_ACKNOWLEDGE,
    DUPS_OK_ACKNOWLEDGE,
    INDIVIDUAL_ACKNOWLEDGE,
    SESSION_TRANSACTED,
    Message,
    Session,
)

__all__ = ["MODES", "POINTS", "work"]

MODES = {
    "auto": AUTO_ACKNOWLEDGE,
    "auto-listener": AUTO_ACKNOWLEDGE,
    "dups": DUPS_OK_ACKNOWLEDGE,
    "dups-listener": DUPS_OK_ACKNOWLEDGE,
    "client": CLIENT_ACKNOWLEDGE,
    "individual": INDIVIDUAL_ACKNOWLEDGE,
    "transacted": SESSION_TRANSACTED,
}
"""The modes by name, each with a queue of that name. ``-listener``: a listener receives, another session sends."""
POINTS = ("open", "create", "send", "receive", "settle", "undo", "close")
"""The kinds of calls."""


class _Program:
    def __init__(self, mode: str, path: str, log: str, points: Pipe, seed: int) -> None:
        self._mode = mode
        self._listens = mode.endswith("-listener")
        self._url = f"embedded:{path}"
        self._name = Path(log).stem  # not the process id, because ids are reused after some thousand processes
        self._log = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._points = points
        self._draw = random.Random(seed)
        self._count = 0
        self._held: list[tuple[str, Message]] = []  # received, not settled
        self._group: list[str] = []  # sent in the open transaction

    def _note(self, *words: str) -> None:
        os.write(self._log, f"{time.monotonic():.6f} {' '.join(words)}\n".encode())

    def _at(self, point: str) -> None:
        self._points.send_bytes(point.encode())

    def run(self) -> None:
        """Work until the process is killed."""
        while True:
            self._connect()

    def _connect(self) -> None:
        waits = self._draw.random() < 0.5
        self._held, self._group = [], []
        self._at("open")
        connection = jmsbridge.connect(
            self._url,
            block_on_acknowledge=waits,
            max_redeliveries=1_000_000,
            redelivery_delay=0,
            prefetch=self._draw.choice((0, 1, 10, 100)),
        )
        if waits:
            self._note("waits")
        connection.start()
        # one listener at a time, because the next message in the log means that the previous call has ended
        for _ in range(1 if self._listens else self._draw.choice((1, 1, 2))):
            self._work(connection)
        self._at("close")
        connection.close()
        self._note("closed")

    def _work(self, connection: jmsbridge.Connection) -> None:
        """Use one session from creation to close."""
        self._at("create")
        session = connection.create_session(session_mode=MODES[self._mode])
        queue = session.create_queue(self._mode)
        consumer = session.create_consumer(queue)
        sending = connection.create_session() if self._listens else session
        producer = sending.create_producer(queue)
        if self._listens:
            consumer.message_listener = self._hear
        for _ in range(self._draw.randrange(2, 20)):
            choice = self._draw.random()
            if choice < 0.4 or (self._listens and choice < 0.9):
                self._send(producer)
            elif choice < 0.85 and not self._listens:
                self._receive(consumer)
            elif choice < 0.94:
                self._settle(session)
            else:
                self._undo(session)
        if self._draw.random() < 0.7:
            self._at("close")
            consumer.close()
            session.close()
        # its messages are requeued now, or with the connection if the session was left open
        self._held, self._group = [], []

    def _send(self, producer: jmsbridge.MessageProducer) -> None:
        self._count += 1
        name = f"{self._name}-{self._count}"
        self._note("try", name)
        self._at("send")
        producer.send(name)
        if self._mode == "transacted":
            self._group.append(name)
        else:
            self._note("sent", name)

    def _receive(self, consumer: jmsbridge.MessageConsumer) -> None:
        self._note("receive")
        self._at("receive")
        message = consumer.receive(timeout=self._draw.choice((0, 0.005, 0.05)))
        if message is None:
            self._note("nothing")
            return
        name = self._got(message)
        if self._mode not in ("auto", "dups"):
            self._held.append((name, message))

    def _got(self, message: Message) -> str:
        name = str(message.get_body(str))
        self._note("got", name, "again" if message.jms_redelivered else "first")
        return name

    def _hear(self, message: Message) -> None:
        self._at("receive")
        name = self._got(message)
        self._note("back", name)
        self._at("settle")

    def _settle(self, session: Session) -> None:
        if self._mode == "transacted":
            names = [f"+{name}" for name in self._group] + [f"-{name}" for name, _ in self._held]
            self._note("commit", *names)
            self._at("settle")
            session.commit()
            self._note("committed", *names)
            self._held, self._group = [], []
        elif self._held:
            index = self._draw.randrange(len(self._held))
            chosen = self._held if self._mode == "client" else self._held[index : index + 1]
            names = [name for name, _ in chosen]
            self._note("settle", *names)
            self._at("settle")
            chosen[-1][1].acknowledge()
            self._note("settled", *names)
            self._held = [one for one in self._held if one not in chosen]

    def _undo(self, session: Session) -> None:
        if self._listens:
            return  # the session belongs to its listener
        self._at("undo")
        if self._mode == "transacted":
            session.rollback()
        else:
            session.recover()
        self._held, self._group = [], []


def work(mode: str, path: str, log: str, points: Pipe, seed: int) -> None:
    """Run the program; an error becomes the last line of the log."""
    faulthandler.register(signal.SIGUSR1, file=Path(f"{log}.stacks").open("w"))  # noqa: SIM115 (open for the whole life)
    program: Any = _Program(mode, path, log, points, seed)
    try:
        program.run()
    except BaseException as error:
        program._note("error", type(error).__name__, *str(error).split())
        raise

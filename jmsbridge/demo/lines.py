"""Lines as messages and back, with typed properties; threads that send and threads that collect."""

import threading
import zlib
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from jmsbridge import Connection, Destination, Message, Session, TextMessage
from jmsbridge.demo.files import Line, TextFile, lines_of, rebuilt
from jmsbridge.errors import IllegalState

__all__ = ["PATIENCE", "Collected", "Completions", "collect", "compare", "in_threads", "message_for", "send_files"]

PATIENCE = 20.0
"""How long the demo waits for something that must happen."""


class Completions:
    """A completion listener that counts; its calls come one at a time per session, so from several threads here."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # guards the two below
        self.completed = 0
        self.problems: list[str] = []

    def on_completion(self, message: Message) -> None:
        """The broker has the message."""
        with self._lock:
            self.completed += 1

    def on_exception(self, message: Message, error: Exception) -> None:
        """It has not."""
        with self._lock:
            self.problems.append(f"a send failed: {error}")


class Collected:
    """Where consumers put what arrived; ``wait_complete`` wakes when ``expected`` messages are there."""

    def __init__(self, expected: int) -> None:
        self._lock = threading.Lock()  # guards lines and problems
        self._complete = threading.Event()
        self._expected = expected
        self.lines: list[tuple[str, int, str]] = []
        self.problems: list[str] = []
        if not expected:
            self._complete.set()

    def __call__(self, message: Message) -> None:
        """Keep one message: this object is a message listener."""
        line, problem = _line(message)
        with self._lock:
            self.lines.append(line)
            if problem:
                self.problems.append(problem)
            if len(self.lines) >= self._expected:
                self._complete.set()

    def wait_complete(self, timeout: float = PATIENCE) -> bool:
        """Whether everything came in time."""
        return self._complete.wait(timeout)


def message_for(session: Session, line: Line) -> TextMessage:
    """One line as a text message with a property of most types."""
    message = session.create_text_message(line.text)
    message.set_string_property("file", line.file)
    message.set_int_property("number", line.number)
    message.set_boolean_property("last", line.last)
    message.set_long_property("checksum", zlib.crc32(line.text.encode("utf-8")))
    message.set_double_property("third", line.number / 3)
    message.set_string_property("kind", line.file.rpartition(".")[2])
    return message


def _line(message: Message) -> tuple[tuple[str, int, str], str]:
    if not isinstance(message, TextMessage):
        return ("", 0, ""), f"a {type(message).__name__} came instead of a TextMessage"
    text = message.text or ""
    file, number = message.get_string_property("file") or "", message.get_int_property("number")
    checksum = zlib.crc32(text.encode("utf-8"))
    same = message.get_long_property("checksum") == checksum and message.get_double_property("third") == number / 3
    return (file, number, text), "" if same else f"{file}:{number} came with other properties"


def send_files(connection: Connection, to: Destination, files: list[TextFile], completions: Completions) -> None:
    """Send every line of the files asynchronously; returns when the broker has them all."""
    session = connection.create_session()
    producer = session.create_producer(to)
    for file in files:
        for line in lines_of(file):
            producer.send(message_for(session, line), completion_listener=completions)
    session.close()  # Waits for the completions still open.


def in_threads(jobs: list[Callable[[], Any]], meanwhile: Callable[[], None] | None = None) -> None:
    """Run every job in a thread of its own, and ``meanwhile`` here; an error of any is raised."""
    with ThreadPoolExecutor(len(jobs), "demo") as threads:
        running: list[Future[Any]] = [threads.submit(job) for job in jobs]
        try:
            if meanwhile is not None:
                meanwhile()
        finally:
            for future in running:
                future.result(PATIENCE)


def collect(session: Session, source: Destination, collected: Collected) -> None:
    """Receive until the session is closed by another thread."""
    with suppress(IllegalState):  # The session was closed before the next receive began.
        consumer = session.create_consumer(source)
        while (message := consumer.receive()) is not None:
            collected(message)


def compare(files: list[TextFile], collected: Collected) -> tuple[str, ...]:
    """What is wrong with what arrived; nothing, when every file is there byte for byte."""
    arrived = rebuilt(collected.lines)
    problems = list(collected.problems)
    for file in files:
        if arrived.get(file.name) != file.content:
            problems.append(f"{file.name} {'is missing' if file.name not in arrived else 'came out changed'}")
    problems += [f"{name} was never sent there" for name in arrived if name not in {file.name for file in files}]
    return tuple(problems[:10])

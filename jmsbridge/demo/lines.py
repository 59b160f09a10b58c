"""Conversion of lines to messages and back, with typed properties; threads that send and receive."""

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
"""How many seconds the demo waits for an expected event."""
_LONGEST = 180.0  # seconds for all messages of one way: with some brokers each message waits for the disk


class Completions:
    """A completion listener that counts; thread-safe, since several sessions call it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # guards the next two
        self.completed = 0
        self.problems: list[str] = []

    def on_completion(self, message: Message) -> None:
        """The broker has the message."""
        with self._lock:
            self.completed += 1

    def on_exception(self, message: Message, error: Exception) -> None:
        """The send failed."""
        with self._lock:
            self.problems.append(f"a send failed: {error}")


class Collected:
    """Collects the messages of several consumers; ``wait_complete`` returns after ``expected`` messages."""

    def __init__(self, expected: int) -> None:
        self._lock = threading.Lock()  # guards lines and problems
        self._complete = threading.Event()
        self._expected = expected
        self.lines: list[tuple[str, int, str]] = []
        self.problems: list[str] = []
        if not expected:
            self._complete.set()

    def __call__(self, message: Message) -> None:
        """Add one message: this object is a message listener."""
        line, problem = _line(message)
        with self._lock:
            self.lines.append(line)
            if problem:
                self.problems.append(problem)
            if len(self.lines) >= self._expected:
                self._complete.set()

    def wait_complete(self) -> bool:
        """Wait for all messages; False if none has arrived for ``PATIENCE`` seconds."""
        before = -1
        while before != len(self.lines):
            before = len(self.lines)
            if self._complete.wait(PATIENCE):
                return True
        return False


def message_for(session: Session, line: Line) -> TextMessage:
    """One line as a text message with properties of most types."""
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
        return ("", 0, ""), f"a {type(message).__name__} arrived instead of a TextMessage"
    text = message.text or ""
    file, number = message.get_string_property("file") or "", message.get_int_property("number")
    checksum = zlib.crc32(text.encode("utf-8"))
    same = message.get_long_property("checksum") == checksum and message.get_double_property("third") == number / 3
    return (file, number, text), "" if same else f"{file}:{number} arrived with other properties"


def send_files(connection: Connection, to: Destination, files: list[TextFile], completions: Completions) -> None:
    """Send every line of the files asynchronously; returns when the broker has them all."""
    session = connection.create_session()
    producer = session.create_producer(to)
    for file in files:
        for line in lines_of(file):
            producer.send(message_for(session, line), completion_listener=completions)
    session.close()  # waits for outstanding completions


def in_threads(jobs: list[Callable[[], Any]], meanwhile: Callable[[], None] | None = None) -> None:
    """Run every job in a thread of its own, and ``meanwhile`` in this one; raises an error of any job."""
    with ThreadPoolExecutor(len(jobs), "demo") as threads:
        running: list[Future[Any]] = [threads.submit(job) for job in jobs]
        try:
            if meanwhile is not None:
                meanwhile()
        finally:
            for future in running:
                _wait_ended(future)


def _wait_ended(future: "Future[Any]") -> None:
    try:
        future.result(_LONGEST)
    except TimeoutError:
        raise TimeoutError(f"a thread that sends or receives did not end within {_LONGEST:g} s") from None


def collect(session: Session, source: Destination, collected: Collected) -> None:
    """Receive until the session is closed by another thread."""
    with suppress(IllegalState):  # the session was closed before the next receive
        consumer = session.create_consumer(source)
        while (message := consumer.receive()) is not None:
            collected(message)


def compare(files: list[TextFile], collected: Collected) -> tuple[str, ...]:
    """The differences between the files and what arrived; empty if all files are identical."""
    arrived = rebuilt(collected.lines)
    problems = list(collected.problems)
    for file in files:
        if arrived.get(file.name) != file.content:
            problems.append(f"{file.name} {'is missing' if file.name not in arrived else 'was changed'}")
    problems += [f"{name} arrived but was not sent" for name in arrived if name not in {file.name for file in files}]
    return tuple(problems[:10])

"""Prints messages: as JSON lines for pipes, in readable form for terminals, as bare bodies for other tools."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import BinaryIO

from rich.table import Table

from jmsbridge import BytesMessage, Message, TextMessage
from jmsbridge.cli.lines import to_line
from jmsbridge.cli.printing import plain, screen, shown
from jmsbridge.documents import body_of, headers_of, kind_of, to_json
from jmsbridge.errors import ConfigurationError

__all__ = ["Format", "Writer"]


class Format(StrEnum):
    """How messages are printed."""

    AUTO = "auto"
    JSON = "json"
    TEXT = "text"
    BYTES = "bytes"


class Writer:
    """Prints messages; after ``flush`` they are with the reader, or in the pipe to it."""

    def __init__(self, form: Format, stream: BinaryIO | None = None) -> None:
        self._stream = stream or sys.stdout.buffer
        self._name = "standard output" if self._stream is sys.stdout.buffer else str(getattr(stream, "name", "output"))
        self._on_terminal = stream is None and sys.stdout.isatty()
        if form is Format.BYTES and self._on_terminal:
            raise ConfigurationError("bare bytes may garble a terminal: use a file, a pipe or --format text")
        writers: dict[Format, Callable[[Message], None]] = {
            Format.AUTO: self._show if self._on_terminal else self._json,
            Format.JSON: self._json,
            Format.TEXT: self._text,
            Format.BYTES: self._bytes,
        }
        self._write = writers[form]

    def write(self, message: Message) -> None:
        """Print one message; it may stay in a buffer until ``flush``."""
        with self._named():
            self._write(message)

    def flush(self) -> None:
        """Write the buffer."""
        with self._named():
            self._stream.flush()

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Errors that say which output it was."""
        try:
            yield
        except OSError as error:
            if error.strerror is None or isinstance(error, BrokenPipeError):
                raise
            raise OSError(f"{self._name}: {error.strerror}") from None

    def _json(self, message: Message) -> None:
        self._stream.write(to_line(message))

    def _text(self, message: Message) -> None:
        body = _readable_body(message)
        if self._on_terminal:
            body = shown(body, lines=True)
        self._stream.write((body + "\n").encode("utf-8", "surrogatepass"))

    def _bytes(self, message: Message) -> None:
        if isinstance(message, BytesMessage):
            self._stream.write(message.get_body(bytes) or b"")
        elif isinstance(message, TextMessage):
            self._stream.write((message.text or "").encode("utf-8", "surrogatepass"))
        else:
            raise ValueError(f"a {kind_of(message)} message cannot be printed as bare bytes; use --format json")

    def _show(self, message: Message) -> None:
        console = screen(sys.stdout)
        table = Table.grid(padding=(0, 2))
        for name, value in headers_of(message).items():
            table.add_row(plain(name.removeprefix("jms_"), "dim"), plain(value))
        for name in message.property_names:
            table.add_row(plain(name, "cyan"), plain(to_json(message.get_object_property(name))))
        console.rule(plain(kind_of(message), "bold"), align="left")
        console.print(table)
        console.out(shown(_readable_body(message), lines=True), highlight=False)


def _readable_body(message: Message) -> str:
    if isinstance(message, TextMessage):
        return message.text or ""
    body = body_of(message)
    return "" if body is None else str(body)

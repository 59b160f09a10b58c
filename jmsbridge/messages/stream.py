"""``StreamMessage`` (section 3.11.3): a sequence of typed values, each read as its own type or a wider one."""

from collections.abc import Callable
from typing import Any, TypeVar, overload

from jmsbridge.errors import MessageEOFException, MessageFormatException
from jmsbridge.messages import typed
from jmsbridge.messages.base import Message
from jmsbridge.messages.binary import target_of
from jmsbridge.spi.envelope import BodyKind
from jmsbridge.values import (
    Byte,
    Char,
    FieldValue,
    Float,
    Long,
    Short,
    canonical_field,
    to_boolean,
    to_byte,
    to_bytes,
    to_char,
    to_double,
    to_float,
    to_int,
    to_long,
    to_short,
    to_string,
    wrap,
)

__all__ = ["StreamMessage"]

T = TypeVar("T")


class StreamMessage(Message):
    """A message whose body is a sequence of values.

    New and cleared messages are write-only until ``reset``, received ones read-only until ``clear_body``. Reads convert
    by the table of section 3.11.3; a read that fails does not move the position. Reading past the end raises
    MessageEOFException.
    """

    __slots__ = ("_items", "_partial", "_position", "_reading")
    _kind = BodyKind.STREAM
    # Shared with an envelope while _reading is true, and then never changed.
    _items: list[Any]
    # How much of the bytes field at _position has been read; None unless read_bytes is in the middle of one.
    _partial: int | None
    _position: int
    _reading: bool

    def __init__(self) -> None:
        Message.__init__(self)
        self._clear()

    def reset(self) -> None:
        """Make the body readable, from its start."""
        if self._gate is not None:
            self._refuse()
        self._reset_for_reading()

    def _next(self) -> Any:
        if self._gate is not None:
            self._refuse()
        if not self._reading:
            self._refuse_read()
        if self._partial is not None:
            raise MessageFormatException("a bytes field has been read in part; call read_bytes until its end first")
        if self._position >= len(self._items):
            raise MessageEOFException("the stream has no more values")
        return self._items[self._position]

    def _read(self, convert: Callable[[Any], T]) -> T:
        value = convert(self._next())
        self._position += 1
        return value

    def _append(self, value: Any) -> None:
        if self._gate is not None:
            self._refuse()
        if self._reading:
            self._refuse_write()
        self._items.append(value)

    def read_boolean(self) -> bool:
        """Read the next value as boolean."""
        return self._read(to_boolean)

    def read_byte(self) -> Byte:
        """Read the next value as byte."""
        return self._read(to_byte)

    def read_short(self) -> Short:
        """Read the next value as short."""
        return self._read(to_short)

    def read_char(self) -> Char:
        """Read the next value as char."""
        return self._read(to_char)

    def read_int(self) -> int:
        """Read the next value as int."""
        return self._read(to_int)

    def read_long(self) -> Long:
        """Read the next value as long."""
        return self._read(to_long)

    def read_float(self) -> Float:
        """Read the next value as float."""
        return self._read(to_float)

    def read_double(self) -> float:
        """Read the next value as double."""
        return self._read(to_double)

    def read_string(self) -> str | None:
        """Read the next value as text, in Java's form."""
        return self._read(to_string)

    def read_object(self) -> FieldValue:
        """Read the next value with the type that it was written with; a bytes field as a whole."""
        value: FieldValue = self._read(wrap)
        return value

    @overload
    def read_bytes(self, target: int) -> bytes | None: ...
    @overload
    def read_bytes(self, target: bytearray | memoryview, length: int | None = None) -> int: ...
    def read_bytes(self, target: int | bytearray | memoryview, length: int | None = None) -> bytes | int | None:
        """Read a bytes field, in pieces if it does not fit; no other read is possible before its end (rule BO-14).

        Into a buffer, as in Java: returns the number of bytes stored. If it is less than requested, the field is
        finished; otherwise call again, until -1 means its end. An empty field gives 0, a null field -1.
        With a number instead of a buffer: returns the bytes themselves, and None instead of -1.
        """
        view = None if isinstance(target, int) else target_of(target, length)
        wanted = _positive(target) if view is None else len(view)  # type: ignore[arg-type]
        piece = self._piece(wanted)
        if view is None:
            return piece
        if piece is None:
            return -1
        view[: len(piece)] = piece
        return len(piece)

    def _piece(self, wanted: int) -> bytes | None:
        """The next bytes of the field, or None at its end; a piece shorter than ``wanted`` also ends the field."""
        begun, self._partial = self._partial, None
        try:
            value = to_bytes(self._next())
        except BaseException:
            self._partial = begun
            raise
        start = begun or 0
        if value is None or (begun is not None and start == len(value)):
            self._position += 1
            return None
        piece = value[start : start + wanted]
        if len(piece) < wanted:
            self._position += 1
        else:
            self._partial = start + wanted
        return piece

    def write_boolean(self, value: bool) -> None:
        """Write a boolean."""
        self._append(typed.boolean(value))

    def write_byte(self, value: int) -> None:
        """Write a byte."""
        self._append(typed.byte(value))

    def write_short(self, value: int) -> None:
        """Write a short."""
        self._append(typed.short(value))

    def write_char(self, value: str) -> None:
        """Write a char."""
        self._append(typed.char(value))

    def write_int(self, value: int) -> None:
        """Write an int."""
        self._append(typed.integer(value))

    def write_long(self, value: int) -> None:
        """Write a long."""
        self._append(typed.long(value))

    def write_float(self, value: float) -> None:
        """Write a float."""
        self._append(typed.floating(value))

    def write_double(self, value: float) -> None:
        """Write a double."""
        self._append(typed.double(value))

    def write_string(self, value: str | None) -> None:
        """Write a text, or None."""
        self._append(typed.text(value))

    def write_bytes(self, value: typed.Buffer | None, offset: int = 0, length: int | None = None) -> None:
        """Write one bytes field, or None: a copy of ``length`` bytes from ``offset``."""
        self._append(None if value is None else typed.section(value, offset, length))

    def write_object(self, value: FieldValue | bytearray | memoryview) -> None:
        """Write a value by its Python type; None is a value."""
        self._append(canonical_field(value))

    def _clear(self) -> None:
        self._items = []
        self._partial = None
        self._position = 0
        self._reading = False

    def _load(self, body: Any) -> None:
        self._items = body
        self._reset_for_reading()

    def _snapshot(self) -> list[Any]:
        return self._items if self._reading else self._items.copy()

    def _has_body(self) -> bool:
        return True

    def _reset_for_reading(self) -> None:
        self._reading = True
        self._partial = None
        self._position = 0


def _positive(count: int) -> int:
    if count < 0:
        raise IndexError(f"{count} bytes cannot be read")
    return count

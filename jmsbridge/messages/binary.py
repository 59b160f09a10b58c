"""``BytesMessage`` (section 3.11.6): bytes without structure, and Java's big-endian primitives in them."""

import struct
from typing import Any, overload

from jmsbridge.codecs import mutf8
from jmsbridge.errors import MessageEOFException, MessageFormatException, NullValueError
from jmsbridge.messages import typed
from jmsbridge.messages.base import Message
from jmsbridge.spi.envelope import BodyKind
from jmsbridge.values import Byte, Char, Float, Long, Short, canonical_field

__all__ = ["BytesMessage", "target_of"]

_SHORT = struct.Struct(">h")
_INT = struct.Struct(">i")
_LONG = struct.Struct(">q")
_FLOAT = struct.Struct(">f")
_DOUBLE = struct.Struct(">d")


class BytesMessage(Message):
    """A message whose body is bytes, written and read in sequence.

    New and cleared messages are write-only until ``reset``, received ones read-only until ``clear_body``. Reads do not
    check the types that were written. Reading past the end raises MessageEOFException.
    """

    __slots__ = ("_buffer", "_position", "_reading")
    _kind = BodyKind.BYTES
    # A bytearray of this object's own while writing, bytes (perhaps an envelope's) while reading.
    _buffer: bytearray | bytes
    _position: int
    _reading: bool

    def __init__(self) -> None:
        Message.__init__(self)
        self._clear()

    @property
    def body_length(self) -> int:
        """How many bytes the body has; MessageNotReadableException before ``reset``."""
        if self._gate is not None:
            self._refuse()
        if not self._reading:
            self._refuse_read()
        return len(self._buffer)

    def reset(self) -> None:
        """Make the body readable, from its start."""
        if self._gate is not None:
            self._refuse()
        self._reset_for_reading()

    def _take(self, count: int) -> bytes | bytearray:
        if self._gate is not None:
            self._refuse()
        if not self._reading:
            self._refuse_read()
        end = self._position + count
        if end > len(self._buffer):
            raise MessageEOFException(f"{count} bytes requested, {len(self._buffer) - self._position} left")
        data = self._buffer[self._position : end]
        self._position = end
        return data

    def _append(self, data: bytes) -> None:
        if self._gate is not None:
            self._refuse()
        buffer = self._buffer
        if self._reading or type(buffer) is not bytearray:
            self._refuse_write()
        buffer += data

    def read_boolean(self) -> bool:
        """Read one byte; not zero is True."""
        return self._take(1)[0] != 0

    def read_byte(self) -> Byte:
        """Read a signed byte."""
        return Byte(int.from_bytes(self._take(1), "big", signed=True))

    def read_unsigned_byte(self) -> int:
        """Read a byte as 0 to 255."""
        return self._take(1)[0]

    def read_short(self) -> Short:
        """Read two bytes, signed."""
        return Short(_SHORT.unpack(self._take(2))[0])

    def read_unsigned_short(self) -> int:
        """Read two bytes as 0 to 65535."""
        return int.from_bytes(self._take(2), "big")

    def read_char(self) -> Char:
        """Read two bytes as one UTF-16 unit."""
        return Char(chr(int.from_bytes(self._take(2), "big")))

    def read_int(self) -> int:
        """Read four bytes, signed."""
        return int(_INT.unpack(self._take(4))[0])

    def read_long(self) -> Long:
        """Read eight bytes, signed."""
        return Long(_LONG.unpack(self._take(8))[0])

    def read_float(self) -> Float:
        """Read four bytes as an IEEE 754 number."""
        return Float(_FLOAT.unpack(self._take(4))[0])

    def read_double(self) -> float:
        """Read eight bytes as an IEEE 754 number."""
        return float(_DOUBLE.unpack(self._take(8))[0])

    def read_utf(self) -> str:
        """Read a two-byte length and a text in modified UTF-8; MessageFormatException if it is malformed."""
        start = self._position
        try:
            return mutf8.decode(self._take(int.from_bytes(self._take(2), "big")))
        except mutf8.ModifiedUtf8Error as error:
            self._position = start
            raise MessageFormatException(str(error)) from error
        except MessageEOFException:
            self._position = start
            raise

    @overload
    def read_bytes(self, target: int) -> bytes | None: ...
    @overload
    def read_bytes(self, target: bytearray | memoryview, length: int | None = None) -> int: ...
    def read_bytes(self, target: int | bytearray | memoryview, length: int | None = None) -> bytes | int | None:
        """Read up to ``length`` bytes into a buffer, as in Java; returns their number, or -1 at the end (rule BO-9).

        IndexError, with nothing consumed, for a length that is negative or larger than the buffer. With a number
        instead of a buffer, returns at most that many bytes, None at the end.
        """
        view = None if isinstance(target, int) else target_of(target, length)
        wanted = target if view is None else len(view)
        if not isinstance(wanted, int) or wanted < 0:
            raise IndexError(f"{wanted} bytes cannot be read")
        self._take(0)
        left = len(self._buffer) - self._position
        if wanted and not left:
            return None if view is None else -1
        data = bytes(self._take(min(wanted, left)))
        if view is None:
            return data
        view[: len(data)] = data
        return len(data)

    def write_boolean(self, value: bool) -> None:
        """Write one byte, 1 or 0."""
        self._append(b"\1" if typed.boolean(value) else b"\0")

    def write_byte(self, value: int) -> None:
        """Write a signed byte."""
        self._append(typed.byte(value).to_bytes(1, "big", signed=True))

    def write_short(self, value: int) -> None:
        """Write two bytes, signed."""
        self._append(_SHORT.pack(typed.short(value)))

    def write_char(self, value: str) -> None:
        """Write one UTF-16 unit as two bytes."""
        self._append(ord(typed.char(value)).to_bytes(2, "big"))

    def write_int(self, value: int) -> None:
        """Write four bytes, signed."""
        self._append(_INT.pack(typed.integer(value)))

    def write_long(self, value: int) -> None:
        """Write eight bytes, signed."""
        self._append(_LONG.pack(typed.long(value)))

    def write_float(self, value: float) -> None:
        """Write four bytes, IEEE 754."""
        self._append(_FLOAT.pack(typed.floating(value)))

    def write_double(self, value: float) -> None:
        """Write eight bytes, IEEE 754."""
        self._append(_DOUBLE.pack(typed.double(value)))

    def write_utf(self, value: str) -> None:
        """Write a two-byte length and a text in modified UTF-8; MessageFormatException above 65535 bytes."""
        text = typed.text(value)
        if text is None:
            raise NullValueError("a text is needed, not None")
        try:
            data = mutf8.write_utf(text)
        except mutf8.ModifiedUtf8Error as error:
            raise MessageFormatException(str(error)) from error
        self._append(data)

    def write_bytes(self, value: typed.Buffer, offset: int = 0, length: int | None = None) -> None:
        """Write ``length`` bytes from ``offset``, without a length prefix."""
        self._append(typed.section(value, offset, length))

    def write_object(self, value: Any) -> None:
        """Write a value according to its type: an int as four bytes, text as ``write_utf``."""
        if value is None:
            raise NullValueError("a value is needed, not None")
        canonical = canonical_field(value)
        _WRITERS[type(canonical)](self, canonical)

    def _clear(self) -> None:
        self._buffer = bytearray()
        self._position = 0
        self._reading = False

    def _load(self, body: Any) -> None:
        self._buffer = body
        self._position = 0
        self._reading = True

    def _snapshot(self) -> bytes:
        return bytes(self._buffer)

    def _has_body(self) -> bool:
        return True

    def _assignable(self, kind: type) -> bool:
        return issubclass(bytes, kind)

    def _body(self, kind: type) -> Any:
        if not issubclass(bytes, kind):
            return Message._body(self, kind)
        self._reset_for_reading()
        return self._buffer

    def _reset_for_reading(self) -> None:
        self._buffer = bytes(self._buffer)
        self._position = 0
        self._reading = True


_WRITERS: dict[type, Any] = {
    bool: BytesMessage.write_boolean,
    Byte: BytesMessage.write_byte,
    Short: BytesMessage.write_short,
    Char: BytesMessage.write_char,
    int: BytesMessage.write_int,
    Long: BytesMessage.write_long,
    Float: BytesMessage.write_float,
    float: BytesMessage.write_double,
    str: BytesMessage.write_utf,
    bytes: BytesMessage.write_bytes,
}


def target_of(buffer: bytearray | memoryview, length: int | None) -> memoryview:
    """The part of a writable buffer that a read may fill; IndexError if the buffer is smaller."""
    if buffer is None:
        raise NullValueError("a buffer is needed, not None")
    view = memoryview(buffer).cast("B")
    if view.readonly:
        raise TypeError("the buffer must be writable, such as a bytearray")
    wanted = len(view) if length is None else length
    if not 0 <= wanted <= len(view):
        raise IndexError(f"{length} bytes do not fit a buffer of {len(view)}")
    return view[:wanted]

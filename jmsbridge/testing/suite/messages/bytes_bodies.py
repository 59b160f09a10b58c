"""Bytes messages: Java's primitives as bytes, their ends and errors (section 3.11.6; rules BO-5, 9, 10 and 15)."""

import struct
from typing import Any

import pytest

from jmsbridge import (
    Byte,
    BytesMessage,
    Char,
    Double,
    Float,
    Int,
    Long,
    MessageEOFException,
    MessageFormatException,
    MessageNotReadableException,
    MessageNotWriteableException,
    NullValueError,
    Queue,
    Session,
    Short,
)
from jmsbridge.testing.marks import pitfall, rule
from jmsbridge.testing.suite.messages.wire import round_trip

LAYOUT: dict[str, tuple[Any, bytes]] = {
    "boolean": (True, b"\x01"),
    "byte": (-2, b"\xfe"),
    "short": (-2, b"\xff\xfe"),
    "char": ("€", b"\x20\xac"),
    "int": (-2, b"\xff\xff\xff\xfe"),
    "long": (1 << 40, b"\x00\x00\x01\x00\x00\x00\x00\x00"),
    "float": (1.5, b"\x3f\xc0\x00\x00"),
    "double": (-1.5, b"\xbf\xf8\x00\x00\x00\x00\x00\x00"),
    "utf": ("aé", b"\x00\x03a\xc3\xa9"),
}
READERS = [*LAYOUT, "unsigned_byte", "unsigned_short"]


def read(message: BytesMessage, kind: str) -> Any:
    """``message.read_<kind>()``."""
    return getattr(message, f"read_{kind}")()


def write(message: BytesMessage, kind: str, value: Any) -> None:
    """``message.write_<kind>(value)``."""
    getattr(message, f"write_{kind}")(value)


@rule("BO-9", "BO-15")
@pytest.mark.parametrize("kind", LAYOUT)
def test_body_bytes_layout_is_java_s(session: Session, queue: Queue, kind: str) -> None:
    """Big-endian, IEEE 754, one byte for a boolean, and read back as it was written, on both sides."""
    value, raw = LAYOUT[kind]
    message = session.create_bytes_message()
    write(message, kind, value)
    message.reset()
    for side in (message, round_trip(session, queue, message)):
        assert side.get_body(bytes) == raw
        assert side.body_length == len(raw)
        assert read(side, kind) == value


@rule("BO-9")
def test_body_bytes_unsigned(session: Session, queue: Queue) -> None:
    """The same bytes read without a sign; any byte but zero is true."""
    message = session.create_bytes_message()
    message.write_bytes(b"\xff\xff\xfe\x02\x00")
    received = round_trip(session, queue, message)
    assert received.read_unsigned_byte() == 255
    assert received.read_unsigned_short() == 65534
    assert (received.read_boolean(), received.read_boolean()) == (True, False)


@rule("BO-15")
def test_body_bytes_utf_is_modified(session: Session, queue: Queue) -> None:
    """Text is modified UTF-8: NUL in two bytes, surrogates separately, its length in bytes before it."""
    message = session.create_bytes_message()
    message.write_utf("\0\U0001f600")
    message.write_utf("")
    received = round_trip(session, queue, message)
    assert received.get_body(bytes) == b"\x00\x08\xc0\x80\xed\xa0\xbd\xed\xb8\x80\x00\x00"
    assert (received.read_utf(), received.read_utf()) == ("\0\U0001f600", "")


@rule("BO-15")
def test_body_bytes_utf_too_long(session: Session, queue: Queue) -> None:
    """65535 bytes of text are the most; one more is a format error and writes nothing."""
    message = session.create_bytes_message()
    with pytest.raises(MessageFormatException):
        message.write_utf("é" * 32768)
    message.write_utf("x" * 65535)
    received = round_trip(session, queue, message)
    assert received.body_length == 65537
    assert received.read_utf() == "x" * 65535


@rule("BO-9", "BO-10")
@pytest.mark.parametrize("kind", READERS)
def test_body_bytes_past_the_end(session: Session, queue: Queue, kind: str) -> None:
    """Reading past the end is MessageEOF, and what is left can still be read."""
    message = session.create_bytes_message()
    # one byte less than each read needs; a text that claims more bytes than there are
    short = {"utf": b"\x00\x02a", "boolean": b"", "byte": b"", "unsigned_byte": b"", "unsigned_short": b"\x07"}
    left = short.get(kind, b"\x07" * (len(LAYOUT[kind][1]) - 1) if kind in LAYOUT else b"")
    message.write_bytes(left)
    received = round_trip(session, queue, message)
    for _ in range(2):
        with pytest.raises(MessageEOFException):
            read(received, kind)
    buffer = bytearray(8)
    assert received.read_bytes(buffer) == (len(left) or -1)
    assert bytes(buffer[: len(left)]) == left


@rule("BO-9")
@pitfall(37)
def test_body_bytes_read_into_a_buffer(session: Session, queue: Queue) -> None:
    """read_bytes fills what it can and says how much; -1 at the end; with a number it gives bytes, None at the end."""
    message = session.create_bytes_message()
    message.write_bytes(b"abcdefg")
    received = round_trip(session, queue, message)
    buffer = bytearray(4)
    assert (received.read_bytes(buffer), bytes(buffer)) == (4, b"abcd")
    assert (received.read_bytes(buffer), bytes(buffer)) == (3, b"efgd")
    assert (received.read_bytes(buffer), bytes(buffer)) == (-1, b"efgd")
    received.reset()
    assert (received.read_bytes(buffer, 2), bytes(buffer)) == (2, b"abgd")
    received.reset()
    assert [received.read_bytes(4), received.read_bytes(4), received.read_bytes(4)] == [b"abcd", b"efg", None]


@rule("BO-9")
@pytest.mark.parametrize("length", [-1, 5])
def test_body_bytes_read_of_a_bad_length_takes_nothing(session: Session, queue: Queue, length: int) -> None:
    """A length that is negative or larger than the buffer is an IndexError; nothing is consumed."""
    message = session.create_bytes_message()
    message.write_bytes(b"abcdefgh")
    received = round_trip(session, queue, message)
    with pytest.raises(IndexError):
        received.read_bytes(bytearray(4), length)
    assert received.read_bytes(8) == b"abcdefgh"


@rule("BO-9")
def test_body_bytes_no_value_is_refused(session: Session) -> None:
    """Null cannot be written as bytes, text or object; nothing is written."""
    nothing: Any = None
    message = session.create_bytes_message()
    for refuse in (message.write_bytes, message.write_utf, message.write_object):
        with pytest.raises(NullValueError):
            refuse(nothing)
    message.reset()
    assert message.body_length == 0


@rule("BO-9")
@pytest.mark.parametrize("value", [[1], {"a": 1}, object(), (1,)], ids=["list", "dict", "object", "tuple"])
def test_body_bytes_object_of_another_type_is_refused(session: Session, value: Any) -> None:
    """write_object takes primitives, text and bytes; anything else is a format error and writes nothing."""
    message = session.create_bytes_message()
    with pytest.raises(MessageFormatException):
        message.write_object(value)
    message.reset()
    assert message.body_length == 0


@rule("BO-9", "BO-15")
def test_body_bytes_objects_are_written_by_type(session: Session, queue: Queue) -> None:
    """A value is written as its type says: a Short in two bytes, an Int in four, a text with its length."""
    message = session.create_bytes_message()
    for value in (True, Byte(1), Short(2), Char("c"), Int(3), Long(4), Float(0.5), Double(0.25), "t", b"raw"):
        message.write_object(value)
    expected = b"\x01\x01\x00\x02\x00c" + struct.pack(">iqfd", 3, 4, 0.5, 0.25) + b"\x00\x01traw"
    assert round_trip(session, queue, message).get_body(bytes) == expected


@rule("BO-5")
def test_body_bytes_are_copied_in_and_out(session: Session, queue: Queue) -> None:
    """A message keeps the bytes of the call; a part of them is written when asked for."""
    source = bytearray(b"abcdef")
    message = session.create_bytes_message()
    message.write_bytes(source)
    message.write_bytes(source, 2, 3)
    source[:] = b"XXXXXX"
    received = round_trip(session, queue, message)
    body = received.get_body(bytes)
    assert body == b"abcdefcde"
    assert type(body) is bytes
    for offset, length in ((0, 7), (-1, 2), (5, 2)):
        with pytest.raises(IndexError):
            message.write_bytes(source, offset, length)


@rule("BO-2")
@pytest.mark.parametrize("kind", READERS)
def test_body_bytes_every_reader_refuses_write_mode(session: Session, kind: str) -> None:
    """Each read of a message that is being written is MessageNotReadable."""
    message = session.create_bytes_message()
    message.write_long(1)
    with pytest.raises(MessageNotReadableException):
        read(message, kind)
    with pytest.raises(MessageNotReadableException):
        message.read_bytes(bytearray(1))


@rule("BO-1", "BO-2")
@pytest.mark.parametrize("kind", LAYOUT)
def test_body_bytes_every_writer_refuses_read_mode(session: Session, queue: Queue, kind: str) -> None:
    """Each write into a received message is MessageNotWriteable and changes nothing."""
    message = session.create_bytes_message()
    message.write_bytes(b"abc")
    received = round_trip(session, queue, message)
    with pytest.raises(MessageNotWriteableException):
        write(received, kind, LAYOUT[kind][0])
    with pytest.raises(MessageNotWriteableException):
        received.write_bytes(b"x")
    with pytest.raises(MessageNotWriteableException):
        received.write_object(1)
    assert received.get_body(bytes) == b"abc"

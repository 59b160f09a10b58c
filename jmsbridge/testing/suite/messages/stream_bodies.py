"""Stream messages: types, the protocol of read_bytes, reads that fail (section 3.11.3; rules BO-10, BO-12 to BO-14)."""

from collections.abc import Callable
from typing import Any

import pytest

from jmsbridge import (
    Byte,
    Char,
    Double,
    Float,
    Int,
    Long,
    MessageEOFException,
    MessageFormatException,
    MessageNotReadableException,
    MessageNotWriteableException,
    NumberFormatError,
    Queue,
    Session,
    Short,
    StreamMessage,
)
from jmsbridge.testing.marks import pitfall, rule
from jmsbridge.testing.suite.messages.wire import round_trip

FIELDS: dict[str, tuple[Any, type]] = {
    "boolean": (False, bool),
    "byte": (Byte(127), Byte),
    "short": (Short(-32768), Short),
    "char": (Char("€"), Char),
    "int": (Int(-2147483648), Int),
    "long": (Long(1), Long),
    "float": (Float(0.1), Float),
    "double": (Double(0.1), Double),
    "string": ("tèxt \U0001f600", str),
    "bytes": (b"\x00\x01\xff", bytes),
}


def stream(session: Session, *values: Any) -> StreamMessage:
    """A stream message of these values."""
    message = session.create_stream_message()
    for value in values:
        message.write_object(value)
    return message


@rule("BO-13", "BO-12")
@pitfall(34)
def test_body_stream_keeps_types(session: Session, queue: Queue) -> None:
    """Ten kinds of value, by typed writer and by object, come back in order as what they were; so does null."""
    message = session.create_stream_message()
    for kind, (value, _) in FIELDS.items():
        getattr(message, f"write_{kind}")(value)
        message.write_object(value)
        message.write_object(None)
    received = round_trip(session, queue, message)
    for value, boxed in FIELDS.values():
        for _ in range(2):
            found = received.read_object()
            assert found == value
            assert type(found) is boxed
        assert received.read_object() is None
    with pytest.raises(MessageEOFException):
        received.read_object()


@rule("BO-10")
@pytest.mark.parametrize("kind", [*FIELDS, "object"])
def test_body_stream_ends_with_eof(session: Session, queue: Queue, kind: str) -> None:
    """Every read of an exhausted stream is MessageEOF, again and again; reset begins anew."""
    received = round_trip(session, queue, stream(session, 1))
    assert received.read_int() == 1
    for _ in range(2):
        with pytest.raises(MessageEOFException):
            received.read_bytes(bytearray(4)) if kind == "bytes" else getattr(received, f"read_{kind}")()
    received.reset()
    assert received.read_int() == 1


WRONG: dict[str, tuple[Any, Callable[[StreamMessage], object], type[Exception]]] = {
    "long-as-int": (Long(1), lambda message: message.read_int(), MessageFormatException),
    "string-as-char": ("c", lambda message: message.read_char(), MessageFormatException),
    "string-as-bytes": ("c", lambda message: message.read_bytes(bytearray(4)), MessageFormatException),
    "bytes-as-string": (b"b", lambda message: message.read_string(), MessageFormatException),
    "double-as-float": (Double(1.5), lambda message: message.read_float(), MessageFormatException),
    "boolean-as-int": (True, lambda message: message.read_int(), MessageFormatException),
    "word-as-int": ("word", lambda message: message.read_int(), NumberFormatError),
    "word-as-double": ("word", lambda message: message.read_double(), NumberFormatError),
    "too-big-as-byte": ("128", lambda message: message.read_byte(), NumberFormatError),
}


@rule("BO-10")
@pitfall(37)
@pytest.mark.parametrize("case", WRONG)
def test_body_stream_failed_read_does_not_advance(session: Session, queue: Queue, case: str) -> None:
    """A read that fails leaves the position: the same value can be read as what it is, and then the next."""
    value, wrong, error = WRONG[case]
    received = round_trip(session, queue, stream(session, value, "next"))
    for _ in range(2):
        with pytest.raises(error):
            wrong(received)
    assert received.read_object() == value
    assert received.read_string() == "next"


@rule("BO-14")
@pitfall(37)
def test_body_stream_bytes_field_in_pieces(session: Session, queue: Queue) -> None:
    """A full buffer means: call again; a partly filled one is the end of the field; the next field follows."""
    received = round_trip(session, queue, stream(session, b"abcdefg", "next"))
    buffer = bytearray(3)
    found = []
    for _ in range(3):
        count = received.read_bytes(buffer)
        found.append((count, bytes(buffer[:count])))
    assert found == [(3, b"abc"), (3, b"def"), (1, b"g")]
    assert received.read_string() == "next"


@rule("BO-14")
@pitfall(37)
def test_body_stream_bytes_of_an_exact_fit(session: Session, queue: Queue) -> None:
    """A field that fills the buffer exactly ends with -1."""
    received = round_trip(session, queue, stream(session, b"abcd", "next"))
    buffer = bytearray(4)
    assert (received.read_bytes(buffer), bytes(buffer)) == (4, b"abcd")
    assert received.read_bytes(buffer) == -1
    assert received.read_string() == "next"


@rule("BO-14")
@pitfall(37)
def test_body_stream_bytes_field_must_be_finished(session: Session, queue: Queue) -> None:
    """In the middle of a bytes field every other read is a format error; read_bytes goes on where it was."""
    received = round_trip(session, queue, stream(session, b"abcd", "next"))
    buffer = bytearray(2)
    assert received.read_bytes(buffer) == 2
    for kind in (*(kind for kind in FIELDS if kind != "bytes"), "object"):
        with pytest.raises(MessageFormatException):
            getattr(received, f"read_{kind}")()
    assert (received.read_bytes(buffer), bytes(buffer)) == (2, b"cd")
    with pytest.raises(MessageFormatException):
        received.read_string()
    assert received.read_bytes(buffer) == -1
    assert received.read_string() == "next"


@rule("BO-14")
def test_body_stream_empty_and_null_bytes(session: Session, queue: Queue) -> None:
    """An empty field reads 0, a null field -1, and each is done with that."""
    message = session.create_stream_message()
    message.write_bytes(b"")
    message.write_bytes(None)
    message.write_object(None)
    message.write_string("next")
    received = round_trip(session, queue, message)
    buffer = bytearray(4)
    assert [received.read_bytes(buffer) for _ in range(3)] == [0, -1, -1]
    assert received.read_string() == "next"


@rule("BO-14")
@pitfall(37)
def test_body_stream_bytes_fields_stay_distinct(session: Session, queue: Queue) -> None:
    """Fields of bytes after one another are not run together, into a buffer nor by number."""
    message = session.create_stream_message()
    message.write_bytes(b"abc")
    message.write_bytes(b"xdefx", 1, 3)
    message.write_bytes(b"ghi")
    received = round_trip(session, queue, message)
    buffer = bytearray(8)
    for expected in (b"abc", b"def", b"ghi"):
        assert received.read_bytes(buffer) == 3
        assert bytes(buffer[:3]) == expected
    with pytest.raises(MessageEOFException):
        received.read_bytes(buffer)
    received.reset()
    assert [received.read_bytes(8) for _ in range(3)] == [b"abc", b"def", b"ghi"]


@rule("BO-5", "BO-13")
def test_body_stream_object_gives_copies(session: Session, queue: Queue) -> None:
    """Bytes are copied in, and come out as bytes."""
    source = bytearray(b"abc")
    message = session.create_stream_message()
    message.write_bytes(source)
    message.write_object(source)
    source[:] = b"XXX"
    received = round_trip(session, queue, message)
    found = [received.read_object(), received.read_object()]
    assert found == [b"abc", b"abc"]
    assert [type(value) for value in found] == [bytes, bytes]


@rule("BO-2")
@pytest.mark.parametrize("kind", [*FIELDS, "object"])
def test_body_stream_every_reader_refuses_write_mode(session: Session, kind: str) -> None:
    """Each read of a message that is being written is MessageNotReadable."""
    message = stream(session, 1)
    with pytest.raises(MessageNotReadableException):
        message.read_bytes(bytearray(4)) if kind == "bytes" else getattr(message, f"read_{kind}")()


@rule("BO-1", "BO-2")
@pytest.mark.parametrize("kind", [*FIELDS, "object"])
def test_body_stream_read_only_after_reset(session: Session, queue: Queue, kind: str) -> None:
    """Each write into a received message, or after reset, is MessageNotWriteable and changes nothing."""
    message = stream(session, 1)
    received = round_trip(session, queue, message)
    message.reset()
    value = FIELDS[kind][0] if kind in FIELDS else 1
    for side in (message, received):
        with pytest.raises(MessageNotWriteableException):
            getattr(side, f"write_{kind}")(value)
        assert side.read_int() == 1
        with pytest.raises(MessageEOFException):
            side.read_int()

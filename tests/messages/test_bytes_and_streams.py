"""The two bodies that are written and read in sequence."""

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jmsbridge.errors import (
    MessageEOFException,
    MessageFormatException,
    MessageNotReadableException,
    MessageNotWriteableException,
    NullValueError,
    NumberFormatError,
)
from jmsbridge.message import BytesMessage, Message, StreamMessage, message_from_arrival
from jmsbridge.spi.envelope import Address, BodyKind, Envelope
from jmsbridge.testing.marks import pitfall, rule
from jmsbridge.values import Byte, Char, Double, Float, Int, Long, Short

WRITES: dict[str, tuple[Any, bytes]] = {
    "boolean": (True, b"\1"),
    "byte": (-2, b"\xfe"),
    "short": (-2, b"\xff\xfe"),
    "char": ("€", b"\x20\xac"),
    "int": (-2, b"\xff\xff\xff\xfe"),
    "long": (-2, b"\xff" * 7 + b"\xfe"),
    "float": (0.1, struct.pack(">f", 0.1)),
    "double": (0.1, struct.pack(">d", 0.1)),
    "utf": ("\0é😀", b"\x00\x0a\xc0\x80\xc3\xa9\xed\xa0\xbd\xed\xb8\x80"),
    "bytes": (b"xy", b"xy"),
    "object": (Long(1), b"\0" * 7 + b"\1"),
}
OBJECTS: list[tuple[Any, bytes]] = [
    (True, b"\1"), (Byte(1), b"\1"), (Short(1), b"\0\1"), (Char("a"), b"\0a"), (1, b"\0\0\0\1"), (Int(1), b"\0\0\0\1"),
    (1.0, struct.pack(">d", 1)), (Float(1), struct.pack(">f", 1)), (Double(1), struct.pack(">d", 1)), ("a", b"\0\1a"),
    (bytearray(b"b"), b"b"),
]  # fmt: skip
BYTES_READS = [
    "boolean", "byte", "unsigned_byte", "short", "unsigned_short", "char", "int", "long", "float", "double", "utf",
]  # fmt: skip
STREAM_TYPES = ["boolean", "byte", "short", "char", "int", "long", "float", "double", "string", "object"]


def arrived(kind: BodyKind, body: Any) -> Any:
    return message_from_arrival(Envelope(Address("q"), kind, body, {}, "ID:1", 1), False, 1, None)


def freeze(message: Message) -> Any:
    return message._freeze(Address("q"), None, 0, True, 4, 0, 0, None).body


def stream(*values: Any) -> StreamMessage:
    message = StreamMessage()
    for value in values:
        message.write_object(value)
    message.reset()
    return message


def binary(data: bytes) -> BytesMessage:
    message: BytesMessage = arrived(BodyKind.BYTES, data)
    return message


# ---- bytes


@pytest.mark.parametrize("name", WRITES)
@rule("BO-15", "BO-9")
def test_bytes_written_are_javas(name: str) -> None:
    message = BytesMessage()
    value, data = WRITES[name]
    getattr(message, f"write_{name}")(value)
    assert freeze(message) == data


@pytest.mark.parametrize(("value", "data"), OBJECTS)
@rule("BO-9", "BO-15")
def test_objects_are_written_by_type(value: Any, data: bytes) -> None:
    message = BytesMessage()
    message.write_object(value)
    assert freeze(message) == data


@rule("BO-9")
def test_values_that_cannot_be_written() -> None:
    message = BytesMessage()
    for write in (message.write_object, message.write_bytes, message.write_utf):
        with pytest.raises(NullValueError):
            write(None)  # type: ignore[arg-type]
    for value in ([], {}, object(), 1 << 64):
        with pytest.raises(MessageFormatException):
            message.write_object(value)
    with pytest.raises(MessageFormatException, match="65535"):
        message.write_utf("x" * 65536)
    with pytest.raises(IndexError):
        message.write_bytes(b"abc", 2, 2)
    assert freeze(message) == b""
    message.write_bytes(b"abcd", 1, 2)
    assert freeze(message) == b"bc"


@rule("BO-9", "BO-15")
def test_bytes_read_what_was_written() -> None:
    message = BytesMessage()
    for name, (value, _) in WRITES.items():
        getattr(message, f"write_{name}")(value)
    message.write_byte(-1)
    message.write_short(-1)
    message.reset()
    assert message.body_length == sum(len(data) for _, data in WRITES.values()) + 3
    read = [message.read_boolean(), message.read_byte(), message.read_short(), message.read_char(), message.read_int()]
    read += [message.read_long(), message.read_float(), message.read_double()]
    assert read == [True, -2, -2, "€", -2, -2, Float(0.1), 0.1]
    assert [type(value) for value in read] == [bool, Byte, Short, Char, int, Long, Float, float]
    assert (message.read_utf(), message.read_bytes(2), message.read_long()) == ("\0é😀", b"xy", 1)
    assert (message.read_unsigned_byte(), message.read_unsigned_short()) == (255, 65535)


@pytest.mark.parametrize("name", BYTES_READS)
@rule("BO-9")
def test_reading_past_the_end(name: str) -> None:
    message = binary(b"")
    with pytest.raises(MessageEOFException):
        getattr(message, f"read_{name}")()
    short = binary(b"\0")
    if name not in ("boolean", "byte", "unsigned_byte"):
        with pytest.raises(MessageEOFException):
            getattr(short, f"read_{name}")()
    assert short.read_byte() == 0


@rule("BO-10", "BO-15")
def test_a_text_that_cannot_be_read_consumes_nothing() -> None:
    message = binary(b"\0\2\xff\xff")
    with pytest.raises(MessageFormatException):
        message.read_utf()
    assert message.read_short() == 2
    cut = binary(b"\0\5abc")
    with pytest.raises(MessageEOFException):
        cut.read_utf()
    assert cut.read_bytes(10) == b"\0\5abc"


@rule("BO-9")
def test_read_bytes_into_a_buffer() -> None:
    message = binary(b"abcde")
    buffer = bytearray(3)
    assert (message.read_bytes(buffer), bytes(buffer)) == (3, b"abc")
    assert (message.read_bytes(buffer), bytes(buffer)) == (2, b"dec")
    assert message.read_bytes(buffer) == -1
    message.reset()
    assert (message.read_bytes(memoryview(buffer), 1), bytes(buffer)) == (1, b"aec")
    for length in (-1, 4):
        with pytest.raises(IndexError):
            message.read_bytes(buffer, length)
    with pytest.raises(NullValueError):
        message.read_bytes(None)  # type: ignore[call-overload]
    with pytest.raises(TypeError):
        message.read_bytes(memoryview(b"readonly"))
    assert message.read_byte() == ord("b")


@rule("BO-9")
def test_read_bytes_as_bytes() -> None:
    message = binary(b"abcde")
    with pytest.raises(IndexError):
        message.read_bytes(-1)
    assert [message.read_bytes(3), message.read_bytes(3), message.read_bytes(3), message.read_bytes(0)] == [
        b"abc", b"de", None, b"",
    ]  # fmt: skip


@pytest.mark.parametrize("name", [*BYTES_READS, "bytes"])
@rule("BO-2", "BO-1")
@pitfall(37)
def test_bytes_modes_for_reading(name: str) -> None:
    message = BytesMessage()
    message.write_bytes(bytes(10))
    arguments = (3,) if name == "bytes" else ()
    with pytest.raises(MessageNotReadableException):
        getattr(message, f"read_{name}")(*arguments)
    with pytest.raises(MessageNotReadableException):
        message.body_length  # noqa: B018
    message.reset()
    getattr(message, f"read_{name}")(*arguments)
    assert message.body_length == 10
    message.clear_body()
    with pytest.raises(MessageNotReadableException):
        getattr(message, f"read_{name}")(*arguments)


@pytest.mark.parametrize("name", WRITES)
@rule("BO-1", "BO-2")
def test_bytes_modes_for_writing(name: str) -> None:
    value, data = WRITES[name]
    reset = BytesMessage()
    reset.reset()
    for message in (reset, binary(b"abc")):
        with pytest.raises(MessageNotWriteableException):
            getattr(message, f"write_{name}")(value)
        message.clear_body()
        getattr(message, f"write_{name}")(value)
        assert freeze(message) == data


@rule("BO-3", "BO-4")
@pitfall(37)
def test_sending_neither_consumes_nor_moves_a_bytes_body() -> None:
    message = BytesMessage()
    message.write_bytes(b"ab")
    assert freeze(message) == b"ab"
    message.write_bytes(b"cd")
    message.reset()
    message.read_bytes(3)
    assert freeze(message) == b"abcd"
    assert message.read_byte() == ord("d")
    message._reset_for_reading()
    assert message.read_byte() == ord("a")


@given(
    st.lists(
        st.one_of(st.integers(-(1 << 31), (1 << 31) - 1), st.floats(allow_nan=False), st.text(max_size=5)), max_size=8
    )
)
def test_any_sequence_comes_back(values: list[Any]) -> None:
    message = BytesMessage()
    for value in values:
        message.write_object(value)
    message.reset()
    readers = {int: message.read_int, float: message.read_double, str: message.read_utf}
    assert [readers[type(value)]() for value in values] == values


# ---- stream


@pytest.mark.parametrize("name", [*STREAM_TYPES, "bytes"])
@rule("BO-1", "BO-2")
@pitfall(37)
def test_stream_modes(name: str) -> None:
    value = {"boolean": True, "char": "c", "string": "s", "bytes": b"b"}.get(name, 1)
    arguments = (3,) if name == "bytes" else ()
    message = StreamMessage()
    getattr(message, f"write_{name}")(value)
    with pytest.raises(MessageNotReadableException):
        getattr(message, f"read_{name}")(*arguments)
    message.reset()
    assert getattr(message, f"read_{name}")(*arguments) == value
    for closed in (message, arrived(BodyKind.STREAM, [1])):
        with pytest.raises(MessageNotWriteableException):
            getattr(closed, f"write_{name}")(value)
        closed.clear_body()
        getattr(closed, f"write_{name}")(value)
        assert freeze(closed) == [value]


@pytest.mark.parametrize("name", [*STREAM_TYPES, "bytes"])
@rule("BO-10")
def test_an_exhausted_stream(name: str) -> None:
    message = stream()
    with pytest.raises(MessageEOFException):
        getattr(message, f"read_{name}")(*((3,) if name == "bytes" else ()))
    assert freeze(message) == []


@rule("BO-10")
@pitfall(37)
def test_failed_reads_do_not_advance() -> None:
    message = stream("x", 5)
    with pytest.raises(NumberFormatError):
        message.read_int()
    with pytest.raises(MessageFormatException):
        message.read_char()
    with pytest.raises(MessageFormatException):
        message.read_bytes(3)
    assert message.read_string() == "x"
    assert message.read_int() == 5


@pytest.mark.parametrize("value", [[], {}, object(), 1 << 64])
@rule("BO-12")
def test_values_that_a_stream_cannot_hold(value: Any) -> None:
    message = StreamMessage()
    with pytest.raises(MessageFormatException):
        message.write_object(value)
    message.write_object(None)
    assert freeze(message) == [None]


@rule("BO-13", "BO-12", "BO-5")
def test_objects_of_a_stream_keep_their_type() -> None:
    source = bytearray(b"ab")
    message = StreamMessage()
    message.write_bytes(source)
    message.write_bytes(source, 1, 1)
    for value in (1, 1.5, Char("c"), Byte(2), None):
        message.write_object(value)
    message.write_bytes(None)
    source[:] = b"zz"
    message.reset()
    read = [message.read_object() for _ in range(8)]
    assert read == [b"ab", b"b", 1, 1.5, "c", 2, None, None]
    assert [type(value) for value in read[2:6]] == [Int, Double, Char, Byte]


def pieces(message: StreamMessage, size: int) -> list[int]:
    """The answers of read_bytes up to the end of the field."""
    buffer = bytearray(size)
    answers = [message.read_bytes(buffer)]
    while answers[-1] == size:
        answers.append(message.read_bytes(buffer))
    return answers


@rule("BO-14")
@pitfall(37)
def test_read_bytes_of_a_stream_answers_as_java_does() -> None:
    assert pieces(stream(b"abcde"), 10) == [5]
    assert pieces(stream(b"abcde"), 5) == [5, -1]
    assert pieces(stream(b"abcde"), 2) == [2, 2, 1]
    assert pieces(stream(b"abcd"), 2) == [2, 2, -1]
    assert pieces(stream(b""), 4) == [0]
    assert pieces(stream(None), 4) == [-1]


@rule("BO-14")
def test_read_bytes_of_a_stream_as_bytes() -> None:
    message = stream(b"abcd", b"", None, b"xyz", 7)
    read = [message.read_bytes(2) for _ in range(6)]
    assert read == [b"ab", b"cd", None, b"", None, b"xy"]
    assert message.read_bytes(5) == b"z"
    assert message.read_int() == 7


@rule("BO-14")
def test_no_other_read_in_the_middle_of_a_field() -> None:
    message = stream(b"abcd", "next")
    buffer = bytearray(4)
    assert (message.read_bytes(buffer), bytes(buffer)) == (4, b"abcd")
    for name in STREAM_TYPES:
        with pytest.raises(MessageFormatException, match="read_bytes"):
            getattr(message, f"read_{name}")()
    assert message.read_bytes(buffer) == -1
    assert message.read_string() == "next"
    message.reset()
    message.read_bytes(1)
    message.reset()
    assert message.read_object() == b"abcd"


@rule("BO-14")
def test_consecutive_bytes_fields_stay_apart() -> None:
    message = stream(b"ab", b"cd")
    buffer = bytearray(2)
    assert [message.read_bytes(buffer), message.read_bytes(buffer), message.read_bytes(buffer)] == [2, -1, 2]
    assert buffer == b"cd"
    with pytest.raises(IndexError):
        message.read_bytes(buffer, 3)
    with pytest.raises(IndexError):
        message.read_bytes(-1)
    assert message.read_bytes(buffer) == -1


@rule("BO-3", "BO-4")
@pitfall(37)
def test_sending_neither_consumes_nor_moves_a_stream() -> None:
    message = StreamMessage()
    message.write_int(1)
    first = freeze(message)
    message.write_int(2)
    message.reset()
    message.read_int()
    assert (first, freeze(message)) == ([1], [1, 2])
    assert message.read_int() == 2
    message._reset_for_reading()
    assert message.read_int() == 1


@rule("HD-12")
def test_clearing_a_received_stream_leaves_the_envelope_alone() -> None:
    items = [1, 2]
    got: StreamMessage = arrived(BodyKind.STREAM, items)
    got.clear_body()
    got.write_int(3)
    assert (items, freeze(got)) == ([1, 2], [3])

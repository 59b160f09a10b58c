"""Map messages, and the conversion table of map and stream fields (section 3.11.3; rules BO-5, BO-11 to BO-13)."""

import math
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any

import pytest

from jmsbridge import (
    Byte,
    Char,
    Double,
    Float,
    Int,
    Long,
    MapMessage,
    MessageFormatException,
    MessageFormatRuntimeException,
    NullValueError,
    NumberFormatError,
    Queue,
    Session,
    Short,
    StreamMessage,
)
from jmsbridge.testing.harness import Harness
from jmsbridge.testing.marks import pitfall, rule
from jmsbridge.testing.suite.messages.wire import round_trip

KINDS = ("boolean", "byte", "short", "char", "int", "long", "float", "double", "string", "bytes")

ROWS: dict[str, tuple[Any, dict[str, Any]]] = {
    "boolean": (True, {"boolean": True, "string": "true"}),
    "byte": (-128, {"byte": -128, "short": -128, "int": -128, "long": -128, "string": "-128"}),
    "short": (32767, {"short": 32767, "int": 32767, "long": 32767, "string": "32767"}),
    "char": ("x", {"char": "x", "string": "x"}),
    "int": (2147483647, {"int": 2147483647, "long": 2147483647, "string": "2147483647"}),
    "long": (-(2**63), {"long": -(2**63), "string": "-9223372036854775808"}),
    "float": (0.5, {"float": 0.5, "double": 0.5, "string": "0.5"}),
    "double": (6.02e23, {"double": 6.02e23, "string": "6.02E23"}),
    "string": (
        "42",
        {
            "boolean": False,
            "byte": 42,
            "short": 42,
            "int": 42,
            "long": 42,
            "float": 42.0,
            "double": 42.0,
            "string": "42",
        },
    ),
    "bytes": (b"\x00\xff", {"bytes": b"\x00\xff"}),
}

TYPED: dict[str, tuple[Any, type]] = {
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


def assert_row(cells: dict[str, Any], read: Callable[[str], Any]) -> None:
    """Each marked cell gives its value, each other one MessageFormat."""
    for kind in KINDS:
        if kind in cells:
            found = read(kind)
            assert found == cells[kind], kind
            assert isinstance(found, type(cells[kind])), kind
        else:
            with pytest.raises(MessageFormatException):
                read(kind)


def get_field(message: MapMessage, kind: str) -> Any:
    """The field ``f`` of a map, read as this kind."""
    return getattr(message, f"get_{kind}")("f")


@rule("BO-13", "BO-11")
@pitfall(34)
@pytest.mark.parametrize("row", ROWS)
def test_body_field_conversion_row_of_a_map(session: Session, queue: Queue, row: str) -> None:
    """Each cell of the table for map fields, on both sides of the wire."""
    value, cells = ROWS[row]
    message = session.create_map_message()
    getattr(message, f"set_{row}")("f", value)
    for side in (message, round_trip(session, queue, message)):
        assert_row(cells, partial(get_field, side))


def read_field(message: StreamMessage, kind: str) -> Any:
    """The first field of a stream, read as this kind."""
    message.reset()
    if kind == "bytes":
        return message.read_bytes(64)
    return getattr(message, f"read_{kind}")()


@rule("BO-13", "BO-10")
@pitfall(34)
@pytest.mark.parametrize("row", ROWS)
def test_body_field_conversion_row_of_a_stream(session: Session, queue: Queue, row: str) -> None:
    """Each cell of the table for stream fields; a refused read leaves the field to be read."""
    value, cells = ROWS[row]
    message = session.create_stream_message()
    getattr(message, f"write_{row}")(value)
    for side in (message, round_trip(session, queue, message)):
        assert_row(cells, partial(read_field, side))


NULLS: dict[str, Any] = {
    "boolean": False,
    "byte": NumberFormatError,
    "short": NumberFormatError,
    "int": NumberFormatError,
    "long": NumberFormatError,
    "char": NullValueError,
    "float": NullValueError,
    "double": NullValueError,
    "string": None,
    "object": None,
}


@rule("BO-11", "BO-12")
@pitfall(35)
@pytest.mark.parametrize("kind", [*NULLS, "bytes"])
def test_body_field_null_of_a_map(session: Session, queue: Queue, kind: str) -> None:
    """A null field and an unknown name read the same: None, False, or the error of the getter's type."""
    message = session.create_map_message()
    message.set_object("null", None)
    expected = NULLS.get(kind)
    for side in (message, round_trip(session, queue, message)):
        assert (side.item_exists("null"), side.item_exists("unknown")) == (True, False)
        for name in ("null", "unknown"):
            read = getattr(side, f"get_{kind}")
            if isinstance(expected, type):
                with pytest.raises(expected):
                    read(name)
            else:
                assert read(name) is expected


@rule("BO-12", "BO-10")
@pitfall(35)
@pytest.mark.parametrize("kind", NULLS)
def test_body_field_null_of_a_stream(session: Session, queue: Queue, kind: str) -> None:
    """A null in a stream answers each read as a null field of a map does; a failed read leaves it to be read."""
    message = session.create_stream_message()
    message.write_object(None)
    message.write_string("next")
    expected = NULLS[kind]
    received = round_trip(session, queue, message)
    read = getattr(received, f"read_{kind}")
    if isinstance(expected, type):
        with pytest.raises(expected):
            read()
        assert received.read_object() is None
    else:
        assert read() is expected
    assert received.read_string() == "next"


SETTERS: dict[str, Any] = {**{kind: value for kind, (value, _) in TYPED.items()}, "object": 1}


@rule("BO-11")
@pytest.mark.parametrize("name", [None, ""], ids=["null", "empty"])
@pytest.mark.parametrize("kind", SETTERS)
def test_body_map_missing_name_is_refused(session: Session, kind: str, name: Any) -> None:
    """Every setter of a map refuses an empty or missing name."""
    message = session.create_map_message()
    with pytest.raises(ValueError):
        getattr(message, f"set_{kind}")(name, SETTERS[kind])
    with pytest.raises(ValueError):
        message.body[name] = SETTERS[kind]
    assert list(message.map_names) == []


FOREIGN: dict[str, Any] = {
    "map": {"a": 1},
    "list": [1],
    "tuple": (1,),
    "decimal": Decimal(1),
    "object": object(),
}


@rule("BO-11")
@pytest.mark.parametrize("kind", FOREIGN)
def test_body_map_foreign_values_are_refused(session: Session, kind: str) -> None:
    """Maps do not nest and carry no other objects, nor do streams."""
    message = session.create_map_message()
    with pytest.raises(MessageFormatException):
        message.set_object("f", FOREIGN[kind])
    with pytest.raises(MessageFormatException):
        message.body["f"] = FOREIGN[kind]
    assert not message.item_exists("f")
    with pytest.raises(MessageFormatException):
        session.create_stream_message().write_object(FOREIGN[kind])


@rule("BO-11")
@pytest.mark.parametrize("value", [{"inner": 1}, [1], Decimal(1)], ids=["map", "list", "decimal"])
def test_body_map_of_a_context_refuses_nesting(harness: Harness, queue: Queue, value: Any) -> None:
    """A JMSProducer refuses such a map as a body, with the unchecked class; nothing is sent."""
    context = harness.context()
    with pytest.raises(MessageFormatRuntimeException):
        context.create_producer().send(queue, {"outer": value})
    assert context.create_consumer(queue).receive(timeout=0.1) is None


@rule("BO-12")
def test_body_map_accepts_null_values(session: Session, queue: Queue) -> None:
    """Null is a value for object, string and bytes, with its name."""
    message = session.create_map_message()
    message.set_object("object", None)
    message.set_string("string", None)
    message.set_bytes("bytes", None)
    received = round_trip(session, queue, message)
    assert sorted(received.map_names) == ["bytes", "object", "string"]
    assert [received.get_object(name) for name in ("object", "string", "bytes")] == [None, None, None]


@rule("BO-13")
@pitfall(34)
def test_body_map_keeps_types_and_names(session: Session, queue: Queue) -> None:
    """Ten kinds of value under names of any text come back as what they were, by setter and by object."""
    message = session.create_map_message()
    for kind, (value, _) in TYPED.items():
        getattr(message, f"set_{kind}")(f"by {kind}", value)
        message.set_object(f"o.{kind}-é", value)
    received = round_trip(session, queue, message)
    assert sorted(received.map_names) == sorted(message.map_names)
    for kind, (value, boxed) in TYPED.items():
        for name in (f"by {kind}", f"o.{kind}-é"):
            found = received.get_object(name)
            assert found == value, name
            assert type(found) is boxed, name


@rule("BO-5", "BO-13")
def test_body_map_bytes_are_copied(session: Session, queue: Queue) -> None:
    """The bytes of a field are those of the call, a part of them when asked for."""
    source = bytearray(b"\x01\x02\x03\x04")
    message = session.create_map_message()
    message.set_bytes("all", source)
    message.set_object("object", source)
    message.set_bytes("part", source, 1, 2)
    source[:] = b"\xff\xff\xff\xff"
    for side in (message, round_trip(session, queue, message)):
        assert side.get_bytes("all") == side.get_object("object") == b"\x01\x02\x03\x04"
        assert side.get_bytes("part") == b"\x02\x03"
        assert type(side.get_object("object")) is bytes


@rule("BO-13")
def test_body_map_string_that_is_no_number(session: Session, queue: Queue) -> None:
    """Strings in fields are parsed by Java's rules; a character is no number, and a string no character."""
    message = session.create_map_message()
    message.set_string("word", "seven")
    message.set_string("big", "128")
    message.set_string("nan", "NaN")
    message.set_char("digit", "7")
    received = round_trip(session, queue, message)
    for kind in ("byte", "short", "int", "long", "float", "double"):
        with pytest.raises(NumberFormatError):
            getattr(received, f"get_{kind}")("word")
        with pytest.raises(MessageFormatException):
            getattr(received, f"get_{kind}")("digit")
    with pytest.raises(NumberFormatError):
        received.get_byte("big")
    assert received.get_short("big") == 128
    assert math.isnan(received.get_double("nan"))
    with pytest.raises(MessageFormatException):
        received.get_char("word")


@rule("BO-11", "BO-13")
def test_body_map_as_mapping(session: Session, queue: Queue) -> None:
    """The body of a map message is a mapping: plain Python values in, the stored types out."""
    message = session.create_map_message()
    message.body["int"] = 1
    message.body["long"] = 2**40
    message.body.update({"double": 0.5, "bool": True, "text": "t", "bytes": b"b", "none": None})
    received = round_trip(session, queue, message)
    assert isinstance(received, MapMessage)
    expected = {"int": 1, "long": 2**40, "double": 0.5, "bool": True, "text": "t", "bytes": b"b", "none": None}
    assert dict(received.body) == received.get_body(dict) == expected
    assert [type(received.body[name]) for name in ("int", "long", "double", "bool")] == [Int, Long, Double, bool]

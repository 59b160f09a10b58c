"""The property conversion table, cell by cell, on both sides of the wire (section 3.5.4; rules PR-4 and PR-5)."""

import math
from typing import Any

import pytest

from jmsbridge import (
    Message,
    MessageFormatException,
    MessageFormatRuntimeException,
    NullValueError,
    NumberFormatError,
    Queue,
    Session,
)
from jmsbridge.testing.harness import Harness
from jmsbridge.testing.marks import pitfall, rule
from jmsbridge.testing.suite.messages.wire import round_trip

GETTERS = ("boolean", "byte", "short", "int", "long", "float", "double", "string")

ROWS: dict[str, tuple[str, Any, dict[str, Any]]] = {
    "boolean": ("boolean", True, {"boolean": True, "string": "true"}),
    "byte": ("byte", -128, {"byte": -128, "short": -128, "int": -128, "long": -128, "string": "-128"}),
    "short": ("short", 32767, {"short": 32767, "int": 32767, "long": 32767, "string": "32767"}),
    "int": ("int", 2147483647, {"int": 2147483647, "long": 2147483647, "string": "2147483647"}),
    "long": ("long", -(2**63), {"long": -(2**63), "string": "-9223372036854775808"}),
    "float": ("float", 1.5, {"float": 1.5, "double": 1.5, "string": "1.5"}),
    "double": ("double", 6.02e23, {"double": 6.02e23, "string": "6.02E23"}),
    "string": (
        "string",
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
}


def read(message: Any, kind: str, name: str = "p") -> Any:
    """``message.get_<kind>_property(name)``."""
    return getattr(message, f"get_{kind}_property")(name)


def text_sides(session: Session, queue: Queue, text: str) -> tuple[Message, Message]:
    """A message with the string property ``p``: the sender's object and the receiver's."""
    message = session.create_message()
    message.set_string_property("p", text)
    return message, round_trip(session, queue, message)


@rule("PR-4")
@pitfall(34)
@pytest.mark.parametrize("row", ROWS)
def test_properties_conversion_row(session: Session, queue: Queue, row: str) -> None:
    """Each cell of the table: the value where it is marked, MessageFormat where it is not."""
    kind, value, cells = ROWS[row]
    message = session.create_message()
    getattr(message, f"set_{kind}_property")("p", value)
    for side in (message, round_trip(session, queue, message)):
        for getter in GETTERS:
            if getter in cells:
                found = read(side, getter)
                assert found == cells[getter], getter
                assert isinstance(found, type(cells[getter])), getter
            else:
                with pytest.raises(MessageFormatException):
                    read(side, getter)


@rule("PR-4")
@pytest.mark.parametrize("row", ROWS)
def test_properties_context_producer_converts_alike(session: Session, harness: Harness, row: str) -> None:
    """A JMSProducer's getters follow the same table, with the unchecked class."""
    kind, value, cells = ROWS[row]
    message = session.create_message()
    getattr(message, f"set_{kind}_property")("p", value)
    producer = harness.context().create_producer().set_property("p", message.get_object_property("p"))
    for getter in GETTERS:
        if getter in cells:
            assert read(producer, getter) == cells[getter], getter
        else:
            with pytest.raises(MessageFormatRuntimeException):
                read(producer, getter)


PARSED: list[tuple[str, str, Any]] = [
    ("byte", "+7", 7),
    ("byte", "-128", -128),
    ("short", "-32768", -32768),
    ("int", "0007", 7),
    ("long", "2147483648", 2147483648),
    ("float", " 1.5 ", 1.5),
    ("float", "1f", 1.0),
    ("double", "1d", 1.0),
    ("double", "0x1p3", 8.0),
    ("double", ".5e1", 5.0),
    ("double", "-Infinity", -math.inf),
    ("boolean", "TrUe", True),
    ("boolean", "1", False),
    ("boolean", "yes", False),
]


@rule("PR-4")
@pytest.mark.parametrize(("kind", "text", "expected"), PARSED)
def test_properties_string_parses_as_java_parses(
    session: Session, queue: Queue, kind: str, text: str, expected: Any
) -> None:
    """Strings become numbers by Java's grammar and booleans by comparison with "true"."""
    for side in text_sides(session, queue, text):
        found = read(side, kind)
        assert found == expected
        assert isinstance(found, type(expected))


UNPARSABLE: list[tuple[str, str]] = [
    ("byte", "128"),
    ("short", "-32769"),
    ("int", "2147483648"),
    ("long", "9223372036854775808"),
    ("int", " 7"),
    ("int", "1_000"),
    ("int", "0x10"),
    ("int", "1.0"),
    ("int", ""),
    ("long", "7L"),
    ("float", "inf"),
    ("double", "nan"),
    ("double", "1_0.0"),
    ("double", "abc"),
    ("double", ""),
]


@rule("PR-4")
@pytest.mark.parametrize(("kind", "text"), UNPARSABLE)
def test_properties_string_that_is_no_number(session: Session, queue: Queue, kind: str, text: str) -> None:
    """What Java does not parse is a NumberFormatError, also where Python would parse it."""
    for side in text_sides(session, queue, text):
        with pytest.raises(NumberFormatError):
            read(side, kind)


TEXTS: list[tuple[str, Any, str]] = [
    ("boolean", False, "false"),
    ("float", 0.1, "0.1"),
    ("float", 16777216.0, "1.6777216E7"),
    ("double", 1.0, "1.0"),
    ("double", 100.0, "100.0"),
    ("double", 0.001, "0.001"),
    ("double", 0.0001, "1.0E-4"),
    ("double", 1e7, "1.0E7"),
    ("double", -0.0, "-0.0"),
    ("double", math.nan, "NaN"),
    ("double", math.inf, "Infinity"),
]


@rule("PR-4")
@pytest.mark.parametrize(("kind", "value", "text"), TEXTS)
def test_properties_number_text_is_java_text(session: Session, queue: Queue, kind: str, value: Any, text: str) -> None:
    """Numbers read as strings are written as Java writes them, before and after the wire."""
    message = session.create_message()
    getattr(message, f"set_{kind}_property")("p", value)
    assert message.get_string_property("p") == text
    assert round_trip(session, queue, message).get_string_property("p") == text


ABSENT: dict[str, Any] = {
    "boolean": False,
    "string": None,
    "object": None,
    "byte": NumberFormatError,
    "short": NumberFormatError,
    "int": NumberFormatError,
    "long": NumberFormatError,
    "float": NullValueError,
    "double": NullValueError,
}


@rule("PR-5")
@pitfall(35)
@pytest.mark.parametrize("kind", ABSENT)
def test_properties_absent_reads_as_null(session: Session, queue: Queue, kind: str) -> None:
    """An absent property is a null, and so is one set to null; each getter has its own answer to that."""
    message = session.create_message()
    message.set_object_property("nothing", None)
    expected = ABSENT[kind]
    for side in (message, round_trip(session, queue, message)):
        for name in ("absent", "nothing"):
            if isinstance(expected, type):
                with pytest.raises(expected):
                    read(side, kind, name)
            else:
                assert read(side, kind, name) is expected

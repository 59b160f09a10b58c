"""Every cell of both conversion tables, through properties, map fields and stream fields."""

from collections.abc import Callable
from typing import Any

import pytest

from jmsbridge.errors import MessageFormatException, NullValueError, NumberFormatError
from jmsbridge.message import MapMessage, Message, StreamMessage
from jmsbridge.testing.marks import pitfall, rule
from jmsbridge.values import Byte, Char, Double, Float, Int, Long, Short

# The stored value, and the result of each getter; a getter that is not named has no cell.
CELLS: dict[str, tuple[Any, dict[str, Any]]] = {
    "boolean": (True, {"boolean": True, "string": "true"}),
    "byte": (Byte(7), {"byte": Byte(7), "short": Short(7), "int": 7, "long": Long(7), "string": "7"}),
    "short": (Short(300), {"short": Short(300), "int": 300, "long": Long(300), "string": "300"}),
    "char": (Char("c"), {"char": Char("c"), "string": "c"}),
    "int": (70000, {"int": 70000, "long": Long(70000), "string": "70000"}),
    "long": (Long(5), {"long": Long(5), "string": "5"}),
    "float": (Float(0.1), {"float": Float(0.1), "double": 0.10000000149011612, "string": "0.1"}),
    "double": (6.02e23, {"double": 6.02e23, "string": "6.02E23"}),
    "bytes": (b"\0\xff", {"bytes": b"\0\xff"}),
    "string": (
        "12",
        {
            "boolean": False,
            "byte": Byte(12),
            "short": Short(12),
            "int": 12,
            "long": Long(12),
            "float": Float(12.0),
            "double": 12.0,
            "string": "12",
        },
    ),
    "null": (None, {"boolean": False, "string": None, "bytes": None}),
}
NULL_ERRORS = {
    **dict.fromkeys(("byte", "short", "int", "long"), NumberFormatError),
    **dict.fromkeys(("float", "double", "char"), NullValueError),
}
FIELD_GETTERS = ("boolean", "byte", "short", "char", "int", "long", "float", "double", "string", "bytes")
PROPERTY_GETTERS = tuple(name for name in FIELD_GETTERS if name not in ("char", "bytes"))
FIELD_CELLS = [(stored, getter) for stored in CELLS for getter in FIELD_GETTERS]
PROPERTY_CELLS = [
    (stored, getter) for stored in CELLS if stored not in ("char", "bytes") for getter in PROPERTY_GETTERS
]


def check(stored: str, getter: str, read: Callable[[], Any]) -> None:
    _, cells = CELLS[stored]
    if getter in cells:
        value = read()
        assert (value, type(value)) == (cells[getter], type(cells[getter]))
        return
    error = NULL_ERRORS[getter] if stored == "null" else MessageFormatException
    with pytest.raises(error):
        read()


@pytest.mark.parametrize(("stored", "getter"), PROPERTY_CELLS)
@rule("PR-4", "PR-5")
@pitfall(34, 35)
def test_properties(stored: str, getter: str) -> None:
    message = Message()
    message.set_object_property("p", CELLS[stored][0])
    check(stored, getter, lambda: getattr(message, f"get_{getter}_property")("p"))
    if stored == "null":
        check(stored, getter, lambda: getattr(message, f"get_{getter}_property")("absent"))


@pytest.mark.parametrize(("stored", "getter"), FIELD_CELLS)
@rule("PR-5", "BO-11", "BO-12")
@pitfall(35)
def test_map_fields(stored: str, getter: str) -> None:
    message = MapMessage()
    message.set_object("f", CELLS[stored][0])
    check(stored, getter, lambda: getattr(message, f"get_{getter}")("f"))
    if stored == "null":
        check(stored, getter, lambda: getattr(message, f"get_{getter}")("absent"))


@pytest.mark.parametrize(("stored", "getter"), [cell for cell in FIELD_CELLS if cell[1] != "bytes"])
@rule("BO-10", "BO-12")
@pitfall(35, 37)
def test_stream_fields_and_the_position_after_a_failure(stored: str, getter: str) -> None:
    message = StreamMessage()
    message.write_object(CELLS[stored][0])
    message.write_string("next")
    message.reset()
    check(stored, getter, lambda: getattr(message, f"read_{getter}")())
    failed = getter not in CELLS[stored][1]
    if failed:
        assert message.read_object() == CELLS[stored][0]
    assert message.read_string() == "next"


@pytest.mark.parametrize("stored", [name for name in CELLS if name not in ("bytes", "null")])
@rule("BO-14", "BO-10")
def test_read_bytes_of_other_fields_is_refused_and_consumes_nothing(stored: str) -> None:
    message = StreamMessage()
    message.write_object(CELLS[stored][0])
    message.reset()
    with pytest.raises(MessageFormatException):
        message.read_bytes(bytearray(4))
    assert message.read_object() == CELLS[stored][0]


@pytest.mark.parametrize(
    ("getter", "text"),
    [
        ("byte", "128"), ("short", "32768"), ("int", "2147483648"), ("long", "9223372036854775808"), ("int", "1.0"),
        ("int", " 1"), ("int", "1_0"), ("int", "0x1"), ("int", ""), ("float", "x"), ("double", ""), ("double", "1,5"),
    ],
)  # fmt: skip
@rule("PR-4", "BO-10")
def test_text_that_does_not_parse_is_a_number_format_error(getter: str, text: str) -> None:
    message, fields, stream = Message(), MapMessage(), StreamMessage()
    message.set_string_property("p", text)
    fields.set_string("p", text)
    stream.write_string(text)
    stream.reset()
    for read in (
        lambda: getattr(message, f"get_{getter}_property")("p"),
        lambda: getattr(fields, f"get_{getter}")("p"),
        getattr(stream, f"read_{getter}"),
    ):
        with pytest.raises(NumberFormatError):
            read()
    assert stream.read_string() == text


@pytest.mark.parametrize(("text", "value"), [("true", True), ("TRUE", True), ("yes", False), ("", False), ("1", False)])
@rule("PR-4")
def test_text_as_boolean(text: str, value: bool) -> None:
    message = Message()
    message.set_string_property("p", text)
    assert message.get_boolean_property("p") is value


@pytest.mark.parametrize(
    ("text", "value"), [(" 1.5 ", 1.5), ("1f", 1.0), ("2D", 2.0), ("0x1p4", 16.0), ("-Infinity", float("-inf"))]
)
@rule("PR-4")
def test_text_as_floating_point(text: str, value: float) -> None:
    message = Message()
    message.set_string_property("p", text)
    assert (message.get_double_property("p"), message.get_float_property("p")) == (value, value)


SETTERS: list[tuple[str, Any, Any]] = [
    ("boolean", False, False),
    ("byte", -1, Byte(-1)),
    ("short", -1, Short(-1)),
    ("int", -1, Int(-1)),
    ("long", -1, Long(-1)),
    ("float", 1, Float(1.0)),
    ("double", 1, Double(1.0)),
    ("string", "x", "x"),
]


@pytest.mark.parametrize(("setter", "value", "stored"), SETTERS)
@rule("PR-1", "PR-9", "BO-13")
@pitfall(34)
def test_typed_setters_keep_their_type(setter: str, value: Any, stored: Any) -> None:
    message, fields, stream = Message(), MapMessage(), StreamMessage()
    getattr(message, f"set_{setter}_property")("p", value)
    getattr(fields, f"set_{setter}")("p", value)
    getattr(stream, f"write_{setter}")(value)
    stream.reset()
    for read in (message.get_object_property("p"), fields.get_object("p"), stream.read_object()):
        assert (read, type(read)) == (stored, type(stored))


@pytest.mark.parametrize(
    ("setter", "value", "error"),
    [
        ("boolean", 1, TypeError), ("byte", 128, ValueError), ("short", 1 << 15, ValueError),
        ("int", 1 << 31, ValueError),
        ("long", 1 << 63, ValueError), ("float", 1e39, ValueError), ("double", "1", TypeError),
        ("string", 1, TypeError),
        ("int", 1.0, TypeError),
    ],
)  # fmt: skip
def test_typed_setters_refuse_what_java_would_not_compile(setter: str, value: Any, error: type[Exception]) -> None:
    message, fields, stream = Message(), MapMessage(), StreamMessage()
    for call, arguments in (
        (getattr(message, f"set_{setter}_property"), ("p", value)),
        (getattr(fields, f"set_{setter}"), ("p", value)),
        (getattr(stream, f"write_{setter}"), (value,)),
    ):
        with pytest.raises(error):
            call(*arguments)
    assert (len(message.properties), len(fields.body)) == (0, 0)

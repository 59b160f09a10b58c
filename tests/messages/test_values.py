"""The typed values: ranges, rounding, pickling, text, and the canonical forms."""

import copy
import enum
import math
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jmsbridge.errors import MessageFormatException, NullValueError, NumberFormatError
from jmsbridge.testing.marks import rule
from jmsbridge.values import (
    Byte,
    Char,
    Double,
    Float,
    Int,
    Long,
    Short,
    canonical_field,
    canonical_property,
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

WIDTHS = [(Byte, 8), (Short, 16), (Int, 32), (Long, 64)]
SAMPLES: list[Any] = [Byte(-3), Short(4), Int(5), Long(6), Float(0.1), Double(0.1), Char("ß")]


class Colour(enum.IntEnum):
    RED = 7


class Name(enum.StrEnum):
    A = "a"


class Ratio(float):
    pass


@pytest.mark.parametrize(("kind", "bits"), WIDTHS)
def test_integer_types_end_where_java_ends(kind: Any, bits: int) -> None:
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    assert (kind(low), kind(high), kind()) == (low, high, 0)
    for outside in (low - 1, high + 1):
        with pytest.raises(ValueError, match="does not fit"):
            kind(outside)


@pytest.mark.parametrize("value", [1.0, "1", None, b"1"])
def test_integer_types_take_integers_only(value: Any) -> None:
    with pytest.raises(TypeError):
        Byte(value)


def test_float_is_rounded_to_32_bits() -> None:
    assert Float(0.1) == 0.10000000149011612
    assert Float(Float(0.1)) == Float(0.1)
    assert math.isnan(Float(math.nan))
    assert (Float(math.inf), Float(1)) == (math.inf, 1.0)
    with pytest.raises(ValueError, match="does not fit"):
        Float(1e39)


@pytest.mark.parametrize("kind", [Float, Double])
def test_floating_types_parse_no_text(kind: Any) -> None:
    with pytest.raises(TypeError):
        kind("1.5")


def test_char_is_one_utf16_unit() -> None:
    assert (Char("a"), Char("\ud800")) == ("a", "\ud800")
    for wrong in ("", "ab", "😀"):
        with pytest.raises(ValueError, match="UTF-16 unit"):
            Char(wrong)
    with pytest.raises(TypeError):
        Char(65)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", SAMPLES)
def test_wrappers_survive_pickle_and_copy(value: Any) -> None:
    for again in (pickle.loads(pickle.dumps(value)), copy.deepcopy(value)):
        assert type(again) is type(value)
        assert again == value


def test_wrappers_print_as_the_number_and_show_their_type() -> None:
    assert [repr(value) for value in SAMPLES] == [
        "Byte(-3)", "Short(4)", "Int(5)", "Long(6)", "Float(0.1)", "Double(0.1)", "Char('ß')",
    ]  # fmt: skip
    assert [f"{value}" for value in SAMPLES] == ["-3", "4", "5", "6", "0.10000000149011612", "0.1", "ß"]


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (None, None), (True, True), (5, 5), (-(1 << 31), -(1 << 31)), (1 << 31, Long(1 << 31)), (1.5, 1.5), ("x", "x"),
        (Byte(1), Byte(1)), (Short(1), Short(1)), (Int(1), 1), (Long(1), Long(1)), (Float(1), Float(1)),
        (Double(1), 1.0),
        (Colour.RED, 7), (Name.A, "a"), (Ratio(2.5), 2.5),
    ],
)  # fmt: skip
@rule("PR-1")
def test_canonical_property(value: Any, stored: Any) -> None:
    assert (type(canonical_property(value)), canonical_property(value)) == (type(stored), stored)
    assert canonical_field(value) == stored


@pytest.mark.parametrize("value", [Char("a"), [], {}, b"", bytearray(), memoryview(b""), object(), 1j, 1 << 63, ()])
@rule("PR-1")
def test_values_that_no_property_can_hold(value: Any) -> None:
    with pytest.raises(MessageFormatException):
        canonical_property(value)


@rule("BO-5", "BO-11")
def test_fields_hold_chars_and_copies_of_bytes() -> None:
    source = bytearray(b"ab")
    stored = canonical_field(source)
    source[0] = 0
    assert (stored, type(stored)) == (b"ab", bytes)
    assert canonical_field(memoryview(b"xyz")[1:]) == b"yz"
    assert type(canonical_field(Char("c"))) is Char
    for value in ([], {}, object(), 1 << 64):
        with pytest.raises(MessageFormatException):
            canonical_field(value)


def test_wrap_shows_the_type_of_plain_numbers() -> None:
    assert [type(wrap(value)) for value in (1, 1.0, True, "x", None, Long(1), b"")] == [
        Int, Double, bool, str, type(None), Long, bytes,
    ]  # fmt: skip


@rule("PR-5")
def test_null_converts_differently_for_each_type() -> None:
    assert to_boolean(None) is False
    assert (to_string(None), to_bytes(None)) == (None, None)
    for integer in (to_byte, to_short, to_int, to_long):
        with pytest.raises(NumberFormatError):
            integer(None)
    for other in (to_float, to_double, to_char):
        with pytest.raises(NullValueError):
            other(None)


@given(st.integers(-(1 << 63), (1 << 63) - 1))
def test_integers_keep_value_and_type_through_text(value: int) -> None:
    text = to_string(canonical_property(value))
    assert to_long(text) == value
    assert text == str(value)


@given(st.floats(allow_nan=False))
def test_doubles_survive_their_text(value: float) -> None:
    text = to_string(value)
    assert to_double(text) == value
    assert math.copysign(1, to_double(text)) == math.copysign(1, value)


@given(st.floats(width=32, allow_nan=False))
def test_floats_survive_their_text(value: float) -> None:
    assert to_float(to_string(Float(value))) == value

"""Java's number text; ``test_with_java`` compares the same functions with a JDK."""

import math
import struct
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jmsbridge.codecs.javatext import (
    boolean_text,
    double_text,
    float_text,
    parse_boolean,
    parse_double,
    parse_float,
    parse_integer,
    round_to_float32,
)
from jmsbridge.errors import NumberFormatError
from jmsbridge.testing.marks import rule

DOUBLES = {
    0.0: "0.0", 1.0: "1.0", 6.02e23: "6.02E23", 1e-5: "1.0E-5", 0.001: "0.001", 0.00099: "9.9E-4", 1e7: "1.0E7",
    9999999.0: "9999999.0", 12345678.9: "1.23456789E7", math.inf: "Infinity", -math.inf: "-Infinity",
    5e-324: "4.9E-324",
    -2.5: "-2.5", 1e21: "1.0E21", 123.456: "123.456", 100.0: "100.0", 2e-323: "2.0E-323",
}  # fmt: skip
FLOATS = {
    0.1: "0.1", 1.4e-45: "1.4E-45", 3.4028235e38: "3.4028235E38", 1e10: "1.0E10", 16777216.0: "1.6777216E7",
    -1.0: "-1.0",
    math.inf: "Infinity", 2.0**-126: "1.1754944E-38",
}  # fmt: skip


@pytest.mark.parametrize("value", DOUBLES)
@rule("PR-4")
def test_double_text(value: float) -> None:
    assert double_text(value) == DOUBLES[value]


@pytest.mark.parametrize("value", FLOATS)
@rule("PR-4")
def test_float_text(value: float) -> None:
    assert float_text(round_to_float32(value)) == FLOATS[value]


def test_texts_without_a_number() -> None:
    assert (double_text(math.nan), float_text(math.nan), double_text(-0.0)) == ("NaN", "NaN", "-0.0")
    assert (boolean_text(True), boolean_text(False)) == ("true", "false")


@rule("PR-4")
def test_parse_boolean_is_never_an_error() -> None:
    texts = ["true", "TRUE", "tRuE", "false", "", "1", "yes", " true"]
    assert [parse_boolean(text) for text in texts] == [True, True, True, False, False, False, False, False]


@pytest.mark.parametrize(
    "text", ["", " ", "x", "1_0", "0x1", "inf", "nan", "١", "1..", "e5", "0x1.8", "1e5.5", "1ff", "\u00a01"]
)
@rule("PR-4")
def test_text_that_is_no_floating_point_number(text: str) -> None:
    for parse in (parse_double, parse_float):
        with pytest.raises(NumberFormatError):
            parse(text)


@pytest.mark.parametrize(
    "text", ["", "+", "-", " 1", "1 ", "1_0", "0x1", "1.0", "𝟏", "--1", "x" * 100_000, "9" * 100_000]
)
@rule("PR-4")
def test_text_that_is_no_integer(text: str) -> None:
    with pytest.raises(NumberFormatError) as caught:
        parse_integer(text, 64)
    assert len(str(caught.value)) < 120


def test_long_and_foreign_digits() -> None:
    assert parse_integer("+" + "0" * 100_000 + "7", 8) == 7
    assert parse_integer("-１２８", 8) == -128
    assert parse_double("1" * 5000) == math.inf
    assert parse_double("0x" + "0" * 5000 + "1p" + "0" * 5000 + "1") == 2.0
    assert parse_float("0x1." + "0" * 5000 + "1p-150") == 2.0**-149


@given(st.floats(width=32, min_value=0, exclude_min=True, allow_infinity=False), st.integers(-3, 3))
def test_parse_float_rounds_once(value: float, nudge: int) -> None:
    above = struct.unpack(">f", struct.pack(">I", struct.unpack(">I", struct.pack(">f", value))[0] + 1))[0]
    if math.isinf(above):
        above = 2.0**128
    middle = (Fraction(value) + Fraction(above)) / 2
    exact = middle + nudge * Fraction(1, 10**400)
    digits = exact.numerator * 10**500 // exact.denominator
    even = struct.unpack(">I", struct.pack(">f", value))[0] % 2 == 0
    expected = value if nudge < 0 or (nudge == 0 and even) else above
    assert parse_float(f"{digits}e-500") == (math.inf if expected == 2.0**128 else expected)


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_float_text_is_the_shortest(value: float) -> None:
    text = float_text(value)
    assert round_to_float32(float(text.replace("E", "e"))) == value
    digits = text.split("E")[0].replace(".", "").replace("-", "").strip("0")
    if len(digits) > 2:
        assert round_to_float32(float(f"{value:.{len(digits) - 2}e}")) != value


def answer(parse: Callable[[str], float], text: str) -> object:
    """The number, or the one error that a parser may raise; any other fails the test."""
    try:
        return parse(text)
    except NumberFormatError as error:
        return error


@given(st.text(max_size=12))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    for parse in (parse_double, parse_float):
        assert isinstance(answer(parse, text), (float, NumberFormatError))

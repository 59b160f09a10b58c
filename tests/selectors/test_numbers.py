"""Number literals and arithmetic (sections 3.8.1.1 and 3.8.1.2): Java's types, ranges, promotion and overflow."""

from math import inf, nan
from typing import Any

import pytest

from jmsbridge.selectors import SelectorError, compile_selector
from jmsbridge.testing.marks import pitfall, rule
from jmsbridge.values import Byte, Double, Float, Int, Long, Short
from tests.selectors.test_syntax import constant


@rule("SE-5")
@pitfall(38)
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0), ("57", 57), ("-957", -957), ("+62", 62), ("035", 29), ("0x1d", 29), ("0X1D", 29), ("-0x1d", -29),
        ("00", 0), ("0b101", 5), ("1_000", 1000), ("5L", Long(5)), ("5l", Long(5)), ("0x1dL", Long(29)),
        ("035l", Long(29)),
        ("2147483647", 2147483647), ("2147483648", Long(2147483648)), ("-2147483648", -2147483648),
        ("-2147483648L", Long(-2147483648)), ("-2147483649", Long(-2147483649)), ("0xFFFFFFFF", Long(4294967295)),
        ("9223372036854775807", Long(2**63 - 1)), ("9223372036854775807L", Long(2**63 - 1)),
        ("-9223372036854775808", Long(-(2**63))), ("-9223372036854775808L", Long(-(2**63))),
        ("- 9223372036854775808L", Long(-(2**63))), ("0777777777777777777777", Long(2**63 - 1)),
        ("0" * 5000 + "7", 7),
    ],
)  # fmt: skip
def test_exact_literals(text: str, value: int) -> None:
    found = constant(text)
    assert (type(found), found) == (type(value), value)


@rule("SE-5")
@pytest.mark.parametrize(
    "text",
    [
        "9223372036854775808", "9223372036854775808L", "-9223372036854775809", "-(9223372036854775808)",
        "+9223372036854775808", "0x8000000000000000", "9" * 5000, "089", "0x", "0xg", "1_", "0x_1", "0b12", "5LL",
        "5 L", "1x",
    ],
)  # fmt: skip
def test_exact_literals_out_of_range_or_shape(text: str) -> None:
    with pytest.raises(SelectorError):
        compile_selector(f"a = {text}")


@rule("SE-6")
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7.", 7.0), (".7e4", 7000.0), ("7E3", 7000.0), ("-57.9E3", -57900.0), ("0.", 0.0), ("7.e4", 70000.0),
        ("+6.2", 6.2),
        ("1e-3", 0.001), ("1e+3", 1000.0), ("1d", 1.0), ("1.5D", 1.5), ("09.5", 9.5), ("09e1", 90.0),
        ("1_0.2_5", 10.25),
        ("0x1.8p1", 3.0), ("1.7976931348623157e308", 1.7976931348623157e308), ("4.9e-324", 5e-324), ("0e999999", 0.0),
        ("0.1f", Float(0.1)), ("1F", Float(1.0)), ("1e3f", Float(1000.0)), ("0x1p3f", Float(8.0)),
        ("-1.5f", Float(-1.5)),
    ],
)  # fmt: skip
def test_approximate_literals(text: str, value: float) -> None:
    found = constant(text)
    assert (type(found), found) == (type(value), value)


@rule("SE-6")
@pytest.mark.parametrize(
    "text", ["1e400", "-1e400", "1e-400", "1e39f", "1e-60f", ".", "1e", "1._5", "1.5L", "1.2.3", "1e5.5"]
)
def test_approximate_literals_out_of_range_or_shape(text: str) -> None:
    with pytest.raises(SelectorError):
        compile_selector(f"a = {text}")


def holds(condition: str, **values: Any) -> bool:
    """The selector matches, and so does its comparison written with <> not."""
    matched = compile_selector(condition).matches(values.get)
    if " = " in condition:
        assert compile_selector(condition.replace(" = ", " <> ")).matches(values.get) is not matched
    return matched


@rule("SE-21")
@pytest.mark.parametrize("value", [Byte(7), Short(7), 7, Int(7), Long(7), Float(7.0), 7.0, Double(7.0)])
@pytest.mark.parametrize("literal", ["7", "7L", "7.0", "7f"])
def test_numbers_of_all_types_compare(value: Any, literal: str) -> None:
    assert holds(f"a = {literal}", a=value)
    assert holds(f"{literal} >= a AND a <= {literal} AND NOT (a < {literal} OR a > {literal})", a=value)
    assert holds(f"a + 1 > {literal} AND {literal} < a + 1", a=value)
    assert holds(f"a BETWEEN 6 AND 8.5 AND +a = {literal} AND -a = -{literal}", a=value)


@rule("SE-21")
@pitfall(38)
@pytest.mark.parametrize(
    ("condition", "values"),
    [
        ("a + 1 = -2147483648", {"a": 2147483647}),
        ("a + 1L = 2147483648", {"a": 2147483647}),
        ("a + 1 = 2147483648", {"a": Long(2147483647)}),
        ("a + 1 = -9223372036854775808", {"a": Long(2**63 - 1)}),
        ("a * a = 1", {"a": 2147483647}),
        ("a - 1 = 2147483647", {"a": -2147483648}),
        ("-a = -2147483648", {"a": -2147483648}),
        ("a / b = -2147483648", {"a": -2147483648, "b": -1}),
        ("-a = 128", {"a": Byte(-128)}),
        ("a + b = 32768", {"a": Short(32767), "b": Byte(1)}),
        ("a / b = 2", {"a": 7, "b": 3}),
        ("a / b = -2", {"a": -7, "b": 3}),
        ("a / b = -2", {"a": 7, "b": Long(-3)}),
        ("a / b = 3.5", {"a": 7, "b": 2.0}),
        ("2 + 3 * 4 - 10 / 4 = 12", {}),
        ("20 - 5 - 5 = 10", {}),
        ("a = b", {"a": 16777217, "b": Float(16777216.0)}),
        ("a = b", {"a": Long(2**53 + 1), "b": 2.0**53}),
        ("a + b = 16777216f", {"a": Float(16777216.0), "b": 1}),
        ("a + b = 16777217", {"a": Float(16777216.0), "b": 1.0}),
        ("a / 0.0 > 1e308", {"a": 1}),
        ("a / -0.0 < -1e308", {"a": 1.0}),
        ("a / 0f > 3e38", {"a": Float(1.0)}),
        ("a * 10 > 3.4e38", {"a": Float(3e38)}),
    ],
)
def test_arithmetic_is_that_of_java(condition: str, values: dict[str, Any]) -> None:
    assert holds(condition, **values)


@rule("SE-21")
def test_a_float_is_not_the_double_of_the_same_digits() -> None:
    assert not holds("a = 0.1", a=Float(0.1))
    assert holds("a = 0.1f", a=Float(0.1))
    assert holds("a = 0.1", a=0.1)


@rule("SE-21")
def test_a_long_becomes_a_float_in_one_rounding() -> None:
    number = (
        2**62 + 2**38 + 1
    )  # rounded to a double first, it would be halfway between two floats, and then be rounded the wrong way
    assert holds("a = b", a=Long(number), b=Float(2.0**62 + 2.0**39))


@rule("SE-21", "SE-20")
@pytest.mark.parametrize(
    "condition", ["a / 0 = 1", "a / 0 <> 1", "NOT (a / 0 = 1)", "a / b > 0", "1 + a / 0 BETWEEN 0 AND 9"]
)
def test_integers_divided_by_zero_never_match(condition: str) -> None:
    assert not compile_selector(condition).matches({"a": 5, "b": Long(0)}.get)


@rule("SE-21")
def test_nan_is_unequal_to_every_number() -> None:
    for value in (nan, Float(nan)):
        for operator in ("=", "<", "<=", ">", ">="):
            assert not compile_selector(f"a {operator} 1.0").matches({"a": value}.get)
        assert compile_selector("a <> 1.0 AND a <> a AND 0.0 / 0 <> 1").matches({"a": value}.get)
    assert compile_selector("a > 1 AND b < 1L").matches({"a": inf, "b": Float(-inf)}.get)


@rule("SE-11", "SE-21")
@pytest.mark.parametrize(
    "condition", ["a + 1 = 3", "a + 1 <> 3", "NOT (a + 1 = 3)", "-a < 5", "NOT (+a < 5)", "1 - a > b"]
)
@pytest.mark.parametrize("value", ["2", True, None, b"2"])
def test_arithmetic_on_a_value_that_is_not_a_number_never_matches(condition: str, value: Any) -> None:
    assert not compile_selector(condition).matches({"a": value, "b": 0}.get)

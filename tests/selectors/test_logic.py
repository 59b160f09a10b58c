"""Three-valued logic, null, and values of unlike types (section 3.8.1.2)."""

from itertools import product
from typing import Any

import pytest

from jmsbridge.selectors import compile_selector
from jmsbridge.testing.marks import pitfall, rule
from jmsbridge.values import Byte, Float, Long

T, F, U = True, False, None
STATES: list[bool | None] = [T, F, U]


def truth(condition: str, **values: Any) -> bool | None:
    """True, false or unknown: an unknown condition matches neither itself nor its negation."""
    yes = compile_selector(condition).matches(values.get)
    no = compile_selector(f"NOT ({condition})").matches(values.get)
    assert not (yes and no)
    return True if yes else False if no else None


@rule("SE-20")
@pytest.mark.parametrize(
    ("left", "right", "both", "either"),
    [
        (T, T, T, T), (T, F, F, T), (T, U, U, T), (F, T, F, T), (F, F, F, F), (F, U, F, U), (U, T, U, T),
        (U, F, F, U), (U, U, U, U),
    ],
)  # fmt: skip
def test_the_tables(left: bool | None, right: bool | None, both: bool | None, either: bool | None) -> None:
    assert truth("a AND b", a=left, b=right) is both
    assert truth("a OR b", a=left, b=right) is either
    assert truth("NOT a", a=left) is (None if left is None else not left)


@rule("SE-22", "SE-20")
def test_longer_chains_follow_the_tables_in_any_order() -> None:
    for a, b, c in product(STATES, repeat=3):
        values = {"a": a, "b": b, "c": c}
        states = {a, b, c}
        assert truth("a AND b AND c", **values) is (F if F in states else U if U in states else T)
        assert truth("a OR b OR c", **values) is (T if T in states else U if U in states else F)


@rule("SE-22")
def test_operands_that_cannot_change_the_result_are_not_looked_up() -> None:
    asked: list[str] = []

    def lookup(name: str) -> object:
        asked.append(name)
        return {"a": False}.get(name)

    assert not compile_selector("a AND b").matches(lookup)
    assert asked == ["a"]


@rule("SE-20")
@pytest.mark.parametrize(
    "condition",
    [
        "x = 1", "x <> 1", "x > 1", "1 < x", "x = 'a'", "x <> 'a'", "x = TRUE", "x <> FALSE", "x = x", "x = y",
        "x + 1 = 2", "-x = 1", "x BETWEEN 1 AND 2", "x NOT BETWEEN 1 AND 2", "y BETWEEN x AND 9", "x IN ('a')",
        "x NOT IN ('a')", "x LIKE '%'", "x NOT LIKE '%'", "x", "NOT x", "x OR x", "x AND TRUE", "(x = 1) = TRUE",
    ],
)  # fmt: skip
def test_null_is_unknown(condition: str) -> None:
    assert truth(condition, y=5) is None


@rule("SE-20")
def test_only_is_null_decides_about_null() -> None:
    assert truth("x IS NULL") is True
    assert truth("x IS NOT NULL") is False
    for value in (0, "", False, Float(0.0)):
        assert truth("x IS NULL", x=value) is False
        assert truth("x IS NOT NULL", x=value) is True


@rule("SE-11", "SE-12")
@pitfall(38)
@pytest.mark.parametrize(
    ("condition", "value"),
    [
        ("x > 1", "2"), ("x = 2", "2"), ("x <> 2", "3"), ("2 <> x", "3"), ("x = '2'", 2), ("x <> '2'", Long(3)),
        ("x = TRUE", "TRUE"),
        ("x <> TRUE", "no"), ("x = TRUE", 1), ("x <> TRUE", 0), ("x = 1", True), ("x <> 0", True), ("x < 2", True),
        ("x = 'TRUE'", True),
        ("x <> ''", Byte(0)), ("x = y", 7), ("x <> y", 7), ("x < y", 7), ("x = 1.0", "1.0"), ("x <> 1", b"1"),
    ],
)  # fmt: skip
def test_unlike_values_make_the_comparison_false(condition: str, value: Any) -> None:
    assert truth(condition, x=value, y="7") is False


@rule("SE-12", "SE-13")
def test_strings_and_booleans_have_no_order_at_run_time_either() -> None:
    for operator in ("<", "<=", ">", ">="):
        assert truth(f"x {operator} y", x="a", y="b") is False
        assert truth(f"x {operator} y", x=False, y=True) is False
        assert truth(f"x {operator} y", x="a", y="a") is False


@rule("SE-12")
def test_like_values_compare() -> None:
    assert truth("x = y AND x <> z", x="a", y="a", z="A") is True
    assert truth("x = 'a' AND 'a' = x AND x <> 'A' AND 'b' <> x", x="a") is True
    assert truth("x = TRUE AND TRUE = x AND x <> FALSE AND x = y AND x <> z", x=True, y=True, z=False) is True
    assert truth("'a' = 'a' AND 1 < 2 AND TRUE <> FALSE") is True
    assert truth("(x > 1) = TRUE AND (x > 1) = y", x=2, y=True) is True


@rule("SE-16")
def test_a_boolean_alone_is_a_selector() -> None:
    assert truth("flag", flag=True) is True
    assert truth("flag", flag=False) is False
    assert truth("TRUE OR (FALSE AND FALSE)") is True
    assert truth("FALSE") is False
    assert truth("(flag)", flag=True) is True


@rule("SE-16")
@pytest.mark.parametrize("value", [None, "true", 1, Long(1), 1.0])
def test_a_value_that_is_not_boolean_matches_neither_way(value: Any) -> None:
    assert truth("flag", flag=value) is None
    assert not compile_selector("flag AND TRUE").matches({"flag": value}.get)
    assert compile_selector("flag OR TRUE").matches({"flag": value}.get)


@rule("SE-17")
@pytest.mark.parametrize(
    ("value", "inside"), [(1, True), (2, True), (3, True), (0, False), (Float(3.5), False), (Long(2), True)]
)
def test_between_includes_its_bounds(value: Any, inside: bool) -> None:
    assert truth("x BETWEEN 1 AND 3", x=value) is inside
    assert truth("x NOT BETWEEN 1 AND 3", x=value) is not inside
    assert truth("x BETWEEN 3 AND 1", x=value) is False


@rule("SE-17", "SE-18")
@pytest.mark.parametrize("value", ["2", True])
def test_between_on_a_value_that_is_not_a_number_is_false_both_ways(value: Any) -> None:
    assert truth("x BETWEEN 1 AND 3", x=value) is False
    assert truth("x NOT BETWEEN 1 AND 3", x=value) is False


@rule("SE-17", "SE-20")
def test_between_with_one_unknown_bound_is_decided_by_the_other() -> None:
    assert truth("x BETWEEN low AND 5", x=9) is False
    assert truth("x NOT BETWEEN low AND 5", x=9) is True
    assert truth("x BETWEEN low AND 5", x=3) is None
    assert truth("x NOT BETWEEN 5 AND high", x=3) is True


@rule("SE-18")
def test_in_a_list() -> None:
    assert truth("x IN ('a', 'it''s')", x="it's") is True
    assert truth("x IN ('a', 'b')", x="A") is False
    assert truth("x NOT IN ('a', 'b')", x="c") is True
    assert truth("x NOT IN ('a', 'b')", x="a") is False


@rule("SE-18")
@pitfall(38)
@pytest.mark.parametrize("value", [1, Long(1), Byte(1), 1.0, True])
@pytest.mark.parametrize("test", ["IN ('1', 'TRUE')", "NOT IN ('a')", "LIKE '%'", "NOT LIKE 'a'"])
def test_text_tests_on_other_types_are_false_both_ways(value: Any, test: str) -> None:
    assert truth(f"x {test}", x=value) is False

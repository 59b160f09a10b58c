"""Selectors mean to ActiveMQ's evaluator what Jakarta Messaging says."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from jmsbridge.selectors import compile_selector
from jmsbridge_amqp.receiving.strict_selectors import strict

VALUES: tuple[Any, ...] = (None, 1, 2, 1.5, "1", "x", "", True, False)


@pytest.mark.parametrize(
    "text", ["v = 1", "v > 1 AND k = 'x'", "v IN ('a')", "v IS NULL", "v NOT BETWEEN 1 AND 2", "flag AND v LIKE 'x%'"]
)
def test_what_means_the_same_is_not_changed(text: str) -> None:
    assert strict(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("v <> 1", "v < 1 OR v > 1"),
        ("v <> 'x'", "v LIKE '%' AND v <> 'x'"),
        ("v <> TRUE", "v = FALSE"),
        ("v NOT IN ('x')", "v LIKE '%' AND v NOT IN ('x')"),
        ("NOT (v IN ('x'))", "v IS NOT NULL AND NOT (v LIKE '%' AND v IN ('x'))"),
        ("NOT (v NOT LIKE 'x%')", "v IS NOT NULL AND NOT (v LIKE '%' AND v NOT LIKE 'x%')"),
        ("v > w", "(w < 0 OR w >= 0) AND v > w + 0"),
        ("v BETWEEN w AND 2", "((w < 0 OR w >= 0) AND v >= w + 0) AND v <= 2"),
        ("v - 1 = 2", "(v < 0 OR v >= 0) AND v - 1 = 2"),
    ],
)
def test_what_matches_other_types_is_written_for_one_type(text: str, expected: str) -> None:
    assert strict(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("NOT v = 1 AND w = 2", "(v IS NOT NULL AND NOT (v = 1)) AND w = 2"),
        ("NOT v", "v = FALSE"),
        ("NOT (v AND w = 1)", "v = FALSE OR w IS NOT NULL AND NOT (w = 1)"),
        ("NOT NOT v = 1", "v = 1"),
        ("(v = 1) = FALSE", "v IS NOT NULL AND NOT (v = 1)"),
    ],
)
def test_not_stands_before_comparisons_in_parentheses(text: str, expected: str) -> None:
    assert strict(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("v = 7F", "v = 7.0"),
        ("v = 0.1f", "v = 0.10000000149011612"),
        ("v = 7.5D", "v = 7.5"),
        ("v + 1L > 2", "(v < 0 OR v >= 0) AND v + (4294967297 - 4294967296) > 2"),
        ("-v = 1", "(v < 0 OR v >= 0) AND 0 - v = 1"),
        ("1 < v", "v > 1"),
    ],
)
def test_numbers_have_the_type_that_the_broker_gives_them(text: str, expected: str) -> None:
    assert strict(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "v <> 1",
        "v <> 'x'",
        "v <> TRUE",
        "v <> w",
        "NOT (v = w)",
        "NOT (v = 'x' OR w = 1)",
        "NOT (v = 1 AND w = 'x')",
        "NOT (v BETWEEN 1 AND 2)",
        "v NOT IN ('x', '1') OR w <> 2",
        "NOT (NOT (v <> 1) AND w NOT LIKE '_')",
        "NOT v",
        "NOT (v AND w = 1) OR NOT NOT w",
        "v < w",
        "NOT (v >= w)",
        "v NOT BETWEEN w AND 1",
        "NOT (1 BETWEEN v AND w)",
        "v + w = 2",
        "NOT (-v = w)",
        "(v = w) <> TRUE",
    ],
)
def test_the_meaning_is_the_same(text: str) -> None:
    """By the rules of Jakarta Messaging, for every combination of types."""
    before, after = compile_selector(text), compile_selector(strict(text))
    for v, w in itertools.product(VALUES, VALUES):
        lookup: Callable[[str], Any] = {"v": v, "w": w}.get
        assert after.matches(lookup) == before.matches(lookup), (text, strict(text), v, w)

"""The index of selectors finds all that match, and few others."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jmsbridge.selectors import compile_selector
from jmsbridge.selectors.compiling import compile_condition
from jmsbridge.selectors.indexing import SelectorIndex, needed
from jmsbridge.selectors.rewriting import render
from jmsbridge.selectors.tree import And, Comparison, Identifier, Literal, Node, Or
from jmsbridge.spi import Address, BodyKind, Envelope
from jmsbridge.values import Byte, Float, Long, Short
from tests.selectors.strategies import NAMES, conditions, number_literals, other_literals, properties, values


def message(properties: dict[str, Any], **headers: Any) -> Envelope:
    return Envelope(Address("orders"), BodyKind.NONE, None, properties, "ID:1", 1000, **headers)


def found(selectors: list[str], envelope: Envelope) -> list[str]:
    index: SelectorIndex[str] = SelectorIndex()
    for text in selectors:
        index.add(text, compile_selector(text))
    return index.candidates(envelope)


equalities = st.builds(
    Comparison, st.just("="), st.sampled_from(NAMES).map(Identifier), st.one_of(number_literals, other_literals)
)
likely: st.SearchStrategy[Node] = st.one_of(
    equalities,
    st.lists(st.one_of(equalities, conditions), min_size=2, max_size=3).map(lambda parts: And(tuple(parts))),
    st.lists(equalities, min_size=2, max_size=3).map(lambda parts: Or(tuple(parts))),
    conditions,
)


@settings(max_examples=400)
@given(st.lists(likely, max_size=6), properties)
def test_every_matching_selector_is_a_candidate(trees: list[Node], present: dict[str, Any]) -> None:
    index: SelectorIndex[int] = SelectorIndex()
    selectors = [compile_selector(render(tree)) for tree in trees]
    for number, selector in enumerate(selectors):
        index.add(number, selector)
    envelope = message(present)
    candidates = index.candidates(envelope)
    assert len(candidates) == len(set(candidates))
    assert {n for n, each in enumerate(selectors) if each.matches_envelope(envelope)} <= set(candidates)
    for number in range(len(selectors)):
        index.discard(number)
    assert (len(index), index._named, index.candidates(envelope)) == (0, {}, [])


def test_values_that_share_a_key_are_removed_together() -> None:
    """As a 64-bit float both numbers are the same."""
    index: SelectorIndex[str] = SelectorIndex()
    text = f"n = {1 << 53} OR n = {(1 << 53) + 1}"
    index.add(text, compile_selector(text))
    index.discard(text)
    assert (len(index), index._named) == (0, {})


@settings(max_examples=400)
@given(st.one_of(number_literals, other_literals), values)
def test_equal_values_of_different_types_are_found(literal: Literal, value: Any) -> None:
    tree = Comparison("=", Identifier("a"), literal)
    if compile_condition(tree)({"a": value}.get) is True:
        assert found([render(tree)], message({"a": value})) == [render(tree)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a = 1", Byte(1)),
        ("a = 1", Short(1)),
        ("a = 1", Long(1)),
        ("a = 1", Float(1.0)),
        ("a = 1.0", 1),
        ("0 = a", -0.0),
        ("a = 16777217", Float(16777216.0)),
        ("a = 16777216.0f", 16777217),
        ("a = 9007199254740993", 9007199254740992.0),
        ("a = 9007199254740992.0", Long(9007199254740993)),
        ("a = 'x'", "x"),
        ("a IN ('y', 'x')", "x"),
        ("a = TRUE", True),
        ("a", True),
        ("NOT a", False),
    ],
)
def test_values_that_are_equal_in_java_are_found(text: str, value: Any) -> None:
    envelope = message({"a": value})
    assert compile_selector(text).matches_envelope(envelope)
    assert found([text], envelope) == [text]


def test_one_of_a_thousand_is_found_by_its_value() -> None:
    selectors = [f"kind = 'k{number}' AND price > 1" for number in range(1000)]
    assert found(selectors, message({"kind": "k7", "price": 2})) == [selectors[7]]
    assert found(selectors, message({"kind": "K7"})) == []
    assert found(selectors, message({"kind": None})) == []
    assert found(selectors, message({})) == []


def test_not_all_of_a_thousand_names_are_looked_up() -> None:
    selectors = [f"name{number} = 1" for number in range(1000)]
    assert found(selectors, message({"name5": Long(1), "name6": 2})) == [selectors[5]]


def test_headers_are_looked_up_too() -> None:
    selectors = ["JMSPriority = 9", "JMSType = 'a'", "JMSDeliveryMode = 'PERSISTENT'", "JMSCorrelationID = 'c'"]
    envelope = message({}, priority=9, jms_type="b", correlation_id=b"c")
    assert found(selectors, envelope) == ["JMSPriority = 9", "JMSDeliveryMode = 'PERSISTENT'"]


def test_a_property_named_like_a_header_does_not_hide_it() -> None:
    assert found(["JMSPriority = 4"], message({"JMSPriority": 9})) == ["JMSPriority = 4"]


@pytest.mark.parametrize(
    "text",
    ["a > 1", "a <> 'x'", "a LIKE 'x%'", "a IS NULL", "a = b", "a = 1 OR b > 2", "NOT (a = 1)", "a NOT IN ('x')",
     "JMSXDeliveryCount = 1", "a IN (" + ", ".join(f"'{number}'" for number in range(300)) + ")"],
)  # fmt: skip
def test_a_selector_without_a_required_value_is_always_a_candidate(text: str) -> None:
    assert found([text], message({})) == [text]


def test_the_values_that_a_selector_requires() -> None:
    def of(text: str) -> set[tuple[str, Any]] | None:
        values = needed(compile_selector(text).tree)
        return None if values is None else set(values)

    assert of("a = 1 AND b IN ('x', 'y')") == {("a", 1)}
    assert of("a IN ('x', 'y') AND b = 2") == {("b", 2)}
    assert of("a = 1 OR b = 'x' OR a = 2") == {("a", 1), ("b", "x"), ("a", 2)}
    assert of("(a = 1 OR b = 2) AND c > 3") == {("a", 1), ("b", 2)}
    assert of("rush AND NOT paid") == {("rush", True)}

"""What the broker's filter is told lets every message through that the selector matches (issue 17)."""

from typing import Any

import pytest
from hypothesis import given

from jmsbridge.selectors import compile_selector
from jmsbridge.selectors.rewriting import render
from jmsbridge.selectors.tree import Node
from jmsbridge.spi import Address, Interest
from jmsbridge_pulsar.receiving.filtering import filter_properties, weakened
from tests.selectors.strategies import conditions, properties


@pytest.mark.parametrize(
    ("selector", "condition"),
    [
        ("color = 'red'", "color = 'red'"),
        ("color <> 'red' AND n BETWEEN 2 AND 5", "color <> 'red' AND (n >= 2 AND n <= 5)"),
        ("5 > n", "n < 5"),
        ("n > 5 AND JMSMessageID = 'ID:1'", "n > 5"),
        ("n > 5 OR JMSMessageID = 'ID:1'", None),
        ("NOT color = 'red'", None),
        ("NOT (color IS NULL OR n + 1 = 3)", "NOT (color IS NULL)"),
        ("JMSType IN ('a', 'b') AND JMSPriority > 4", "JMSType IN ('a', 'b')"),
        ("z = 0 AND z > 0", "z > 0"),
        ("n = 7F OR color = 'red'", None),
        ("n > 0L", None),
        ("n = 9007199254740993", None),
        ("XPath = 'x' AND été = 'x'", None),
        ("flag AND color LIKE 'r%'", "color LIKE 'r%'"),
    ],
)
def test_only_parts_that_the_filter_evaluates_as_jms_does(selector: str, condition: str | None) -> None:
    expected = condition and render(compile_selector(condition).tree)
    assert weakened(selector) == expected


@given(conditions, properties)
def test_whatever_a_selector_matches_passes_its_condition(tree: Node, values: dict[str, Any]) -> None:
    selector = render(tree)
    if compile_selector(selector).matches(values.get):
        condition = weakened(selector)
        assert condition is None or compile_selector(condition).matches(values.get)


def test_queues_and_consumers_without_selector_have_no_filter() -> None:
    topic = Address("t", topic=True)
    assert filter_properties(Interest(address=topic, selector="a = 'b'"))["jms.selector"] == "a = 'b'"
    assert filter_properties(Interest(address=topic, selector="NOT a = 'b'")) == {}
    assert filter_properties(Interest(address=topic)) == {}
    assert filter_properties(Interest(address=Address("q"), selector="a = 'b'")) == {}

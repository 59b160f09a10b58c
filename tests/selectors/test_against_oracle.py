"""The compiled closures against the plain evaluator, and text against tree, on random selectors and properties."""

from typing import Any

from hypothesis import given, settings

from jmsbridge.selectors import compile_selector
from jmsbridge.selectors.compiling import compile_condition
from jmsbridge.selectors.rewriting import render
from jmsbridge.selectors.tree import Node
from jmsbridge.testing.marks import pitfall, rule
from tests.selectors import oracle
from tests.selectors.strategies import conditions, properties


@rule("SE-12", "SE-20", "SE-22")
@pitfall(38)
@settings(max_examples=600)
@given(conditions, properties)
def test_the_closures_agree_with_the_plain_evaluator(tree: Node, values: dict[str, Any]) -> None:
    expected = oracle.truth(tree, values)
    assert compile_condition(tree)(values.get) is expected
    assert compile_selector(render(tree)).matches(values.get) is (expected is True)


@rule("SE-10")
@settings(max_examples=400)
@given(conditions)
def test_the_text_of_a_tree_parses_to_that_tree(tree: Node) -> None:
    text = render(tree)
    parsed = compile_selector(text).tree
    assert parsed == tree
    assert render(parsed) == text

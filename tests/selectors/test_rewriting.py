"""Text for brokers: canonical, renamed."""

import pytest

from jmsbridge.selectors import compile_selector
from jmsbridge.selectors import tree as t
from jmsbridge.selectors.rewriting import quoted, renamed, render
from jmsbridge.testing.marks import rule
from jmsbridge.values import Float, Long


@rule("SE-10")
@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("((a))", "a"),
        ("(a and b)or not(c)", "a AND b OR NOT c"),
        ("a and(b or c)", "a AND (b OR c)"),
        ("(a and b) and c", "(a AND b) AND c"),
        ("not(a and b)", "NOT (a AND b)"),
        ("not (a = 1)", "NOT (a = 1)"),
        ("a-(b-c)=1", "a - (b - c) = 1"),
        ("a*(b+c)/d<>-x", "a * (b + c) / d <> -x"),
        ("a--1=1", "a - -1 = 1"),
        ("- -a = -(-1)", "- -a = -(-1)"),
        ("-(1)=+(2)", "-(1) = +(2)"),
        ("-(a+b)=1", "-(a + b) = 1"),
        ("a=0x1D or a=035 or a=5L or a=5000000000L", "a = 29 OR a = 29 OR a = 5L OR a = 5000000000"),
        ("a=7. or a=7f or a=1e30", "a = 7.0 OR a = 7f OR a = 1e+30"),
        ("(a>1)=true", "(a > 1) = TRUE"),
        ("a not between(1)and 2+3", "a NOT BETWEEN 1 AND 2 + 3"),
        ("a in('x','it''s')", "a IN ('x', 'it''s')"),
        ("a not like'x'escape'\\'", "a NOT LIKE 'x' ESCAPE '\\'"),
        ("a is not null", "a IS NOT NULL"),
    ],
)
def test_canonical_text(text: str, canonical: str) -> None:
    tree = compile_selector(text).tree
    assert render(tree) == canonical
    assert compile_selector(canonical).tree == tree


def test_names_can_be_changed_everywhere() -> None:
    tree = compile_selector("JMSType LIKE 'a' AND x IN ('x') AND y + -x BETWEEN x AND 2 AND NOT x IS NULL AND x").tree
    prefixed = renamed(tree, lambda name: f"p_{name}")
    assert (
        render(prefixed)
        == "p_JMSType LIKE 'a' AND p_x IN ('x') AND p_y + -p_x BETWEEN p_x AND 2 AND NOT (p_x IS NULL) AND p_x"
    )
    assert t.identifiers(prefixed) == {"p_JMSType", "p_x", "p_y"}
    assert renamed(tree, str) == tree


@rule("SE-4")
def test_any_text_can_be_quoted() -> None:
    for text in ("", "'", "it's", "a\nb"):
        assert compile_selector(f"a = {quoted(text)}").matches({"a": text}.get)


def test_a_value_without_a_literal_is_refused() -> None:
    with pytest.raises(ValueError, match="inf"):
        render(t.Comparison("=", t.Identifier("a"), t.Literal(float("inf"))))


def test_literals_differ_by_their_java_type() -> None:
    same = [t.Literal(1), t.Literal(Long(1)), t.Literal(1.0), t.Literal(Float(1.0)), t.Literal(True), t.Literal("1")]
    assert len(set(same)) == len(same)
    assert t.Literal(0.0) != t.Literal(-0.0)
    assert t.Literal(1) == t.Literal(1)
    assert t.Literal(1) != 1

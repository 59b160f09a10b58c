"""Hostile texts: each gives a SelectorError or a working selector, quickly and without deep recursion."""

import sys
from time import thread_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jmsbridge.selectors import MAX_DEPTH, MAX_LENGTH, Selector, SelectorError, compile_selector
from jmsbridge.selectors.rewriting import render
from jmsbridge.testing.marks import rule

SOON = 1.0  # seconds of this thread's CPU time, since the machine may be busy
N = MAX_LENGTH

REFUSED = {
    "100,000 parentheses": "(" * 100_000,
    "balanced parentheses": "(" * 16_000 + "a" + ")" * 16_000,
    "open parentheses": "(" * N,
    "100,000 NOT": "NOT " * 100_000 + "a",
    "NOT up to the limit": "NOT " * (N // 4 - 1) + "a",
    "signs": "a = " + "-" * (N - 10) + "b",
    "mixed": "NOT(-" * (N // 5),
    "nested groups": "a AND (" * (N // 7),
    "megabytes": "a = 1 OR " * 500_000,
    "megabytes of digits": "a = " + "9" * 3_000_000,
    "digits": "a = " + "9" * (N - 10),
    "hexadecimal digits": "a = 0x" + "f" * (N - 10),
    "an open exponent": "a = 0x1p" + "_" * (N - 10),
    "a large exponent": "a = 1e" + "9" * (N - 10),
    "underscores": "a = 1" + "_" * (N - 10),
    "an open string": "a = '" + "x" * (N - 10),
    "quotes": "a = " + "'" * (N - 11),
    "NUL": "a = 1\0",
    "NUL in a string": "a = 'x\0y'",
    "a lone surrogate": "a = '\ud800'",
    "a lone low surrogate": "\udc00 = 1",
    "control characters": "\x01\x02\x7f",
    "operators": "=" * N,
    "points": "1." * (N // 2),
}

ACCEPTED = {
    "OR": " OR ".join(["a = 1"] * (N // 9)),
    "AND": " AND ".join(["a"] * (N // 6)),
    "AND and OR": " OR ".join(["a AND b"] * (N // 11)),
    "sum": "a <> " + " - ".join(["1"] * (N // 4 - 5)),
    "product": "a = " + " * ".join(["b"] * (N // 4 - 5)),
    "list": "c IN (" + ", ".join(["'x'"] * (N // 5 - 5)) + ", 'y')",
    "name": "b = 1 AND " + "n" * (N - 20) + " IS NULL",
    "string": "c <> '" + "''" * (N // 2 - 10) + "'",
    "pattern": "c LIKE '" + "%" * (N - 20) + "y'",
    "blanks": " " * (N - 1) + "d",
}


@rule("SE-2")
@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_hostile_text_is_refused_soon(text: str) -> None:
    started = thread_time()
    with pytest.raises(SelectorError) as caught:
        compile_selector(text)
    assert thread_time() - started < SOON
    assert len(str(caught.value)) < 400


@rule("SE-7", "SE-10")
@pytest.mark.parametrize("text", ACCEPTED.values(), ids=ACCEPTED)
def test_long_flat_selectors_work(text: str) -> None:
    compile_selector("a = 1")  # the parser is built once
    started = thread_time()
    selector = compile_selector(text)
    assert thread_time() - started < SOON
    values = {"a": 1, "b": 1, "c": "y", "d": True}
    if "a AND" in text:
        values = {"a": True, "b": True}
    assert selector.matches(values.get)
    assert Selector(render(selector.tree)).tree == selector.tree


def nested(levels: int) -> str:
    """One comparison below this many levels of parentheses, NOT and OR."""
    return "NOT (a OR " * levels + "b" + ")" * levels


@rule("SE-10")
def test_the_deepest_selector_needs_little_stack() -> None:
    levels = (MAX_DEPTH - 1) // 3
    selector = compile_selector(nested(levels))
    limit = sys.getrecursionlimit()
    frames = 0
    frame = sys._getframe()
    while frame.f_back is not None:
        frame, frames = frame.f_back, frames + 1
    sys.setrecursionlimit(frames + MAX_DEPTH + 40)
    try:
        assert selector.matches({"a": False, "b": levels % 2 == 0}.get)
        assert Selector(nested(levels)).tree == selector.tree
    finally:
        sys.setrecursionlimit(limit)


@rule("SE-2")
def test_one_level_more_is_refused() -> None:
    deepest = MAX_DEPTH - 1
    assert compile_selector("(" * deepest + "a" + ")" * deepest).identifiers == {"a"}
    with pytest.raises(SelectorError, match=f"deeper than {MAX_DEPTH}"):
        compile_selector("(" * MAX_DEPTH + "a" + ")" * MAX_DEPTH)


@rule("SE-2")
def test_the_longest_text_accepted() -> None:
    assert compile_selector("a" * MAX_LENGTH).identifiers == {"a" * MAX_LENGTH}
    with pytest.raises(SelectorError, match="at most"):
        compile_selector("a" * (MAX_LENGTH + 1))


WORDS = [
    "a", "b", "NULL", "TRUE", "NOT", "AND", "OR", "BETWEEN", "LIKE", "IN", "IS", "ESCAPE", "(", ")", ",", "=", "<>",
    "<", "+", "-", "*", "/", "'x'", "'yy'", "1", "2L", "0x", "1.5", ".", "9223372036854775808",
]  # fmt: skip
ODDITIES = ["JMSPriority", "JMSFoo", "'", '"', "\\", "é", "\u2028", "%"]


@rule("SE-2")
@given(st.lists(st.sampled_from(WORDS + ODDITIES), max_size=12))
def test_any_sequence_of_words_is_a_selector_or_an_error_with_its_position(words: list[str]) -> None:
    text = " ".join(words)
    error: SelectorError | None = None
    try:
        selector = compile_selector(text)
    except SelectorError as caught:
        error = caught
    if error is None:
        assert Selector(render(selector.tree)).tree == selector.tree
        return
    assert text[error.position : error.position + len(error.piece)] == error.piece
    assert error.piece or error.position >= len(text.rstrip())
    assert "something else" not in error.reason

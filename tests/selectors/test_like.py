"""LIKE (section 3.8.1.1), and that no pattern makes it slow."""

from time import thread_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jmsbridge.selectors import compile_selector
from jmsbridge.selectors.like import compile_pattern
from jmsbridge.testing.marks import pitfall, rule
from tests.selectors import oracle


@rule("SE-19")
@pitfall(38)
@pytest.mark.parametrize(
    ("pattern", "escape", "matching", "other"),
    [
        ("12%3", None, ["123", "12993", "12\n3"], ["1234", "0123", "12"]),
        ("l_se", None, ["lose", "l\nse", "l😀se"], ["loose", "lse"]),
        (r"\_%", "\\", ["_foo", "_"], ["bar", r"\_foo"]),
        ("", None, [""], ["a"]),
        ("%", None, ["", "x", "a\nb"], []),
        ("%%", None, ["", "x"], []),
        ("_%_", None, ["ab", "abc"], ["", "a"]),
        ("a_%_b", None, ["axyb", "a123b"], ["axb", "ab"]),
        ("ab%ab", None, ["abab", "abxab"], ["ab", "aba"]),
        ("%ab%ba%", None, ["abba", "xabxbax"], ["aba", "baab"]),
        ("%aab", None, ["aaab", "aab"], ["aaba"]),
        ("a.c*[x]^$|()?+{2}", None, ["a.c*[x]^$|()?+{2}"], ["abc*[x]^$|()?+{2}", "a.c"]),
        ("a%.c", None, ["a.c", "ab.c"], ["abc"]),
        ("red", None, ["red"], ["Red", "reds", "red\n"]),
        ("ax_bx%", "x", ["a_b%"], ["axb", "a_bc"]),
        ("%%x", "%", ["%x"], ["ax", "x"]),
        ("__%_", "_", ["__", "_ab_"], ["_%", "ab_"]),
        ("''", None, ["'"], ["''"]),
        ("a!!b", "!", ["a!b"], ["a!!b"]),
        ("a!", "!", ["a!"], ["a"]),
        ("_😀%", "é", ["x😀", "é😀y"], ["😀"]),
    ],
)
def test_patterns(pattern: str, escape: str | None, matching: list[str], other: list[str]) -> None:
    clause = f"LIKE '{pattern}'" + (f" ESCAPE '{escape}'" if escape else "")
    for text in matching:
        assert compile_selector(f"p {clause}").matches({"p": text}.get)
        assert not compile_selector(f"p NOT {clause}").matches({"p": text}.get)
    for text in other:
        assert not compile_selector(f"p {clause}").matches({"p": text}.get)
        assert compile_selector(f"p NOT {clause}").matches({"p": text}.get)


@rule("SE-19")
@given(st.text("ab%_\\", max_size=9), st.sampled_from([None, "\\", "a", "%"]), st.text("ab_\n", max_size=9))
def test_any_pattern_agrees_with_the_definition(pattern: str, escape: str | None, text: str) -> None:
    assert compile_pattern(pattern, escape)(text) is oracle.like(pattern, escape, text)


@rule("SE-19")
@pytest.mark.parametrize(
    "pattern", ["%" * 30_000 + "b", "%a" * 10_000 + "%b", "%_a" * 5_000 + "b", "%" + "a_" * 200 + "b%", "_%" * 9_000]
)
def test_no_pattern_is_slow(pattern: str) -> None:
    started = thread_time()
    found = compile_pattern(pattern)("a" * 20_000)
    assert thread_time() - started < 2
    assert found is pattern.startswith("_")

"""Random trees, as the parser could have built them, and random properties of every type."""

from typing import Any

from hypothesis import strategies as st

from jmsbridge.selectors import tree as t
from jmsbridge.values import Byte, Float, Long, Short

__all__ = ["conditions", "properties"]

NAMES = ["a", "b", "c", "$d", "_e", "été"]
TEXTS = st.one_of(
    st.sampled_from(["", "a", "A", "ab", "a%b", "a_b", "it's", "a\nb", "2"]), st.text("ab%_\\'é", max_size=6)
)
EDGES = [0, 1, -1, 2, 3, 7, 127, -128, 32767, 2**24 + 1, 2**31 - 1, -(2**31)]
LONG_EDGES = [*EDGES, 2**31, 2**53 + 1, 2**62 + 2**38 + 1, 2**63 - 1, -(2**63)]

ints = st.one_of(st.sampled_from(EDGES), st.integers(-(2**31), 2**31 - 1))
longs = st.one_of(st.sampled_from(LONG_EDGES), st.integers(-(2**63), 2**63 - 1)).map(Long)
singles = st.one_of(st.sampled_from([0.0, -0.0, 0.1, 1.0, 2.0**24, 2.0**62, 3e38]), st.floats(width=32)).map(Float)
doubles = st.one_of(st.sampled_from([0.0, -0.0, 0.1, 1.0, 2.0**53, 2.0**63, 1.5e308]), st.floats())

values = st.one_of(
    st.none(), st.booleans(), st.integers(-128, 127).map(Byte), st.integers(-32768, 32767).map(Short),
    ints, longs, singles, doubles, TEXTS,
)  # fmt: skip
properties: st.SearchStrategy[dict[str, Any]] = st.dictionaries(st.sampled_from(NAMES), values)

identifiers = st.sampled_from(NAMES).map(t.Identifier)
finite = st.one_of(ints, longs, singles, doubles).filter(lambda value: abs(value) < float("inf"))
number_literals = finite.map(t.Literal)
other_literals = st.one_of(TEXTS, st.booleans()).map(t.Literal)


def _numeric(inner: st.SearchStrategy[t.Node]) -> st.SearchStrategy[t.Node]:
    def chain(signs: str) -> st.SearchStrategy[t.Node]:
        return st.lists(st.tuples(st.sampled_from(signs), inner), min_size=1, max_size=3).flatmap(
            lambda steps: inner.map(
                lambda first: t.Arithmetic(
                    tuple(sign for sign, _ in steps), (first, *(operand for _, operand in steps))
                )
            )
        )

    return st.one_of(chain("+-"), chain("*/"), st.builds(t.Signed, st.booleans(), inner))


numbers: st.SearchStrategy[t.Node] = st.recursive(st.one_of(identifiers, number_literals), _numeric, max_leaves=6)
ORDERS = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])

tests: st.SearchStrategy[t.Node] = st.one_of(
    st.builds(t.Comparison, ORDERS, numbers, numbers),
    st.builds(t.Comparison, st.sampled_from(["=", "<>"]), identifiers, st.one_of(identifiers, other_literals)),
    st.builds(t.Comparison, st.sampled_from(["=", "<>"]), other_literals, identifiers),
    st.builds(t.Comparison, ORDERS, identifiers, number_literals),
    st.builds(t.Comparison, ORDERS, number_literals, identifiers),
    st.builds(t.Between, numbers, numbers, numbers, st.booleans()),
    st.builds(t.In, identifiers, st.lists(TEXTS, min_size=1, max_size=3).map(tuple), st.booleans()),
    st.builds(t.Like, identifiers, TEXTS, st.none() | st.sampled_from("\\a%_'"), st.booleans()),
    st.builds(t.IsNull, identifiers, st.booleans()),
    identifiers,
    st.booleans().map(t.Literal),
)


def _logical(inner: st.SearchStrategy[t.Node]) -> st.SearchStrategy[t.Node]:
    several = st.lists(inner, min_size=2, max_size=4).map(tuple)
    return st.one_of(
        st.builds(t.Not, inner),
        st.builds(t.And, several),
        st.builds(t.Or, several),
        st.builds(t.Comparison, st.sampled_from(["=", "<>"]), identifiers, inner.filter(_is_test)),
    )


def _is_test(node: t.Node) -> bool:
    """A condition by its form: an identifier or literal beside = would be a comparison of values."""
    return not isinstance(node, (t.Identifier, t.Literal))


conditions: st.SearchStrategy[t.Node] = st.recursive(tests, _logical, max_leaves=8)

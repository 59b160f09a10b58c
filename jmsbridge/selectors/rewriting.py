"""Rewrites selectors for brokers: canonical text, renamed identifiers, combined conditions.

The text suits simpler parsers than ours: it never contains what looks like a comment, all numbers are decimal, and only
necessary parentheses remain.
"""

from collections.abc import Callable
from math import isfinite
from typing import Any, Final

from jmsbridge.selectors.tree import (
    And,
    Arithmetic,
    Between,
    Comparison,
    Constant,
    Identifier,
    In,
    IsNull,
    Like,
    Literal,
    Node,
    Not,
    Or,
    Signed,
    fold,
    identifiers,
)
from jmsbridge.values import Float, Long

__all__ = ["conjunction", "identifiers", "quoted", "renamed", "render"]

_OR, _AND, _NOT, _TEST, _SUM, _PRODUCT, _SIGN, _PRIMARY = range(8)
_INT_LIMIT: Final = 1 << 31


def render(tree: Node) -> str:
    """The canonical text of a tree, which parses to an equal tree. ValueError for a number that is not finite."""
    return fold(tree, _render)


def renamed(tree: Node, rename: Callable[[str], str]) -> Node:
    """The same condition with renamed identifiers, for brokers that use other names for headers or properties."""

    def replace(node: Node, children: tuple[Node, ...]) -> Node:
        return Identifier(rename(node.name)) if isinstance(node, Identifier) else node.rebuilt(children)

    return fold(tree, replace)


def conjunction(*trees: Node) -> Node:
    """The conjunction of at least one condition; conjunctions among them are merged."""
    if not trees:
        raise ValueError("a conjunction needs at least one condition")
    operands = [operand for tree in trees for operand in (tree.operands if isinstance(tree, And) else (tree,))]
    return operands[0] if len(operands) == 1 else And(tuple(operands))


def quoted(text: str) -> str:
    """A string literal for any text."""
    return "'" + text.replace("'", "''") + "'"


def _level(node: Node) -> int:
    if isinstance(node, Arithmetic):
        return _SUM if node.operators[0] in "+-" else _PRODUCT
    if isinstance(node, Literal) and isinstance(node.value, (int, float)) and _number(node.value).startswith("-"):
        return _SIGN
    return _LEVELS.get(type(node), _PRIMARY)


def _within(least: int, children: tuple[Node, ...], texts: tuple[str, ...]) -> list[str]:
    """The texts of operands, in parentheses if their precedence is below ``least``."""
    return [text if _level(child) >= least else f"({text})" for child, text in zip(children, texts, strict=True)]


def _render(node: Node, texts: tuple[str, ...]) -> str:
    return _RENDERERS[type(node)](node, texts)


def _render_literal(node: Literal, texts: tuple[str, ...]) -> str:
    return _constant(node.value)


def _constant(value: Constant) -> str:
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    return _number(value)


def _number(value: float) -> str:
    if isinstance(value, bool):
        return ""
    if isinstance(value, int):
        suffix = "L" if isinstance(value, Long) and -_INT_LIMIT <= value < _INT_LIMIT else ""
        return f"{int(value)}{suffix}"
    if not isfinite(value):
        raise ValueError(f"{value} cannot be written as a literal")
    # Nine digits identify a 32-bit float; the suffix makes it one even without exponent or point.
    return f"{value:.9g}f" if isinstance(value, Float) else repr(float(value))


def _render_signed(node: Signed, texts: tuple[str, ...]) -> str:
    sign = "-" if node.negative else "+"
    if isinstance(node.operand, Literal):  # without parentheses the sign would become a part of the literal
        return f"{sign}({texts[0]})"
    (operand,) = _within(_SIGN, node.children, texts)
    return f"{sign} {operand}" if isinstance(node.operand, Signed) else sign + operand


def _render_arithmetic(node: Arithmetic, texts: tuple[str, ...]) -> str:
    first, *others = _within(_level(node) + 1, node.operands, texts)
    return first + "".join(f" {sign} {other}" for sign, other in zip(node.operators, others, strict=True))


def _render_comparison(node: Comparison, texts: tuple[str, ...]) -> str:
    left, right = _within(_SUM, node.children, texts)
    return f"{left} {node.operator} {right}"


def _render_between(node: Between, texts: tuple[str, ...]) -> str:
    value, low, high = _within(_SUM, node.children, texts)
    return f"{value} {_negation(node)}BETWEEN {low} AND {high}"


def _negation(node: Between | In | Like | IsNull) -> str:
    return "NOT " if node.negated else ""


def _render_in(node: In, texts: tuple[str, ...]) -> str:
    return f"{texts[0]} {_negation(node)}IN ({', '.join(map(quoted, node.choices))})"


def _render_like(node: Like, texts: tuple[str, ...]) -> str:
    escape = "" if node.escape is None else f" ESCAPE {quoted(node.escape)}"
    return f"{texts[0]} {_negation(node)}LIKE {quoted(node.pattern)}{escape}"


def _render_is_null(node: IsNull, texts: tuple[str, ...]) -> str:
    return f"{texts[0]} IS {_negation(node)}NULL"


def _render_not(node: Not, texts: tuple[str, ...]) -> str:
    return "NOT " + _within(_NOT, node.children, texts)[0]


def _render_and(node: And, texts: tuple[str, ...]) -> str:
    return " AND ".join(_within(_NOT, node.operands, texts))


def _render_or(node: Or, texts: tuple[str, ...]) -> str:
    return " OR ".join(_within(_AND, node.operands, texts))


_LEVELS: Final[dict[type[Node], int]] = {
    Or: _OR, And: _AND, Not: _NOT, Comparison: _TEST, Between: _TEST, In: _TEST, Like: _TEST, IsNull: _TEST,
    Signed: _SIGN,
}  # fmt: skip

_RENDERERS: Final[dict[type[Node], Callable[[Any, tuple[str, ...]], str]]] = {
    Literal: _render_literal,
    Identifier: lambda node, texts: str(node.name),
    Signed: _render_signed,
    Arithmetic: _render_arithmetic,
    Comparison: _render_comparison,
    Between: _render_between,
    In: _render_in,
    Like: _render_like,
    IsNull: _render_is_null,
    Not: _render_not,
    And: _render_and,
    Or: _render_or,
}

"""Rewrites selectors for brokers: canonical text, renamed identifiers.

The text suits simpler parsers than ours: it never contains what looks like a comment, all numbers are decimal, and only
necessary parentheses remain, with those of NOT.
"""

from collections.abc import Callable
from math import isfinite
from typing import Any, Final

from jmsbridge.selectors import tree
from jmsbridge.values import Float, Long

__all__ = ["quoted", "renamed", "render"]

_OR, _AND, _NOT, _TEST, _SUM, _PRODUCT, _SIGN, _PRIMARY = range(8)
_INT_LIMIT: Final = 1 << 31


def render(root: tree.Node) -> str:
    """The canonical text of a tree, which parses to an equal tree. ValueError for a number that is not finite."""
    return tree.fold(root, _render)


def renamed(root: tree.Node, rename: Callable[[str], str]) -> tree.Node:
    """The same condition with renamed identifiers, for brokers that use other names for headers or properties."""

    def replace(node: tree.Node, children: tuple[tree.Node, ...]) -> tree.Node:
        return tree.Identifier(rename(node.name)) if isinstance(node, tree.Identifier) else node.rebuilt(children)

    return tree.fold(root, replace)


def quoted(text: str) -> str:
    """A string literal for any text."""
    return "'" + text.replace("'", "''") + "'"


def _level(node: tree.Node) -> int:
    if isinstance(node, tree.Arithmetic):
        return _SUM if node.operators[0] in "+-" else _PRODUCT
    if isinstance(node, tree.Literal) and isinstance(node.value, (int, float)) and _number(node.value).startswith("-"):
        return _SIGN
    return _LEVELS.get(type(node), _PRIMARY)


def _within(least: int, children: tuple[tree.Node, ...], texts: tuple[str, ...]) -> list[str]:
    """The texts of operands, in parentheses if their precedence is below ``least``."""
    return [text if _level(child) >= least else f"({text})" for child, text in zip(children, texts, strict=True)]


def _render(node: tree.Node, texts: tuple[str, ...]) -> str:
    return _RENDERERS[type(node)](node, texts)


def _render_literal(node: tree.Literal, texts: tuple[str, ...]) -> str:
    return _constant(node.value)


def _constant(value: tree.Constant) -> str:
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


def _render_signed(node: tree.Signed, texts: tuple[str, ...]) -> str:
    sign = "-" if node.negative else "+"
    if isinstance(node.operand, tree.Literal):  # without parentheses the sign would become a part of the literal
        return f"{sign}({texts[0]})"
    (operand,) = _within(_SIGN, node.children, texts)
    return f"{sign} {operand}" if isinstance(node.operand, tree.Signed) else sign + operand


def _render_arithmetic(node: tree.Arithmetic, texts: tuple[str, ...]) -> str:
    first, *others = _within(_level(node) + 1, node.operands, texts)
    return first + "".join(f" {sign} {other}" for sign, other in zip(node.operators, others, strict=True))


def _render_comparison(node: tree.Comparison, texts: tuple[str, ...]) -> str:
    left, right = _within(_SUM, node.children, texts)
    return f"{left} {node.operator} {right}"


def _render_between(node: tree.Between, texts: tuple[str, ...]) -> str:
    value, low, high = _within(_SUM, node.children, texts)
    return f"{value} {_negation(node)}BETWEEN {low} AND {high}"


def _negation(node: tree.Between | tree.In | tree.Like | tree.IsNull) -> str:
    return "NOT " if node.negated else ""


def _render_in(node: tree.In, texts: tuple[str, ...]) -> str:
    return f"{texts[0]} {_negation(node)}IN ({', '.join(map(quoted, node.choices))})"


def _render_like(node: tree.Like, texts: tuple[str, ...]) -> str:
    escape = "" if node.escape is None else f" ESCAPE {quoted(node.escape)}"
    return f"{texts[0]} {_negation(node)}LIKE {quoted(node.pattern)}{escape}"


def _render_is_null(node: tree.IsNull, texts: tuple[str, ...]) -> str:
    return f"{texts[0]} IS {_negation(node)}NULL"


def _render_not(node: tree.Not, texts: tuple[str, ...]) -> str:
    return "NOT " + _within(_PRIMARY, node.children, texts)[0]  # some parsers read NOT a = 1 as (NOT a) = 1


def _render_and(node: tree.And, texts: tuple[str, ...]) -> str:
    return " AND ".join(_within(_NOT, node.operands, texts))


def _render_or(node: tree.Or, texts: tuple[str, ...]) -> str:
    return " OR ".join(_within(_AND, node.operands, texts))


_LEVELS: Final[dict[type[tree.Node], int]] = {
    **dict.fromkeys((tree.Comparison, tree.Between, tree.In, tree.Like, tree.IsNull), _TEST),
    tree.Or: _OR,
    tree.And: _AND,
    tree.Not: _NOT,
    tree.Signed: _SIGN,
}

_RENDERERS: Final[dict[type[tree.Node], Callable[[Any, tuple[str, ...]], str]]] = {
    tree.Literal: _render_literal,
    tree.Identifier: lambda node, texts: str(node.name),
    tree.Signed: _render_signed,
    tree.Arithmetic: _render_arithmetic,
    tree.Comparison: _render_comparison,
    tree.Between: _render_between,
    tree.In: _render_in,
    tree.Like: _render_like,
    tree.IsNull: _render_is_null,
    tree.Not: _render_not,
    tree.And: _render_and,
    tree.Or: _render_or,
}

"""Compiles a tree to a Python closure that evaluates it in three-valued logic (section 3.8.1.2).

An evaluator takes the lookup and returns a canonical value; a condition returns True, False, or None for *unknown*.
As much as possible is decided at compile time: comparing a name with a literal is one call.
"""

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from jmsbridge.selectors import javamath, tree
from jmsbridge.selectors.headers import Lookup
from jmsbridge.selectors.like import compile_pattern

__all__ = ["Evaluator", "compile_condition"]

Evaluator: TypeAlias = Callable[[Lookup], Any]

_MIRRORED: Final = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def compile_condition(root: tree.Node) -> Evaluator:
    """A condition for the tree; thread-safe."""
    return _condition(root, tree.fold(root, _compile))


def _compile(node: tree.Node, parts: tuple[Evaluator, ...]) -> Evaluator:
    return _COMPILERS[type(node)](node, parts)


def _condition(node: tree.Node, evaluate: Evaluator) -> Evaluator:
    """An identifier used as a condition: true or false if its value is a boolean, otherwise unknown."""
    if not isinstance(node, tree.Identifier):
        return evaluate
    name = node.name

    def flag(lookup: Lookup) -> bool | None:
        value = lookup(name)
        return value if value is True or value is False else None

    return flag


def _literal(node: tree.Literal, parts: tuple[Evaluator, ...]) -> Evaluator:
    value = node.value
    return lambda lookup: value


def _identifier(node: tree.Identifier, parts: tuple[Evaluator, ...]) -> Evaluator:
    name = node.name
    return lambda lookup: lookup(name)


def _signed(node: tree.Signed, parts: tuple[Evaluator, ...]) -> Evaluator:
    (operand,) = parts
    apply = javamath.negate if node.negative else javamath.promote
    return lambda lookup: apply(operand(lookup))


def _arithmetic(node: tree.Arithmetic, parts: tuple[Evaluator, ...]) -> Evaluator:
    first, *others = parts
    steps = [(javamath.ARITHMETIC[sign], part) for sign, part in zip(node.operators, others, strict=True)]

    def calculate(lookup: Lookup) -> object:
        value = first(lookup)
        for apply, operand in steps:
            value = apply(value, operand(lookup))
            if value is None:
                return None
        return value

    return calculate


def _comparison(node: tree.Comparison, parts: tuple[Evaluator, ...]) -> Evaluator:
    if isinstance(node.left, tree.Identifier) and isinstance(node.right, tree.Literal):
        return _against_literal(node.left.name, node.operator, node.right.value)
    if isinstance(node.left, tree.Literal) and isinstance(node.right, tree.Identifier):
        return _against_literal(node.right.name, _MIRRORED[node.operator], node.left.value)
    left, right = parts
    relation = javamath.RELATIONS[node.operator]
    compare = javamath.compare
    return lambda lookup: compare(relation, left(lookup), right(lookup))


def _against_literal(name: str, operator: str, constant: Any) -> Evaluator:
    if operator == "=" and isinstance(constant, str):
        return _equals_text(name, constant)
    relation = javamath.RELATIONS[operator]
    compare = javamath.compare
    # Values of these types are compared without conversion.
    kind = type(constant)
    direct = javamath.EXACT_TYPES if kind in javamath.EXACT_TYPES else frozenset({kind})

    def test(lookup: Lookup) -> bool | None:
        value: Any = lookup(name)
        if type(value) in direct:
            return relation(value, constant)  # type: ignore[no-any-return]
        return compare(relation, value, constant)

    return test


def _equals_text(name: str, constant: str) -> Evaluator:
    def test(lookup: Lookup) -> bool | None:
        value = lookup(name)
        if value == constant:
            return True
        return None if value is None else False

    return test


def _between(node: tree.Between, parts: tuple[Evaluator, ...]) -> Evaluator:
    value, low, high = parts
    first, second = ("<", ">") if node.negated else (">=", "<=")
    above, below = javamath.RELATIONS[first], javamath.RELATIONS[second]
    compare = javamath.compare
    decisive = node.negated  # True decides an OR, False an AND

    def test(lookup: Lookup) -> bool | None:
        subject = value(lookup)
        if (lower := compare(above, subject, low(lookup))) is decisive:
            return decisive
        upper = compare(below, subject, high(lookup))
        return upper if upper is decisive or lower is not None else None

    return test


def _of_text(name: str, accepts: Callable[[str], bool], negated: bool) -> Evaluator:
    """A test of text: unknown for null, and False for any other type, even if negated."""

    def test(lookup: Lookup) -> bool | None:
        value = lookup(name)
        if isinstance(value, str):
            return accepts(value) is not negated
        return None if value is None else False

    return test


def _in(node: tree.In, parts: tuple[Evaluator, ...]) -> Evaluator:
    return _of_text(node.identifier.name, frozenset(node.choices).__contains__, node.negated)


def _like(node: tree.Like, parts: tuple[Evaluator, ...]) -> Evaluator:
    return _of_text(node.identifier.name, compile_pattern(node.pattern, node.escape), node.negated)


def _is_null(node: tree.IsNull, parts: tuple[Evaluator, ...]) -> Evaluator:
    name, negated = node.identifier.name, node.negated
    return lambda lookup: (lookup(name) is None) is not negated


def _not(node: tree.Not, parts: tuple[Evaluator, ...]) -> Evaluator:
    operand = _condition(node.operand, parts[0])

    def test(lookup: Lookup) -> bool | None:
        value: bool | None = operand(lookup)
        return None if value is None else not value

    return test


def _junction(node: tree.And | tree.Or, parts: tuple[Evaluator, ...]) -> Evaluator:
    operands = tuple(map(_condition, node.operands, parts))
    decisive = isinstance(node, tree.Or)  # the value of one operand that decides the result
    if len(operands) == 2:
        return _junction_of_two(decisive, *operands)

    def test(lookup: Lookup) -> bool | None:
        result: bool | None = not decisive
        for operand in operands:
            value: bool | None = operand(lookup)
            if value is decisive:
                return decisive
            if value is None:
                result = None
        return result

    return test


def _junction_of_two(decisive: bool, left: Evaluator, right: Evaluator) -> Evaluator:
    def test(lookup: Lookup) -> bool | None:
        first: bool | None = left(lookup)
        if first is decisive:
            return decisive
        second: bool | None = right(lookup)
        return second if second is decisive or first is not None else None

    return test


_COMPILERS: Final[dict[type[tree.Node], Callable[[Any, tuple[Evaluator, ...]], Evaluator]]] = {
    tree.Literal: _literal,
    tree.Identifier: _identifier,
    tree.Signed: _signed,
    tree.Arithmetic: _arithmetic,
    tree.Comparison: _comparison,
    tree.Between: _between,
    tree.In: _in,
    tree.Like: _like,
    tree.IsNull: _is_null,
    tree.Not: _not,
    tree.And: _junction,
    tree.Or: _junction,
}

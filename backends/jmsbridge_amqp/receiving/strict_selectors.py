"""Rewrites selectors for the evaluator of ActiveMQ, which Classic and Artemis share, and that of Qpid Broker-J. Pure.

It differs from section 3.8.1 of Jakarta Messaging as the table shows. So each condition is translated twice: into one
that is true where it is true, and into one that is true where it is false, which is written in place of NOT. What is
left of NOT stands before single comparisons.

====================================  ===================================================================
selector                              the evaluator
====================================  ===================================================================
``x <> 1``, NOT IN, NOT LIKE          true for a value of another type
``NOT (x IN ('a'))``                  unknown for a value of another type
``x < y``                             compares texts and booleans, too
``x = y``                             true if both are null; false if y is a byte or short, and x of another
                                      type; fails for a double and a float
``NOT x``                             true for a value that is no boolean
``NOT (x = 1)``                       on Qpid Broker-J true if x is null
``NOT x = 1``                         read as ``(NOT x) = 1``
``x - 1``                             fails for a text or boolean
``7F``, ``7.0d``                      refused; all numbers with a decimal point are doubles
``x + 1L``                            adds an int
``-x``                                fails for a byte or short
====================================  ===================================================================

Where the evaluator fails on a topic, Classic refuses the message to its sender. Not mended: integers are divided as
doubles, and Classic has no names with letters beyond ASCII.
"""

from typing import Final

import msgspec

from jmsbridge.selectors import compile_selector
from jmsbridge.selectors.rewriting import render
from jmsbridge.selectors.tree import (
    And,
    Arithmetic,
    Between,
    Comparison,
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
    walk,
)
from jmsbridge.selectors.written import MIRRORED, Written, joined
from jmsbridge.spi import Long

__all__ = ["strict"]

_INT: Final = 1 << 31  # a literal below this is an int, whatever its suffix
_BEYOND_INT: Final = 1 << 32
_ZERO, _YES, _NO = Literal(0), Literal(True), Literal(False)


def strict(selector: str) -> str:
    """The selector to send to the broker; the same text if the broker evaluates it as the specification says."""
    tree = compile_selector(selector).tree
    if not any(map(_differs, walk(tree))):
        return selector
    return render(fold(fold(tree, _with_known_numbers), _write).true)


def _differs(node: Node) -> bool:
    if isinstance(node, Comparison):
        return node.operator == "<>" or not _is_simple(node)
    if isinstance(node, Between):
        return not _is_simple(node)
    if isinstance(node, In | Like):
        return node.negated
    return isinstance(node, Not | Arithmetic | Signed) or _is_decimal(node)


def _is_simple(node: Comparison | Between) -> bool:
    """Whether a name or a literal is compared with literals only."""
    first, *others = node.children
    return isinstance(first, Identifier | Literal) and all(isinstance(other, Literal) for other in others)


# -- numbers


def _with_known_numbers(node: Node, children: tuple[Node, ...]) -> Node:
    if isinstance(node, Literal) and _is_decimal(node):
        return Literal(float(node.value))
    if isinstance(node, Arithmetic):
        return node.rebuilt(tuple(map(_as_long, children)))
    if isinstance(node, Signed):
        return Arithmetic(("-" if node.negative else "+",), (_ZERO, *map(_as_long, children)))
    return node.rebuilt(children)


def _is_decimal(node: Node) -> bool:
    return isinstance(node, Literal) and isinstance(node.value, float)


def _as_long(operand: Node) -> Node:
    """The operand; a long that the broker would take for an int, as the difference of two that it takes for longs."""
    if not (isinstance(operand, Literal) and isinstance(operand.value, Long) and -_INT <= operand.value < _INT):
        return operand
    return Arithmetic(("-",), (Literal(Long(operand.value + _BEYOND_INT)), Literal(Long(_BEYOND_INT))))


# -- conditions


def _write(node: Node, below: tuple[Written, ...]) -> Written:
    if isinstance(node, And | Or | Not):
        return joined(node, below)
    if isinstance(node, IsNull):
        return Written(node, msgspec.structs.replace(node, negated=not node.negated))
    if isinstance(node, Literal) and isinstance(node.value, bool):
        return Written(node, Literal(not node.value))
    if isinstance(node, Identifier):
        return Written(_equal(node, _YES), _equal(node, _NO))
    if isinstance(node, Comparison):
        return _compare_with_constant(node, below) or _compare(node)
    if isinstance(node, Between):
        return _compare_with_bounds(node)
    if isinstance(node, In | Like):
        true = And((_is_text(node.identifier), node)) if node.negated or isinstance(node, In) else node
        return Written(true, _not(node.identifier, true))
    return Written(node, Not(node))  # an operand: _compare translates the whole comparison


def _compare_with_constant(node: Comparison, below: tuple[Written, ...]) -> Written | None:
    """The translation, if a condition is compared with TRUE or FALSE; else None."""
    for one, written, other in ((node.left, below[0], node.right), (node.right, below[1], node.left)):
        if isinstance(other, Literal) and isinstance(other.value, bool) and not isinstance(one, Identifier):
            return written if other.value is (node.operator == "=") else written.opposite
    return None


def _compare_with_bounds(node: Between) -> Written:
    if _is_simple(node):
        return Written(node, _not(node.value, node))
    every, some, signs = (Or, And, ("<", ">")) if node.negated else (And, Or, (">=", "<="))
    bounds = (node.low, node.high)
    tests = [_compare(Comparison(sign, node.value, bound)) for sign, bound in zip(signs, bounds, strict=True)]
    return Written(every(tuple(test.true for test in tests)), some(tuple(test.false for test in tests)))


def _compare(node: Comparison) -> Written:
    if isinstance(node.right, Identifier):
        if isinstance(node.left, Identifier):
            return _compare_names(node.operator, node.left, node.right)
        node = Comparison(MIRRORED[node.operator], node.right, node.left)
    true = _apart(node) if node.operator == "<>" else node
    return _with_numbers(node, Written(true, _not(node.left, true)))


def _not(name: Node, true: Node) -> Node:
    """The opposite of a condition that is unknown if ``name`` has no value; to Qpid Broker-J it is false then."""
    return And((IsNull(name, negated=True), Not(true))) if isinstance(name, Identifier) else Not(true)


def _with_numbers(node: Comparison, written: Written) -> Written:
    """The translation, with the additional condition that the names in its arithmetic are numbers."""
    calculated = [child for child in node.children if isinstance(child, Arithmetic)]
    names = sorted(frozenset().union(*map(identifiers, calculated)))
    if not names:
        return written
    numbers = [_is_number(Identifier(name)) for name in names]
    return Written(And((*numbers, written.true)), And((*numbers, written.false)))


def _apart(node: Comparison) -> Node:
    """``<>`` with at most one name, as a condition that is true only for values of one type."""
    name, other = node.left, node.right
    if isinstance(other, Literal) and isinstance(other.value, bool):
        return _equal(name, Literal(not other.value))
    if isinstance(other, Literal) and isinstance(other.value, str):
        return And((_is_text(name), node)) if isinstance(name, Identifier) else node
    return Or((Comparison("<", name, other), Comparison(">", name, other)))


def _compare_names(operator: str, left: Identifier, right: Identifier) -> Written:
    number = Arithmetic(("+",), (right, _ZERO))  # an int, a long, or a double
    signs = ("<", ">") if operator == "<>" else (operator,)
    kinds: list[Node] = [And((_is_number(right), Comparison(sign, left, number))) for sign in signs]
    if operator in ("=", "<>"):
        kinds.append(And((_is_text(left), _is_text(right), Comparison(operator, left, right))))
        flags = ((_YES, _YES), (_NO, _NO)) if operator == "=" else ((_YES, _NO), (_NO, _YES))
        kinds += [And((_equal(left, one), _equal(right, other))) for one, other in flags]
    true = Or(tuple(kinds)) if len(kinds) > 1 else kinds[0]
    return Written(true, And((IsNull(left, negated=True), IsNull(right, negated=True), Not(true))))


def _equal(left: Node, right: Node) -> Node:
    return Comparison("=", left, right)


def _is_text(name: Identifier) -> Node:
    return Like(name, "%")


def _is_number(name: Node) -> Node:
    return Or((Comparison("<", name, _ZERO), Comparison(">=", name, _ZERO)))

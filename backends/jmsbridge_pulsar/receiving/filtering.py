"""The selector of a topic's consumer, for the filter that a broker may have: what it drops is not sent here.

The filter is a plug-in of DataStax (``jms-filter.nar``), to which Starlight for JMS sends its selectors. What it drops
is lost for the subscription, and it differs from JMS: it does not know message ids, reads ``NOT a = 2 AND b = 2`` as
``NOT (a = 2 AND b = 2)``, cannot compare ``1 = x`` where ``x`` is a byte, does not read ``7F`` and ``0L``, tells 0.0
from -0.0, and drops a message that it cannot evaluate. So it gets a weaker condition, of the parts in which it is
right: one that holds for each message that the selector matches. The rest is selected here, as without it.
"""

import re
from typing import Final

from jmsbridge.selectors import compile_selector
from jmsbridge.selectors.rewriting import render
from jmsbridge.selectors.tree import (
    And,
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
    fold,
)
from jmsbridge.selectors.written import MIRRORED, Written, joined
from jmsbridge.spi import Float, Interest, Long

__all__ = ["filter_properties", "weakened"]

_ANY: Final = Literal(True)
_NAME: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_KEYWORDS: Final = {"XPATH", "XQUERY"}  # of the filter, not of JMS
_EXACT: Final = 1 << 53
_OF_ZERO: Final = ("<", ">", "<>")  # these are false for 0.0 and -0.0, so that it does not matter that they differ


def filter_properties(interest: Interest) -> dict[str, str]:
    """The properties of the consumer that tell the filter what to drop."""
    if interest.selector is None or not interest.address.topic:
        return {}  # what a queue's consumer does not select is for others: the filter would count it as redelivered
    condition = weakened(interest.selector)
    if condition is None:
        return {}
    return {"jms.filtering": "true", "jms.selector": condition, "jms.selector.reject.action": "drop"}


def weakened(selector: str) -> str | None:
    """A condition for the filter, true for each message that the selector matches; None if that is any message."""
    made = fold(fold(compile_selector(selector).tree, _write).true, _without_any)
    return None if made == _ANY else render(made)


def _write(node: Node, below: tuple[Written, ...]) -> Written:
    """Two conditions: one holds at least where the node is true, the other at least where it is false."""
    if isinstance(node, And | Or | Not):
        return joined(node, below)
    if isinstance(node, IsNull):
        return Written(node, Not(node)) if _is_known(node.identifier) else Written(_ANY, _ANY)
    if isinstance(node, In | Like):
        return Written(node if _is_known(node.identifier) else _ANY, _ANY)
    if isinstance(node, Between):
        return Written(_in_range(node), _ANY)
    return Written(_comparison(node) if isinstance(node, Comparison) else _ANY, _ANY)


def _in_range(node: Between) -> Node:
    value, low, high = node.children
    if node.negated:
        return _ANY
    return And((_comparison(Comparison(">=", value, low)), _comparison(Comparison("<=", value, high))))


def _comparison(node: Comparison) -> Node:
    left, right, operator = node.left, node.right, node.operator
    if isinstance(left, Literal):
        left, right, operator = right, left, MIRRORED[operator]
    if not (isinstance(left, Identifier) and isinstance(right, Literal) and _is_known(left)):
        return _ANY
    value = right.value
    if isinstance(value, bool | str):
        is_right = operator in ("=", "<>")
    elif value == 0:
        is_right = operator in _OF_ZERO and not isinstance(value, Float | Long)
    else:
        is_right = abs(value) < _EXACT and not isinstance(value, Float)
    return Comparison(operator, left, right) if is_right else _ANY


def _is_known(name: Identifier) -> bool:
    text = name.name
    is_property = not text.startswith("JMS") and text.upper() not in _KEYWORDS
    return text == "JMSType" or (is_property and _NAME.fullmatch(text) is not None)


def _without_any(node: Node, below: tuple[Node, ...]) -> Node:
    """AND and OR without the operands that are always true."""
    if isinstance(node, Or) and _ANY in below:
        return _ANY
    if isinstance(node, And):
        below = tuple(each for each in below if each != _ANY)
        if len(below) < 2:
            return below[0] if below else _ANY
    return node.rebuilt(below) if below else node

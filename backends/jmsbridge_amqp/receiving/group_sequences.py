"""Rewrites selectors for brokers where a message without group sequence has the sequence 0. Pure."""

from typing import Final

from jmsbridge.selectors import compile_selector
from jmsbridge.selectors.rewriting import render
from jmsbridge.selectors.tree import Comparison, IsNull, Literal, Node, fold, walk

__all__ = ["with_zero_sequences"]

_SEQUENCE: Final = "JMSXGroupSeq"


def with_zero_sequences(selector: str) -> str:
    """The selector with a comparison with 0 for ``JMSXGroupSeq IS NULL``; the same text if it is not in it."""
    tree = compile_selector(selector).tree
    return render(fold(tree, _compared)) if any(map(_asks, walk(tree))) else selector


def _asks(node: Node) -> bool:
    return isinstance(node, IsNull) and node.identifier.name == _SEQUENCE


def _compared(node: Node, children: tuple[Node, ...]) -> Node:
    if isinstance(node, IsNull) and _asks(node):
        return Comparison("<>" if node.negated else "=", node.identifier, Literal(0))
    return node.rebuilt(children)

"""Rewrites selectors for Artemis. Pure.

On queues Artemis evaluates a selector against the AMQP message, on topics against its own view of it, where the headers
have the names of its core protocol. On both, a name with other letters than those of ASCII must be in double quotes. To
the selector of a subscription that is ``no_local``, Artemis appends another condition with AND, without parentheses.
"""

import re
from typing import Final

import msgspec

from jmsbridge.selectors import compile_selector
from jmsbridge.selectors.rewriting import renamed, render
from jmsbridge.selectors.tree import Comparison, Identifier, In, Literal, Node, Or, fold

__all__ = ["for_artemis"]

_NAMES: Final = {
    "JMSPriority": "AMQPriority",
    "JMSTimestamp": "AMQTimestamp",
    "JMSMessageID": "AMQUserID",
    "JMSDeliveryMode": "AMQDurable",
    "JMSExpiration": "AMQExpiration",
}
_MODES: Final = {"PERSISTENT": "DURABLE", "NON_PERSISTENT": "NON_DURABLE"}
_SIMPLE: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")


def for_artemis(selector: str, *, topic: bool, no_local: bool) -> str:
    """The selector to send; the same text if Artemis understands it."""
    tree = compile_selector(selector).tree
    made = renamed(fold(tree, _modes), lambda name: _NAMES.get(name, name)) if topic else tree
    made = renamed(made, _quoted)
    text = selector if made == tree else render(made)
    return f"({text})" if no_local and isinstance(made, Or) else text


def _quoted(name: str) -> str:
    return name if _SIMPLE.fullmatch(name) else f'"{name}"'


def _modes(node: Node, children: tuple[Node, ...]) -> Node:
    """Delivery modes have other names, too."""
    changed = node.rebuilt(children)
    if isinstance(changed, In) and _is_mode(changed.identifier):
        return msgspec.structs.replace(changed, choices=tuple(_MODES.get(each, each) for each in changed.choices))
    if isinstance(changed, Comparison) and any(_is_mode(child) for child in children):
        return changed.rebuilt(tuple(_mode(child) for child in children))
    return changed


def _is_mode(node: Node) -> bool:
    return isinstance(node, Identifier) and node.name == "JMSDeliveryMode"


def _mode(node: Node) -> Node:
    if isinstance(node, Literal) and isinstance(node.value, str):
        return Literal(_MODES.get(node.value, node.value))
    return node

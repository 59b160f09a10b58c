"""Selectors as RabbitMQ's plugin for JMS topics reads them: the tree as the text of an Erlang term. Pure.

The text is the one that RabbitMQ's Java client writes, but that long chains of AND and OR become trees of little depth.
What the plugin evaluates otherwise than the specification says, even where properties have the types that the selector
expects, is refused. What it does wrong with other types is told in ``FAULTS``.
"""

from typing import Final

from jmsbridge.codecs.javatext import double_text
from jmsbridge.selectors import compile_selector
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
)
from jmsbridge.spi import NotSupported

__all__ = ["FAULTS", "MAX_BYTES", "MAX_NESTING", "erlang_selector"]

MAX_NESTING: Final = 16
"""How deep the plugin lets tuples and lists lie in each other; RabbitMQ 4.0 and before took any depth."""
MAX_BYTES: Final = 65_536
"""Of the text: it must fit into one frame."""

FAULTS: Final = {
    "another type": "numbers, booleans and texts are compared in Erlang's order: the text '5' satisfies n > 10, and"
    " <> and NOT IN are true for every other type; the specification says unknown",
    "LIKE": "a message whose property is a number or boolean ends the connection of its sender (541); `_` stands for"
    " one byte of UTF-8, `_` and `%` for no line end",
    "NaN and infinities": "they travel as texts, or in dialect jms in the body alone",
    "JMSType": "with the option text_marker it is TextMessage where there is none",
    "foreign headers": "a message with a header of type timestamp, null, bytes, table, array, decimal or unsigned ends"
    " the connection of its sender (541), where a selector names it; jmsbridge sends none of them",
    "Java": "a subscription that Java made with another selector keeps that one too; unsubscribe it there first",
}
"""What the plugin does otherwise than the specification says."""

_UNSEEN: Final = frozenset(
    {"JMSXAppID", "JMSXConsumerTXID", "JMSXDeliveryCount", "JMSXProducerTXID", "JMSXRcvTimestamp", "JMSXState"}
    | {"JMSXUserID", "CC", "BCC"}
)  # what the broker does not see among the headers of a message
_Term = tuple[str, int]  # the text and its nesting


def erlang_selector(selector: str, broker: str) -> str:
    """The text for a binding's argument; NotSupported for what the plugin of ``broker`` cannot do."""
    try:
        text, depth = fold(compile_selector(selector).tree, _term)
        size = len(text.encode())
    except _Unable as error:
        why = str(error)
    else:
        if depth <= MAX_NESTING and size <= MAX_BYTES:
            return f"{text}."
        why = f"nesting of {depth} (at most {MAX_NESTING}) and {size} bytes (at most {MAX_BYTES}) are too much for it"
    raise NotSupported(
        f"{broker} cannot evaluate the selector {selector[:80]!r}: {why}; write it otherwise, or leave the option"
        " topic_selectors at client"
    )


class _Unable(Exception):
    """The plugin cannot do it."""


def _term(node: Node, parts: tuple[_Term, ...]) -> _Term:
    match node:
        case Literal(value):
            return _constant(value)
        case Identifier(name):
            if name in _UNSEEN or len(name.encode()) > 255:
                raise _Unable(f"{name[:40]} is not among the headers that the broker sees")
            return _tuple("ident", (_binary(name), 0))
        case And() | Or():
            return _balanced("and" if isinstance(node, And) else "or", parts)
        case Not():
            return _tuple("not", *parts)
        case Comparison(operator):
            return _tuple(operator, *parts)
        case Between(negated=negated):
            return _tuple("not_between" if negated else "between", *parts)
        case In(choices=choices, negated=negated):
            listed = f"[{','.join(map(_binary, choices))}]", 1
            return _tuple("not_in" if negated else "in", *parts, listed)
        case IsNull(negated=negated):
            return _tuple("not_null" if negated else "is_null", *parts)
        case Like(pattern=pattern, escape=escape, negated=negated):
            if escape is not None and not escape.isascii():
                raise _Unable("the character behind ESCAPE must be of ASCII")
            ending = "'no_escape'" if escape is None else _binary(escape)
            return _tuple("not_like" if negated else "like", *parts, (_binary(pattern), 0), (ending, 0))
        case Arithmetic() | Signed():
            raise _Unable("it divides integers as fractions, never overflows, and dies of arithmetic with texts")
        case _:
            raise _Unable(f"{type(node).__name__} is unknown to it")


def _tuple(name: str, *parts: _Term) -> _Term:
    return f"{{'{name}',{','.join([text for text, _ in parts])}}}", 1 + max(depth for _, depth in parts)


def _balanced(name: str, parts: tuple[_Term, ...]) -> _Term:
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    return _tuple(name, _balanced(name, parts[:middle]), _balanced(name, parts[middle:]))


def _constant(value: Constant) -> _Term:
    if isinstance(value, bool):
        return ("'true'" if value else "'false'"), 0
    if isinstance(value, str):
        return _binary(value), 0
    negative = str(value).startswith("-")
    size = abs(value)
    text = double_text(float(size)) if isinstance(value, float) else str(int(size))
    return _tuple("-", (text, 0)) if negative else (text, 0)


def _binary(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'<<"{escaped}">>'

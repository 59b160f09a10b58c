"""Selectors for RabbitMQ's plugin for JMS topics: the tree as the text of an Erlang term. Pure.

The text equals that of RabbitMQ's Java client, except that long chains of AND and OR become balanced trees. Expressions
that the plugin evaluates wrongly although the properties have the expected types are refused; the page
``docs/backends/rabbitmq.md`` lists what it does wrong with other types.
"""

from typing import Final

from jmsbridge.codecs.javatext import double_text
from jmsbridge.selectors import compile_selector, tree
from jmsbridge.spi import NotSupported

__all__ = ["MAX_NESTING", "erlang_selector"]

MAX_NESTING: Final = 16
"""The nesting of tuples and lists that the plugin accepts; RabbitMQ 4.0 and earlier accept any."""
_MAX_BYTES: Final = 65_536
"""The limit for the text, which must fit into one frame."""

_UNSEEN: Final = frozenset(
    {"JMSXAppID", "JMSXConsumerTXID", "JMSXDeliveryCount", "JMSXProducerTXID", "JMSXRcvTimestamp", "JMSXState"}
    | {"JMSXUserID", "CC", "BCC"}
)  # properties that the broker does not find among a message's headers
_Term = tuple[str, int]  # the text and its depth of nesting


def erlang_selector(selector: str, broker: str) -> str:
    """The text for a binding's argument; NotSupported if the plugin of ``broker`` cannot evaluate it."""
    try:
        text, depth = tree.fold(compile_selector(selector).tree, _term)
        size = len(text.encode())
    except _Unable as error:
        why = str(error)
    else:
        if depth <= MAX_NESTING and size <= _MAX_BYTES:
            return f"{text}."
        why = f"its nesting is {depth} (at most {MAX_NESTING}) and its size {size} bytes (at most {_MAX_BYTES})"
    raise NotSupported(
        f"{broker} cannot evaluate the selector {selector[:80]!r}: {why}; change the selector, or leave the option"
        " topic_selectors at client"
    )


class _Unable(Exception):
    """The plugin cannot evaluate an expression."""


def _term(node: tree.Node, parts: tuple[_Term, ...]) -> _Term:
    match node:
        case tree.Literal(value):
            return _constant(value)
        case tree.Identifier(name):
            if name in _UNSEEN or len(name.encode()) > 255:
                raise _Unable(f"the broker does not see {name[:40]} among a message's headers")
            return _tuple("ident", (_binary(name), 0))
        case tree.And() | tree.Or():
            return _balanced("and" if isinstance(node, tree.And) else "or", parts)
        case tree.Not():
            return _tuple("not", *parts)
        case tree.Comparison(operator):
            return _tuple(operator, *parts)
        case tree.Between(negated=negated):
            return _tuple("not_between" if negated else "between", *parts)
        case tree.In(choices=choices, negated=negated):
            listed = f"[{','.join(map(_binary, choices))}]", 1
            return _tuple("not_in" if negated else "in", *parts, listed)
        case tree.IsNull(negated=negated):
            return _tuple("not_null" if negated else "is_null", *parts)
        case tree.Like(pattern=pattern, escape=escape, negated=negated):
            if escape is not None and not escape.isascii():
                raise _Unable("the character after ESCAPE must be ASCII")
            ending = "'no_escape'" if escape is None else _binary(escape)
            return _tuple("not_like" if negated else "like", *parts, (_binary(pattern), 0), (ending, 0))
        case tree.Arithmetic() | tree.Signed():
            raise _Unable("its arithmetic divides integers as fractions, does not overflow, and crashes on texts")
        case _:
            raise _Unable(f"it does not support {type(node).__name__}")


def _tuple(name: str, *parts: _Term) -> _Term:
    return f"{{'{name}',{','.join([text for text, _ in parts])}}}", 1 + max(depth for _, depth in parts)


def _balanced(name: str, parts: tuple[_Term, ...]) -> _Term:
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    return _tuple(name, _balanced(name, parts[:middle]), _balanced(name, parts[middle:]))


def _constant(value: tree.Constant) -> _Term:
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

"""Which of many selectors a message may match, without evaluating all of them.

Most selectors ask for one of a few values: ``kind = 'order'``, ``region IN ('north', 'south') AND price > 10``.
Such a selector can be true only for messages that have one of these values, so it is found by looking up the
message's own values. What no value is known of is a candidate for every message.
"""

from typing import Final, Generic, TypeAlias, TypeVar

from jmsbridge.selectors.headers import DELIVERY_COUNT, HEADERS
from jmsbridge.selectors.javamath import to_float32
from jmsbridge.selectors.selector import Selector
from jmsbridge.selectors.tree import (
    And,
    Comparison,
    Constant,
    Identifier,
    In,
    Literal,
    Node,
    Not,
    Or,
    fold,
)
from jmsbridge.spi.envelope import Envelope

__all__ = ["Needed", "SelectorIndex", "needed"]

Item = TypeVar("Item")

Needed: TypeAlias = frozenset[tuple[str, Constant]]
"""Names with values, of which a message has at least one if the selector is true for it."""

_MOST: Final = 256
"""A selector that needs one of more values than this is evaluated for each message instead."""

_SINGLE: Final = 1 << 24
"""Up to here every whole number is a 32-bit float."""


def needed(tree: Node) -> Needed | None:
    """What a message must have one of for the condition to be true; None where that is not known."""
    return fold(tree, _needed)


def _needed(node: Node, parts: tuple[Needed | None, ...]) -> Needed | None:
    match node:
        case Comparison(operator="=", left=Identifier(name=name), right=Literal(value=value)):
            return frozenset({(name, value)})
        case Comparison(operator="=", left=Literal(value=value), right=Identifier(name=name)):
            return frozenset({(name, value)})
        case In(identifier=Identifier(name=name), choices=choices, negated=False):
            return frozenset((name, choice) for choice in choices)
        case Not(operand=Identifier(name=name)):
            return frozenset({(name, False)})
        case And(operands=operands):
            known = [part for part in map(_condition, operands, parts) if part is not None]
            return min(known, key=len, default=None)
        case Or(operands=operands):
            either = list(map(_condition, operands, parts))
            return None if None in either else frozenset().union(*(part for part in either if part is not None))
    return None


def _condition(node: Node, part: Needed | None) -> Needed | None:
    """As a condition, a name is true only when its value is."""
    return frozenset({(node.name, True)}) if isinstance(node, Identifier) else part


class SelectorIndex(Generic[Item]):
    """Things that have a selector, or none, found by the messages that these may match. Not thread-safe."""

    __slots__ = ("_always", "_named", "_needed")

    def __init__(self) -> None:
        self._always: dict[Item, None] = {}
        self._named: dict[str, dict[Constant, dict[Item, None]]] = {}
        self._needed: dict[Item, Needed] = {}

    def __len__(self) -> int:
        return len(self._always) + len(self._needed)

    def add(self, item: Item, selector: Selector | None) -> None:
        """Remember a thing, which is hashable and added once, by its selector."""
        found = None if selector is None else needed(selector.tree)
        if found is None or len(found) > _MOST or any(name == DELIVERY_COUNT for name, _ in found):
            self._always[item] = None
            return
        self._needed[item] = found
        for name, value in found:
            values = self._named.setdefault(name, {})
            for key in _keys(value):
                values.setdefault(key, {})[item] = None

    def discard(self, item: Item) -> None:
        """Forget a thing."""
        self._always.pop(item, None)
        for name, value in self._needed.pop(item, ()):
            values = self._named[name]
            for key in _keys(value):
                items = values.get(key, {})
                items.pop(item, None)
                if not items:
                    values.pop(key, None)
            if not values:
                self._named.pop(name)

    def candidates(self, envelope: Envelope) -> list[Item]:
        """Each thing whose selector may match the message, once; those that are left out certainly do not match."""
        found = list(self._always)
        named = self._named
        if not named:
            return found
        hits = 0
        properties = envelope.properties
        names = named if len(named) <= len(properties) + len(HEADERS) else (*HEADERS, *properties)
        for name in names:
            values = named.get(name)
            if values is None:
                continue
            header = HEADERS.get(name)
            value = properties.get(name) if header is None else header(envelope)
            if value is None:
                continue
            for key in _looked_up(value):
                if key in values:
                    hits += 1
                    found += values[key]
        return found if hits < 2 else list(dict.fromkeys(found))


def _looked_up(value: object) -> tuple[object, ...]:
    """Under which keys there may be a literal that equals this value of a message.

    Numbers of different types are equal when they are after one was converted, whole numbers to 32-bit floats too:
    a literal has a key for each form that it may take, a value one for each that it may be compared in. That a key
    stands for more than one value does no harm; ``1`` and ``TRUE`` share one.
    """
    if not isinstance(value, int) or -_SINGLE <= value <= _SINGLE:
        return (value,)
    return _keys(value)


def _keys(value: Constant) -> tuple[Constant, ...]:
    if isinstance(value, str):
        return (value,)
    double, single = float(value), to_float32(value)
    return (double,) if double == single else (double, single)

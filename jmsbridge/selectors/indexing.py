"""An index of selectors: finds those that a message may match, without evaluating all of them.

Most selectors require one of a few values: ``kind = 'order'``, ``region IN ('north', 'south') AND price > 10``.
Such a selector can be true only for messages that have one of these values, so it is found by looking up the
message's values. A selector without known values is a candidate for every message.
"""

from typing import Final, Generic, TypeAlias, TypeVar

from jmsbridge.selectors import tree
from jmsbridge.selectors.headers import DELIVERY_COUNT, HEADERS
from jmsbridge.selectors.javamath import to_float32
from jmsbridge.selectors.selector import Selector
from jmsbridge.spi.envelope import Envelope

__all__ = ["Needed", "SelectorIndex", "needed"]

Item = TypeVar("Item")

Needed: TypeAlias = frozenset[tuple[str, tree.Constant]]
"""Pairs of name and value; a message for which the selector is true has at least one of them."""

_MOST: Final = 256
"""A selector with more values than this is not indexed, but evaluated for each message."""

_SINGLE: Final = 1 << 24
"""Up to this magnitude a 32-bit float holds every integer exactly."""


def needed(root: tree.Node) -> Needed | None:
    """The pairs of which a message must have one for the condition to be true; None if they are not known."""
    return tree.fold(root, _needed)


def _needed(node: tree.Node, parts: tuple[Needed | None, ...]) -> Needed | None:
    match node:
        case tree.Comparison(operator="=", left=tree.Identifier(name=name), right=tree.Literal(value=value)):
            return frozenset({(name, value)})
        case tree.Comparison(operator="=", left=tree.Literal(value=value), right=tree.Identifier(name=name)):
            return frozenset({(name, value)})
        case tree.In(identifier=tree.Identifier(name=name), choices=choices, negated=False):
            return frozenset((name, choice) for choice in choices)
        case tree.Not(operand=tree.Identifier(name=name)):
            return frozenset({(name, False)})
        case tree.And(operands=operands):
            known = [part for part in map(_condition, operands, parts) if part is not None]
            return min(known, key=len, default=None)
        case tree.Or(operands=operands):
            either = list(map(_condition, operands, parts))
            return None if None in either else frozenset().union(*(part for part in either if part is not None))
    return None


def _condition(node: tree.Node, part: Needed | None) -> Needed | None:
    """An identifier used as a condition is true only if its value is."""
    return frozenset({(node.name, True)}) if isinstance(node, tree.Identifier) else part


class SelectorIndex(Generic[Item]):
    """Items with optional selectors; finds those that a message may match. Not thread-safe."""

    __slots__ = ("_always", "_named", "_needed")

    def __init__(self) -> None:
        self._always: dict[Item, None] = {}
        self._named: dict[str, dict[tree.Constant, dict[Item, None]]] = {}
        self._needed: dict[Item, Needed] = {}

    def __len__(self) -> int:
        return len(self._always) + len(self._needed)

    def add(self, item: Item, selector: Selector | None) -> None:
        """Add an item, which must be hashable and not in the index."""
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
        """Remove an item."""
        self._always.pop(item, None)
        for name, value in self._needed.pop(item, ()):
            values = self._named.get(name, {})  # none: values with the same key have removed the last one
            for key in _keys(value):
                items = values.get(key, {})
                items.pop(item, None)
                if not items:
                    values.pop(key, None)
            if not values:
                self._named.pop(name, None)

    def candidates(self, envelope: Envelope) -> list[Item]:
        """Every item whose selector may match the message, once; all others certainly do not match."""
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
    """The keys of all literals that may equal this value of a message.

    Numbers of different types are compared after conversion, integers also as 32-bit floats. So a literal has a key for
    each form that it may be converted to, and a value a key for each form in which it may be compared. Keys may stand
    for more than one value, such as ``1`` and ``TRUE``: candidates are evaluated anyway.
    """
    if not isinstance(value, int) or -_SINGLE <= value <= _SINGLE:
        return (value,)
    return _keys(value)


def _keys(value: tree.Constant) -> tuple[tree.Constant, ...]:
    if isinstance(value, str):
        return (value,)
    double, single = float(value), to_float32(value)
    return (double,) if double == single else (double, single)

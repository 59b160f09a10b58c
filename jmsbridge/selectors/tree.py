"""The abstract syntax tree of a selector: immutable, comparable, and traversed without recursion.

Long chains are flat: ``a OR b OR c`` is one ``Or`` of three, ``a + b - c`` one ``Arithmetic`` of three. Parentheses
show only in the shape of the tree.
"""

from collections.abc import Callable, Iterator
from typing import ClassVar, Self, TypeAlias, TypeVar, final

import msgspec

__all__ = [
    "And",
    "Arithmetic",
    "Between",
    "Comparison",
    "Constant",
    "Identifier",
    "In",
    "IsNull",
    "Like",
    "Literal",
    "Node",
    "Not",
    "Or",
    "Signed",
    "fold",
    "identifiers",
    "walk",
]

Result = TypeVar("Result")
Constant: TypeAlias = bool | int | float | str
"""A canonical value: ``bool``, ``int`` (Java int), ``Long``, ``Float``, ``float`` (Java double) or ``str``."""


class Node(msgspec.Struct, frozen=True):
    """A node of the tree; ``_below`` are the fields that hold nodes, in the order of the text."""

    _below: ClassVar[tuple[str, ...]] = ()

    @property
    def children(self) -> tuple["Node", ...]:
        """The nodes directly below, in the order of the text."""
        return tuple(getattr(self, name) for name in self._below)

    def rebuilt(self, children: tuple["Node", ...]) -> Self:
        """The same node with other children, of the same number."""
        return msgspec.structs.replace(self, **dict(zip(self._below, children, strict=True)))


@final
class Literal(Node, frozen=True, eq=False):
    """A constant. Equal only to a literal of the same Java type: ``1``, ``1L``, ``1.0`` and ``TRUE`` all differ."""

    value: Constant

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Literal):
            return NotImplemented
        return self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def _identity(self) -> tuple[type, str]:
        return type(self.value), repr(self.value)  # the text tells 0.0 from -0.0


@final
class Identifier(Node, frozen=True):
    """A property or one of the six headers allowed in selectors."""

    name: str


@final
class Signed(Node, frozen=True):
    """A sign before an expression; the sign of a number literal is part of the literal."""

    _below = ("operand",)

    negative: bool
    operand: Node


@final
class Arithmetic(Node, frozen=True):
    """A chain of one precedence, evaluated from the left: all ``operators`` are ``+ -``, or all are ``* /``."""

    operators: tuple[str, ...]
    operands: tuple[Node, ...]

    @property
    def children(self) -> tuple[Node, ...]:
        """The operands, one more than there are operators."""
        return self.operands

    def rebuilt(self, children: tuple[Node, ...]) -> "Arithmetic":
        """The same operators between other operands."""
        return Arithmetic(self.operators, children)


@final
class Comparison(Node, frozen=True):
    """``operator`` is one of ``= <> < <= > >=``."""

    _below = ("left", "right")

    operator: str
    left: Node
    right: Node


@final
class Between(Node, frozen=True):
    """``value [NOT] BETWEEN low AND high``."""

    _below = ("value", "low", "high")

    value: Node
    low: Node
    high: Node
    negated: bool = False


class _OfIdentifier(Node, frozen=True):
    _below = ("identifier",)
    identifier: Identifier


@final
class In(_OfIdentifier, frozen=True):
    """``identifier [NOT] IN (choices)``."""

    choices: tuple[str, ...]
    negated: bool = False


@final
class Like(_OfIdentifier, frozen=True):
    """``identifier [NOT] LIKE pattern [ESCAPE escape]``."""

    pattern: str
    escape: str | None = None
    negated: bool = False


@final
class IsNull(_OfIdentifier, frozen=True):
    """``identifier IS [NOT] NULL``."""

    negated: bool = False


@final
class Not(Node, frozen=True):
    """``NOT operand``."""

    _below = ("operand",)

    operand: Node


class _Junction(Node, frozen=True):
    operands: tuple[Node, ...]

    @property
    def children(self) -> tuple[Node, ...]:
        """The operands, at least two."""
        return self.operands

    def rebuilt(self, children: tuple[Node, ...]) -> Self:
        """The same junction of other operands."""
        return type(self)(children)


@final
class And(_Junction, frozen=True):
    """``a AND b AND …``."""


@final
class Or(_Junction, frozen=True):
    """``a OR b OR …``."""


def fold(root: Node, combine: Callable[[Node, tuple[Result, ...]], Result]) -> Result:
    """Compute a result bottom-up: ``combine`` gets each node with the results of its children."""
    results: list[Result] = []
    pending: list[tuple[Node, int]] = [(root, -1)]
    while pending:
        node, count = pending.pop()
        children = node.children if count < 0 else ()
        if children:
            pending.append((node, len(children)))
            pending.extend((child, -1) for child in reversed(children))
            continue
        first = len(results) - max(count, 0)
        arguments = tuple(results[first:])
        del results[first:]
        results.append(combine(node, arguments))
    return results[0]


def walk(root: Node) -> Iterator[Node]:
    """Every node once, parents before children."""
    pending = [root]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(reversed(node.children))


def identifiers(root: Node) -> frozenset[str]:
    """The names that the selector refers to."""
    return frozenset(node.name for node in walk(root) if isinstance(node, Identifier))

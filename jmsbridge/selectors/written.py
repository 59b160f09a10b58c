"""Conditions written twice, for brokers that take unknown for false, or do not know NOT everywhere. Pure."""

from typing import Final, NamedTuple

from jmsbridge.selectors.tree import And, Node, Not, Or

__all__ = ["MIRRORED", "Written", "joined"]

MIRRORED: Final = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""The operator that takes the place of another one when the two sides are exchanged."""


class Written(NamedTuple):
    """Two conditions: one is true where the original is true, the other where it is false."""

    true: Node
    false: Node

    @property
    def opposite(self) -> "Written":
        """The two exchanged: the translation of its NOT."""
        return Written(self.false, self.true)


def joined(node: And | Or | Not, below: tuple[Written, ...]) -> Written:
    """The translation of AND, OR or NOT from those of its operands."""
    if isinstance(node, Not):
        return below[0].opposite
    other = Or if isinstance(node, And) else And
    return Written(node.rebuilt(tuple(each.true for each in below)), other(tuple(each.false for each in below)))

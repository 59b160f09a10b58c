"""What a way between the languages changes: each difference is listed with its reason, and must be met."""

from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import dataclass
from typing import Literal

from integration.interop.describing import Description
from integration.interop.matrix import Sample

__all__ = ["Change", "Difference", "Direction", "Loss", "Refusal", "expected"]

Direction = Literal["from Java", "to Java"]

Change = Callable[[Sample, Description, Description], None]
"""Takes a message, what is expected of it so far, to be changed, and what was seen where that cannot be foretold."""


@dataclass(frozen=True)
class Difference:
    """A message that arrives otherwise than it was sent."""

    direction: Direction
    reason: str
    change: Change
    always: bool = True
    """Whether a message of the matrix must meet it; others depend on the machine's speed, or concern answers."""


@dataclass(frozen=True)
class Loss:
    """A message that does not arrive: the reader gets the one behind it, or one of the errors."""

    direction: Direction
    sample: str
    reason: str
    errors: tuple[str, ...] = ()
    """Words of each error that the reader may get."""


@dataclass(frozen=True)
class Refusal:
    """A message that Java's client does not send."""

    sample: str
    reason: str
    error: str = ""
    """Words of its error; without them it is not tried, because it would end the client's connection."""


def expected(
    sample: Sample, sent: Description, seen: Description, differences: Iterable[Difference]
) -> tuple[Description, set[str]]:
    """How a message should arrive, and the reasons of the differences that it met."""
    found = deepcopy({**sent, **sample.asked})
    met: set[str] = set()
    for difference in differences:
        before = deepcopy(found)
        difference.change(sample, found, seen)
        if found != before:
            met.add(difference.reason)
    return found, met

"""Growing pauses: between attempts to reconnect, and before redeliveries."""

from collections.abc import Callable
from typing import TypeVar

import msgspec

from jmsbridge.config.java.model import Draft
from jmsbridge.config.java.rules import Rule, pop, to
from jmsbridge.config.java.text import Unlike, flag, milliseconds, whole
from jmsbridge.config.options import Options

__all__ = [
    "Reconnect",
    "Seconds",
    "apply_reconnect",
    "duration",
    "factor",
    "put_redelivery",
    "reconnect_rules",
    "truth",
]

T = TypeVar("T")
U = TypeVar("U")

Seconds = float | int | str
"""A duration, or a reference to one that is known only when the program runs."""


class Reconnect(msgspec.Struct, frozen=True):
    """The names of a Java client's options for the pauses between attempts to reconnect."""

    delay: str
    longest: str
    initial: str | None = None  # the pause before the first attempt, if it differs
    growing: str | None = None
    multiplier: str | None = None
    grows: bool = True


def apply_reconnect(draft: Draft, options: dict[str, str], names: Reconnect) -> None:
    """Apply the pauses together, since ours always double and one value limits the other."""
    delay, longest = _pause(draft, options, names.delay), _pause(draft, options, names.longest)
    initial = None if names.initial is None else _pause(draft, options, names.initial)
    if delay is None:
        delay = initial
    elif initial not in (None, delay):
        draft.drop(names.initial or "", f"the first attempt waits the same pause here, that of {names.delay}")
    grows = _grows(draft, options, names)
    if delay is None:
        if longest is not None:
            draft.set("reconnect_delay_max", longest, names.longest)
        return
    draft.set("reconnect_delay", delay, names.delay)
    if not grows:
        most: Seconds | None = delay
    elif isinstance(delay, str) or isinstance(longest, str):  # a reference cannot be compared
        most = longest
    else:
        most = max(delay, longest or Options().reconnect_delay_max)
    if most is not None and most != Options().reconnect_delay_max:
        draft.set("reconnect_delay_max", most, names.longest)


def reconnect_rules(names: Reconnect) -> dict[str, Rule]:
    """What ``apply_reconnect`` does, as a table for the documentation."""
    rules = {names.delay: to("reconnect_delay"), names.longest: to("reconnect_delay_max")}
    if names.initial is not None:
        rules[names.initial] = to("reconnect_delay", differs=f"if {names.delay} is not set")
    if names.growing is not None:
        rules[names.growing] = to("reconnect_delay_max", differs="off: the longest pause is the first one")
    if names.multiplier is not None:
        rules[names.multiplier] = to(
            "reconnect_delay_max", differs="1: the longest pause is the first one; else it doubles"
        )
    return rules


def put_redelivery(
    draft: Draft,
    by: str,
    *,
    first: Seconds,
    delay: Seconds,
    factor: float = 1,
    longest: Seconds | None = None,
) -> None:
    """Set all pauses before redeliveries, since a Java client's defaults differ from ours.

    These are the first, the second, the factor for each further one, and the longest; without the longest, the pauses
    stay constant, or grow without limit.
    """
    if longest is None:
        longest = delay if factor == 1 else "unlimited"
    pauses = {"delay_first": first, "delay": delay, "factor": factor, "delay_max": longest}
    for name, value in pauses.items():
        draft.set(f"redelivery_{name}", value if isinstance(value, str) else whole(value), by)


def duration(
    draft: Draft,
    options: dict[str, str],
    name: str,
    default: float | None = None,
    read: Callable[[str], Seconds] = milliseconds,
) -> Seconds | None:
    """Take out a duration; an invalid one is noted and treated as missing."""
    return _taken(draft, options, name, default, read, "not a duration")


def factor(draft: Draft, options: dict[str, str], name: str, default: float) -> float:
    """Take out a multiplier."""
    return _taken(draft, options, name, default, float, "not a number")


def truth(draft: Draft, options: dict[str, str], name: str, default: bool) -> bool:
    """Take out a truth value; one that is known only when the program runs is treated as missing."""
    value = _taken(draft, options, name, default, flag, "neither true nor false")
    if isinstance(value, str):
        draft.drop(name, "its value is known only when the program runs")
        return default
    return value


def _taken(draft: Draft, options: dict[str, str], name: str, default: T, read: Callable[[str], U], bad: str) -> T | U:
    text = pop(options, name)
    if text is None:
        return default
    try:
        return read(text)
    except Unlike as error:
        draft.drop(name, str(error))
    except ValueError:
        draft.drop(name, f"its value is {bad}")
    return default


def _pause(draft: Draft, options: dict[str, str], name: str) -> Seconds | None:
    value = duration(draft, options, name)
    if value == 0:
        draft.drop(name, "there is always a pause between two attempts here")
        return None
    return value


def _grows(draft: Draft, options: dict[str, str], names: Reconnect) -> bool:
    grows = names.grows if names.growing is None else truth(draft, options, names.growing, names.grows)
    if names.multiplier is None or names.multiplier.lower() not in (name.lower() for name in options):
        return grows
    multiplier = factor(draft, options, names.multiplier, 2)
    if names.growing is None:
        grows = multiplier != 1
    if grows and multiplier != 2:
        draft.note(names.multiplier, "changed", "the pause doubles with each attempt here")
    return grows

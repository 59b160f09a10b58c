"""Pauses that grow: between tries to connect, and before redeliveries."""

from collections.abc import Callable

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

Seconds = float | int | str
"""A duration, or a reference to one that only the running program knows."""


class Reconnect(msgspec.Struct, frozen=True):
    """The names under which a Java client has the pauses between its tries to connect."""

    delay: str
    longest: str
    initial: str | None = None  # the pause before the first try, where it is another one
    growing: str | None = None
    multiplier: str | None = None
    grows: bool = True


def apply_reconnect(draft: Draft, options: dict[str, str], names: Reconnect) -> None:
    """Take the pauses over together, since ours always double and one value limits the other."""
    delay, longest = _pause(draft, options, names.delay), _pause(draft, options, names.longest)
    initial = None if names.initial is None else _pause(draft, options, names.initial)
    if delay is None:
        delay = initial
    elif initial not in (None, delay):
        draft.drop(names.initial or "", f"the first try comes after the same pause here, that of {names.delay}")
    grows = _grows(draft, options, names)
    if delay is None:
        if longest is not None:
            draft.set("reconnect_delay_max", longest, names.longest)
        return
    draft.set("reconnect_delay", delay, names.delay)
    if not grows:
        most: Seconds | None = delay
    elif isinstance(delay, str) or isinstance(longest, str):  # A reference: nothing can be compared.
        most = longest
    else:
        most = max(delay, longest or Options().reconnect_delay_max)
    if most is not None and most != Options().reconnect_delay_max:
        draft.set("reconnect_delay_max", most, names.longest)


def reconnect_rules(names: Reconnect) -> dict[str, Rule]:
    """The same for the documentation."""
    rules = {names.delay: to("reconnect_delay"), names.longest: to("reconnect_delay_max")}
    if names.initial is not None:
        rules[names.initial] = to("reconnect_delay", differs="where the other one is not set")
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
    """Write all pauses before redeliveries, since a Java client's defaults are other ones than ours.

    The first, the second, how many times as long each further one is, and the longest; without the last one the pauses
    stay as they are, or grow without limit.
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
    """Take out a duration; what cannot be read is said, and is as if it were not there."""
    text = pop(options, name)
    if text is None:
        return default
    try:
        return read(text)
    except Unlike as error:
        draft.drop(name, str(error))
    except ValueError:
        draft.drop(name, "its value is no duration")
    return default


def factor(draft: Draft, options: dict[str, str], name: str, default: float) -> float:
    """Take out a multiplier."""
    text = pop(options, name)
    try:
        return default if text is None else float(text)
    except ValueError:
        draft.drop(name, "its value is no number")
        return default


def truth(draft: Draft, options: dict[str, str], name: str, default: bool) -> bool:
    """Take out a truth value; one that only the running program knows is as if it were not there."""
    text = pop(options, name)
    try:
        value = default if text is None else flag(text)
    except ValueError:
        draft.drop(name, "its value is neither true nor false")
        return default
    if isinstance(value, str):
        draft.drop(name, "its value is known only when the program runs")
        return default
    return value


def _pause(draft: Draft, options: dict[str, str], name: str) -> Seconds | None:
    value = duration(draft, options, name)
    if value == 0:
        draft.drop(name, "there is always a pause between two tries here")
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
        draft.note(names.multiplier, "changed", "the pause doubles from try to try here")
    return grows

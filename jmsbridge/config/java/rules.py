"""Tables from a Java client's options to ours, and how they are applied."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from jmsbridge.config.java.model import CLIENTS, Draft
from jmsbridge.config.java.text import flag, int_or_reference, milliseconds, whole
from jmsbridge.config.options import Options

__all__ = [
    "ENDLESS",
    "PREFETCH",
    "TLS",
    "Backoff",
    "Rule",
    "Table",
    "apply",
    "apply_backoff",
    "differs",
    "none",
    "pop",
    "take_first",
    "to",
]

TLS = "keys and certificates are files of a TLS library's own form (PEM) here: export them from the Java key store"
"""The reason that most options of TLS share."""
ENDLESS = "there is no wait without a deadline here; the default stays"


class Rule(msgspec.Struct, frozen=True):
    """What becomes of one Java option.

    With ``option``, that one of ours is set to what ``read`` makes of the text, and ``reason`` says what differs.
    Without, there is no equivalent for the ``reason``, unless the value is ``fine``, which is how we do it anyway.
    """

    option: str | None = None
    read: Callable[[str], Any] = str
    reason: str = ""
    fine: str | None = None


Table = Mapping[str, Rule]
"""Rules by the name of the Java option; one that ends with ``*`` is for all that begin so."""


def to(option: str, read: Callable[[str], Any] = str, differs: str = "") -> Rule:
    """An option of ours is the equivalent."""
    return Rule(option, read, differs)


def none(reason: str) -> Rule:
    """There is no equivalent."""
    return Rule(reason=reason)


def differs(fine: str, reason: str) -> Rule:
    """There is no option, and none is needed where the value is the one that holds here anyway."""
    return Rule(reason=reason, fine=fine)


def apply(draft: Draft, table: Table, options: Mapping[str, str], fold: Callable[[str], str] = str.lower) -> None:
    """Take every option over, or say why not; names that ``fold`` makes equal are equal."""
    folded = {fold(name): rule for name, rule in table.items()}
    for name, text in options.items():
        rule = _found(folded, fold(name))
        if rule is None:
            draft.drop(name, f"not known as an option of {CLIENTS[draft.client]}")
        elif rule.option is None:
            if rule.fine is None or rule.fine != text.strip().lower():
                draft.drop(name, rule.reason)
        else:
            _take(draft, rule, rule.option, name, text)


_ALL_ALIKE = "holds for consumers of queues and topics alike; a session or consumer may have its own"

PREFETCH = {
    "jms.prefetchPolicy.all": "",
    "jms.prefetchPolicy.queuePrefetch": _ALL_ALIKE,
    "jms.prefetchPolicy.topicPrefetch": _ALL_ALIKE,
    "jms.prefetchPolicy.durableTopicPrefetch": _ALL_ALIKE,
}
"""The prefetch settings of Qpid JMS and ActiveMQ Classic, in the order in which one of them becomes ours."""


def take_first(draft: Draft, options: dict[str, str], names: Mapping[str, str]) -> None:
    """Of several prefetch settings the first one becomes ours; the values say what differs."""
    for name, remark in names.items():
        text = pop(options, name)
        if text is None:
            continue
        if draft.get("prefetch") is None:
            apply(draft, {name: to("prefetch", int_or_reference, remark)}, {name: text})
        elif str(draft.get("prefetch")) != text.strip():
            draft.drop(name, "there is one prefetch for all kinds of consumers; a consumer may have its own")


def _found(table: Mapping[str, Rule], name: str) -> Rule | None:
    if name in table:
        return table[name]
    return next((rule for key, rule in table.items() if key.endswith("*") and name.startswith(key[:-1])), None)


def _take(draft: Draft, rule: Rule, option: str, name: str, text: str) -> None:
    if option == "user":
        draft.user(text)
    elif option == "password":
        draft.password(text, name)
    else:
        try:
            value = rule.read(text)
        except ValueError as error:
            without_limit = "without limit" in str(error)
            draft.drop(name, ENDLESS if without_limit else f"its value cannot be read as one of {option}")
            return
        if value is not None:
            draft.set(option, value, name)
            if rule.reason:
                draft.note(name, "changed", rule.reason)


def pop(options: dict[str, str], name: str) -> str | None:
    """Take one option out, whatever the case of its letters."""
    key = next((key for key in options if key.lower() == name.lower()), None)
    return None if key is None else options.pop(key)


class Backoff(msgspec.Struct, frozen=True):
    """The names under which a Java client has its growing pauses, and which of ours they are."""

    ours: str  # "reconnect_delay" or "redelivery_delay"; the longest pause is …_max
    delays: tuple[str, ...]  # the first that is set counts
    longest: str
    growing: str | None = None
    multiplier: str | None = None
    grows: bool = True


def apply_backoff(draft: Draft, options: dict[str, str], names: Backoff) -> None:
    """Take the pauses over together, since ours always double and one value limits the other."""
    delay = longest = None
    for name in names.delays:
        given = _duration(draft, name, pop(options, name))
        delay = delay or given
    longest = _duration(draft, names.longest, pop(options, names.longest))
    grows = _grows(draft, options, names)
    default: float = getattr(Options(), f"{names.ours}_max")
    if delay is None:
        if longest is not None:
            draft.set(f"{names.ours}_max", longest, names.longest)
        return
    draft.set(names.ours, delay, names.delays[0])
    if isinstance(delay, str):  # A reference: nothing can be compared.
        most = delay if not grows else longest
    elif not grows:
        most = delay
    else:
        most = longest if isinstance(longest, str) else max(delay, longest or default)
    if most is not None and most != default:
        draft.set(f"{names.ours}_max", most, names.longest)


def _duration(draft: Draft, name: str, text: str | None) -> float | int | str | None:
    if text is None:
        return None
    try:
        value = milliseconds(text)
    except ValueError as error:
        limitless = "without limit" in str(error)
        draft.drop(name, "the pauses here have a limit" if limitless else "its value is no number of milliseconds")
        return None
    if value == 0:
        draft.drop(name, "there is always a pause between two tries here")
        return None
    return value if isinstance(value, str) else whole(value)


def _grows(draft: Draft, options: dict[str, str], names: Backoff) -> bool:
    growing = pop(options, names.growing) if names.growing else None
    grows = names.grows
    if growing is not None:
        try:
            grows = flag(growing) is True
        except ValueError:
            draft.drop(names.growing or "", "its value is neither true nor false")
    text = pop(options, names.multiplier) if names.multiplier else None
    if text is None:
        return grows
    try:
        multiplier = float(text)
    except ValueError:
        multiplier = 0.0
    if names.growing is None:
        grows = multiplier != 1
    if grows and multiplier != 2:
        draft.note(names.multiplier or "", "changed", "the pause doubles from try to try here")
    return grows

"""Tables from a Java client's options to ours, and how they are applied."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from jmsbridge.config.java.model import CLIENTS, Draft
from jmsbridge.config.java.text import Unlike, count
from jmsbridge.config.suggest import nearest

__all__ = [
    "PREFETCH",
    "TLS",
    "Rule",
    "Table",
    "alike",
    "apply",
    "differs",
    "none",
    "pop",
    "said",
    "take_prefetch",
    "to",
]

TLS = "keys and certificates are PEM files here: export them from the Java key store"
"""The reason that most options of TLS share."""


class Rule(msgspec.Struct, frozen=True):
    """How one Java option is translated.

    With ``option``, our option of that name is set to the result of ``read``, and ``reason`` says what differs. Without
    it there is no equivalent, for the given ``reason``; with one of the values ``fine`` none is needed.
    """

    option: str | None = None
    read: Callable[[str], Any] = str
    reason: str = ""
    fine: tuple[str, ...] = ()


Table = Mapping[str, Rule]
"""Rules by the name of the Java option; a name that ends with ``*`` is for a group without equivalents.

If two become the same option of ours, the first one in the table wins.
"""


def to(option: str, read: Callable[[str], Any] = str, differs: str = "") -> Rule:
    """An option of ours is the equivalent."""
    return Rule(option, read, differs)


def none(reason: str) -> Rule:
    """There is no equivalent."""
    return Rule(reason=reason)


def differs(fine: str, reason: str, *more: str) -> Rule:
    """There is no equivalent, and none is needed for the value ``fine``, which is what happens here anyway."""
    return Rule(reason=reason, fine=(fine, *more))


def alike(names: str, rule: Rule, prefix: str = "") -> dict[str, Rule]:
    """The same rule for several names, separated by spaces."""
    return {f"{prefix}{name}": rule for name in names.split()}


def apply(
    draft: Draft,
    table: Table,
    options: Mapping[str, str],
    first: Table | None = None,
    fold: Callable[[str], str] = str.lower,
) -> None:
    """Apply the rule of every option, or note why not; names are compared after ``fold``.

    ``first`` are the options that were read before: only their names are used here.
    """
    folded = {fold(name): (number, rule) for number, (name, rule) in enumerate(table.items())}
    found = {name: _found(folded, fold(name)) for name in options}
    for name in sorted(options, key=lambda each: found[each][0]):
        rule, text = found[name][1], options[name]
        if rule is None:
            names = (each.removesuffix(".*").removesuffix("*") for each in (*(first or {}), *table))
            hint = nearest(name, names, "options")
            whose = f"not a known option of {CLIENTS[draft.client]}"
            draft.note(name, "unknown", f"{whose}; {hint}" if hint.startswith("did") else whose)
        elif rule.option is not None:
            _take(draft, rule, rule.option, name, text)
        elif text.strip().lower() not in rule.fine:
            draft.drop(name, rule.reason)


_ALL_ALIKE = "for consumers of queues and topics alike; a session or consumer may have its own"

PREFETCH: Table = {
    "jms.prefetchPolicy.all": to("prefetch", count),
    "jms.prefetchPolicy.queuePrefetch": to("prefetch", count, _ALL_ALIKE),
    "jms.prefetchPolicy.topicPrefetch": to("prefetch", count, _ALL_ALIKE),
    "jms.prefetchPolicy.durableTopicPrefetch": to("prefetch", count, _ALL_ALIKE),
}
"""The prefetch settings of Qpid JMS and ActiveMQ Classic, by priority: the first one becomes ours."""


def take_prefetch(draft: Draft, options: dict[str, str]) -> None:
    """Apply the first of several prefetch settings."""
    for name, rule in PREFETCH.items():
        text = pop(options, name)
        if text is None:
            continue
        if draft.get("prefetch") is None:
            apply(draft, {name: rule}, {name: text})
        elif str(draft.get("prefetch")) != text.strip():
            draft.drop(name, "there is only one prefetch for all kinds of consumers; a consumer may have its own")


def _found(table: Mapping[str, tuple[int, Rule]], name: str) -> tuple[int, Rule | None]:
    groups = (found for key, found in table.items() if key.endswith("*") and name.startswith(key[:-1]))
    return table.get(name) or next(groups, (len(table), None))


def _take(draft: Draft, rule: Rule, option: str, name: str, text: str) -> None:
    if option == "user":
        draft.user(text, name)
    elif option == "password":
        draft.password(text, name)
    else:
        try:
            value = rule.read(text)
        except Unlike as error:
            draft.drop(name, str(error))
            return
        except ValueError:
            draft.drop(name, f"its value is not valid for {option}")
            return
        if value is not None and draft.set(option, value, name) and rule.reason:
            draft.note(name, "changed", rule.reason)


def pop(options: dict[str, str], name: str) -> str | None:
    """Take one option out, ignoring case."""
    key = next((key for key in options if key.lower() == name.lower()), None)
    return None if key is None else options.pop(key)


def said(options: Mapping[str, str], name: str) -> bool:
    """Whether an option is present and true."""
    return any(key.lower() == name.lower() and text.strip().lower() == "true" for key, text in options.items())

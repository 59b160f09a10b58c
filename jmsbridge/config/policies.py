"""Redelivery per destination: the tables of profiles, URLs and calls, and the policy for a name."""

from collections.abc import Mapping
from typing import Any

import msgspec

from jmsbridge.config.kinds import convert_option
from jmsbridge.config.layers import Given, given
from jmsbridge.config.masking import MASK
from jmsbridge.config.options import Options
from jmsbridge.config.redelivery import RedeliveryPolicy
from jmsbridge.config.suggest import nearest
from jmsbridge.errors import ConfigurationError

__all__ = ["policy_for", "read_policies"]

_GLOBAL = {
    "first_delay": "redelivery_delay_first",
    "delay": "redelivery_delay",
    "factor": "redelivery_factor",
    "delay_max": "redelivery_delay_max",
    "max_redeliveries": "max_redeliveries",
}
"""For each field of a policy, the option used if no entry for the destination sets it."""
_QUEUES = ("dead_letter_queue", "expiry_queue")
_ANY = "*"


def policy_for(options: Options, name: str, topic: bool) -> RedeliveryPolicy:
    """The complete policy for the destination of that name.

    Of several entries that match, the most specific one: the name itself, then the longest prefix. Callers keep the
    result, since each call searches again.
    """
    key = _matching(options.redelivery, f"{'topic' if topic else 'queue'}:{name}")
    return _for_everything(options) if key is None else options.redelivery[key]


def _for_everything(options: Options) -> RedeliveryPolicy:
    """The policy of destinations without an entry."""
    return RedeliveryPolicy(**{field: getattr(options, option) for field, option in _GLOBAL.items()})


def read_policies(tables: Given, options: Options, origins: dict[str, str]) -> dict[str, RedeliveryPolicy]:
    """The complete policies: a field that an entry does not set comes from the next less specific one.

    Adds the origin of each value to ``origins``. ConfigurationError names what is wrong.
    """
    where = f"option 'redelivery' ({tables.origin})"
    if not isinstance(tables.value, dict):
        raise ConfigurationError(f"{where} must be a table of destinations, not {type(tables.plain).__name__}")
    names = {_pattern(name, each.origin): name for name, each in tables.value.items()}
    if len(names) < len(tables.value):
        raise ConfigurationError(f"{where} has two entries for one destination")
    found: dict[str, RedeliveryPolicy] = {}
    for pattern in sorted(names, key=_rank):  # less specific entries first
        name = names[pattern]
        table = _table(name, tables.value[name])
        below = _matching(found, pattern.removesuffix(_ANY))
        base = _for_everything(options) if below is None else found[below]
        values = {field: _field(name, field, each) for field, each in table.items()}
        found[pattern] = msgspec.structs.replace(base, **values)
        for field in RedeliveryPolicy.__struct_fields__:
            inherited = _GLOBAL.get(field, "") if below is None else _dotted(below, field)
            own = table[field].origin if field in table else origins.get(inherited, "default")
            origins[_dotted(pattern, field)] = own
    return {_shown(pattern): policy for pattern, policy in found.items()}


def _table(name: str, item: Given) -> dict[str, Given]:
    """The fields that an entry sets."""
    value = given(msgspec.structs.asdict(item.value), item.origin) if isinstance(item.value, RedeliveryPolicy) else item
    if isinstance(value.value, dict):
        return value.value
    where = f"option 'redelivery' ({item.origin})"
    if name in _GLOBAL:
        raise ConfigurationError(f"{where}: to set {name!r} for all destinations, use the option {_GLOBAL[name]!r}")
    raise ConfigurationError(f"{where}: {name!r} must be a table, such as {{ delay = 3, max_redeliveries = 9 }}")


def _field(name: str, field: str, item: Given) -> Any:
    if field not in RedeliveryPolicy.__struct_fields__:
        hint = nearest(field, RedeliveryPolicy.__struct_fields__, "fields of a redelivery policy")
        raise ConfigurationError(f"option 'redelivery' ({item.origin}) sets {field!r} for {name!r}: {hint}")
    try:
        value = convert_option(RedeliveryPolicy, field, item.plain)
        return _queue(value) if field in _QUEUES else value
    except ValueError as error:
        why = str(error)
    shown = MASK if item.secret else repr(item.plain)
    raise ConfigurationError(f"option 'redelivery.{name}.{field}' ({item.origin}) cannot be {shown}: {why}")


def _queue(value: str | None) -> str | None:
    """The name of a queue, which may have the prefix of its kind."""
    if value is None:
        return None
    name = value.removeprefix("queue:")
    if not name or value.startswith("topic:"):
        raise ValueError("expected the name of a queue")
    return name


def _pattern(name: str, origin: str) -> str:
    """The name with its kind, which is a queue if not given."""
    if not isinstance(name, str):
        raise ConfigurationError(f"option 'redelivery' ({origin}): a destination is given as text, not {name!r}")
    kind = next((kind for kind in ("queue:", "topic:") if name.startswith(kind)), "")
    rest = name[len(kind) :]
    if not rest:
        raise ConfigurationError(f"option 'redelivery' ({origin}): {name!r} is not the name of a destination")
    if _ANY in rest[:-1]:
        raise ConfigurationError(f"option 'redelivery' ({origin}): in {name!r} '*' is allowed only at the end")
    return f"{kind or 'queue:'}{rest}"


def _shown(pattern: str) -> str:
    """The pattern as users write it: without the prefix of a queue, unless its name looks like a topic's."""
    name = pattern.removeprefix("queue:")
    return pattern if name.startswith(("queue:", "topic:")) else name


def _dotted(pattern: str, field: str) -> str:
    return f"redelivery.{_shown(pattern)}.{field}"


def _rank(pattern: str) -> tuple[int, bool]:
    """How specific a pattern is; a name is more specific than the same name with ``*``."""
    return len(pattern.removesuffix(_ANY)), not pattern.endswith(_ANY)


def _matching(patterns: Mapping[str, Any], name: str) -> str | None:
    """The key of the most specific pattern that matches a name with its kind."""
    best: str | None = None
    for key in patterns:
        pattern = _pattern(key, "")
        fits = name.startswith(pattern[:-1]) if pattern.endswith(_ANY) else name == pattern
        if fits and (best is None or _rank(pattern) > _rank(_pattern(best, ""))):
            best = key
    return best

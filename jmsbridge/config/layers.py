"""The layers of configuration (call, URL, profile), in which each value has its origin."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

__all__ = ["Given", "given", "merged", "nested", "option_path"]

_PER_DESTINATION = "redelivery"


class Given(msgspec.Struct, frozen=True):
    """One value and its origin. The value of a table is a dictionary of these."""

    value: Any
    origin: str
    secret: bool = False

    @property
    def plain(self) -> Any:
        """The value without origins."""
        if isinstance(self.value, dict):
            return {name: each.plain for name, each in self.value.items()}
        return self.value

    def origins(self, name: str) -> Iterator[tuple[str, str]]:
        """Origins of the value, and of each value below it, under their names in a URL."""
        yield name, self.origin
        if isinstance(self.value, dict):
            for key, each in self.value.items():
                yield from each.origins(f"{name}.{key}")


def given(value: Any, origin: str, secret: bool = False) -> Given:
    """A value of one layer, with an origin for each entry of a table."""
    if isinstance(value, Mapping):
        value = {name: given(each, origin, secret) for name, each in value.items()}
    return Given(value, origin, secret)


def merged(lower: Given | None, upper: Given) -> Given:
    """The upper layer's value; two tables are merged key by key."""
    if lower is None or not (isinstance(lower.value, dict) and isinstance(upper.value, dict)):
        return upper
    value = dict(lower.value)
    for name, each in upper.value.items():
        value[name] = merged(value.get(name), each)
    return Given(value, upper.origin, lower.secret or upper.secret)


def option_path(name: str) -> list[str]:
    """The keys that a name in a URL stands for: ``emulation.browse``, ``redelivery.NAME.delay``.

    The name of a destination may contain dots.
    """
    head, dot, rest = name.partition(".")
    if head == _PER_DESTINATION:
        destination, second, field = rest.rpartition(".")
        return [head, destination, field] if second else [head, rest]
    return [head, rest] if dot else [head]


def nested(options: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Options with dotted names as nested tables; if one is given both as value and as table, the later wins."""
    tables: dict[str, Any] = {}
    for name, value in options:
        *path, last = option_path(name)
        table = tables
        for key in path:
            if not isinstance(table.get(key), dict):
                table[key] = {}
            table = table[key]
        table[last] = value
    return tables

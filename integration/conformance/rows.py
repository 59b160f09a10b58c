"""The lines of the table as actions: the effect of a Java method on a Python object."""

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

from integration.conformance import special
from jmsbridge.java_api import Row

__all__ = ["action"]


def action(row: Row, faces: Any) -> Callable[..., Any]:
    """A function of the Python object and the converted arguments."""
    if row.reads:
        return operator.attrgetter(row.reads)
    if row.writes:
        return partial(_write, row.writes)
    if row.python.startswith("!"):
        return partial(getattr(special, row.python[1:]), faces)
    names = row.arguments
    return partial(_call, row.calls, names.count("_"), tuple(name for name in names if name != "_"))


def _write(name: str, target: Any, value: Any) -> None:
    setattr(target, name, value)


def _call(name: str, places: int, names: tuple[str, ...], target: Any, *values: Any) -> Any:
    return getattr(target, name)(*values[:places], **dict(zip(names, values[places:], strict=True)))

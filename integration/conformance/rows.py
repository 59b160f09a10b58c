"""The parsed lines of the table: the types of a Java method, and its effect on a Python object."""

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from integration.conformance import special
from integration.conformance.table.interfaces import INTERFACES

__all__ = ["Row", "rows"]

_LINE = re.compile(r"(?P<returns>\S+)\s+(?P<java>\w+)\((?P<takes>[^)]*)\)\s+(?P<python>\S.*)")
_CALL = re.compile(r"(\w+)\((.*)\)")


@dataclass(frozen=True)
class Row:
    """One method: names of converters, and the Python side."""

    returns: str
    java: str
    takes: tuple[str, ...]
    python: str

    @property
    def reads(self) -> str:
        """The attribute that is read; empty where it is not one."""
        return self.python if self.python.isidentifier() else ""

    @property
    def writes(self) -> str:
        """The attribute that is set; empty where none is."""
        return self.python.removesuffix(" =") if self.python.endswith(" =") else ""

    @property
    def calls(self) -> str:
        """The method that is called; empty where none is."""
        match = _CALL.fullmatch(self.python)
        return match[1] if match else ""

    def action(self, faces: Any) -> Callable[..., Any]:
        """A function of the Python object and the converted arguments."""
        if self.reads:
            return operator.attrgetter(self.reads)
        if self.writes:
            return partial(_write, self.writes)
        if self.python.startswith("!"):
            return partial(getattr(special, self.python[1:]), faces)
        match = _CALL.fullmatch(self.python)
        if match is None:
            raise ValueError(f"not understood: {self.python}")
        names = match[2].replace(" ", "").split(",") if match[2] else []
        if len(names) != len(self.takes):
            raise ValueError(f"{self.java} takes {len(self.takes)} arguments: {self.python}")
        return partial(_call, match[1], names.count("_"), tuple(name for name in names if name != "_"))


def _write(name: str, target: Any, value: Any) -> None:
    setattr(target, name, value)


def _call(name: str, places: int, names: tuple[str, ...], target: Any, *values: Any) -> Any:
    return getattr(target, name)(*values[:places], **dict(zip(names, values[places:], strict=True)))


@cache
def rows(interface: str) -> tuple[Row, ...]:
    """The lines of one interface, without inherited ones."""
    return tuple(_parsed(line) for line in INTERFACES[interface].splitlines() if line.strip())


def _parsed(line: str) -> Row:
    match = _LINE.fullmatch(line.strip())
    if match is None:
        raise ValueError(f"not understood: {line}")
    takes = tuple(name.strip() for name in match["takes"].split(",")) if match["takes"] else ()
    return Row(match["returns"], match["java"], takes, match["python"].strip())

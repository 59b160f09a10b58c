"""The parsed lines of the table: the types of a Java method, and its counterpart in Python."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from jmsbridge.java_api.interfaces import INTERFACES, PARENTS

__all__ = ["Row", "inherited", "rows"]

_LINE = re.compile(r"(?P<returns>\S+)\s+(?P<java>\w+)\((?P<takes>[^)]*)\)\s+(?P<python>\S.*)")
_CALL = re.compile(r"(\w+)\((.*)\)")

# What a reader needs in place of the face's own functions, which convert for Java.
_FOR_READERS = {
    "!close_connection": "close()",
    "!object_body": "get_body(_)",
    "!object_fits": "is_body_assignable_to(_)",
    "!read_bytes": "read_bytes(_)",
    "__str__()": "str(_)",
    "java_stream": "object",
}


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

    @property
    def arguments(self) -> list[str]:
        """The arguments of the call: ``_`` for one that is given by place, else its name."""
        match = _CALL.fullmatch(self.python)
        if match is None:
            raise ValueError(f"not understood: {self.python}")
        names = match[2].replace(" ", "").split(",") if match[2] else []
        if len(names) != len(self.takes):
            raise ValueError(f"{self.java} takes {len(self.takes)} arguments: {self.python}")
        return names

    @property
    def shown(self) -> str:
        """The Python side as a program writes it: ``priority = …``, ``send(…, priority=…)``."""
        text = _FOR_READERS.get(self.python, self.python)
        if text.endswith(" ="):
            return f"{text} …"
        match = _CALL.fullmatch(text)
        if match is None or not match[2]:
            return text
        names = [name.strip() for name in match[2].split(",")]
        return f"{match[1]}({', '.join('…' if name == '_' else f'{name}=…' for name in names)})"


@cache
def rows(interface: str) -> tuple[Row, ...]:
    """The lines of one interface, without inherited ones."""
    return tuple(_parsed(line) for line in INTERFACES[interface].splitlines() if line.strip())


def inherited(interface: str) -> Iterator[Row]:
    """The lines of one interface, then those of the interfaces that it extends."""
    yield from rows(interface)
    for parent in PARENTS.get(interface, ()):
        yield from inherited(parent)


def _parsed(line: str) -> Row:
    match = _LINE.fullmatch(line.strip())
    if match is None:
        raise ValueError(f"not understood: {line}")
    takes = tuple(name.strip() for name in match["takes"].split(",")) if match["takes"] else ()
    return Row(match["returns"], match["java"], takes, match["python"].strip())

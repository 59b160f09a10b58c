"""Finds the line of the table for a call: by the type of its receiver, its name, and what is given to it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from jmsbridge.java_api import INTERFACES, LEFT_OUT, PARENTS, inherited
from jmsbridge.java_api.others import others
from jmsbridge.migrate.names import is_exception

__all__ = ["Method", "method_of"]

# The words of the table that are no names of Java types.
_JAVA = {
    "ms": "long",
    "timeout": "long",
    "buffer": "byte[]",
    "TextBody": "String",
    "BytesBody": "byte[]",
    "MapBody": "Map",
    "ObjectBody": "Serializable",
}
_NOTHING = "none: XA and the facilities of application servers are not supported"


@dataclass(frozen=True)
class Method:
    """A method of the API or of Spring: its class, its signature, the type of its result, and the Python for it."""

    owner: str
    name: str
    takes: tuple[str, ...] | None
    returns: str
    shown: str

    @property
    def signature(self) -> str:
        """``Session.createQueue(String)``."""
        inside = "…" if self.takes is None else ", ".join(_JAVA.get(each, each) for each in self.takes)
        return f"{self.owner}.{self.name}({inside})"


def _is_a(kind: str, other: str) -> bool:
    """Whether one interface of the API is, or extends, another."""
    if kind == other:
        return True
    if other == "Destination" and kind in {"Queue", "Topic"}:
        return True
    return any(_is_a(parent, other) for parent in PARENTS.get(kind, ()))


def method_of(kind: str, name: str, given: Sequence[str] | None) -> Method | None:
    """The method that a call on this type means; ``given`` has the types of the arguments, empty where unknown.

    None for ``given``: any method of that name, as a method reference says it. None if the type has no such method.
    """
    found = [each for each in _candidates(kind, name) if given is None or each.takes is None or _fits(each, given)]
    if found and given is not None:
        return max(found, key=lambda each: _score(each, given))
    return found[0] if found else None


def _fits(method: Method, given: Sequence[str]) -> bool:
    return method.takes is not None and len(method.takes) == len(given)


def _score(method: Method, given: Sequence[str]) -> int:
    return sum(_closeness(wanted, each) for wanted, each in zip(method.takes or (), given, strict=False))


def _closeness(wanted: str, given: str) -> int:
    if not given or given.startswith("project:"):
        return 0
    known = wanted in INTERFACES or wanted in LEFT_OUT
    return 2 if _is_a(given, _JAVA.get(wanted, wanted)) else -2 if known or wanted.endswith("Body") else 0


def _candidates(kind: str, name: str) -> Iterator[Method]:
    if kind in INTERFACES:
        for row in inherited(kind):
            if row.java == name:
                returns = kind if row.returns == "self" else row.returns
                known = returns if returns in INTERFACES or returns == "String" else ""
                unit = ", in seconds" if {"ms", "timeout"} & {row.returns, *row.takes} else ""
                yield Method(kind, name, row.takes, known, row.shown + unit)
    for other in others("JMSException" if is_exception(kind) else kind):
        if other.java == name:
            yield Method(kind, name, other.takes, other.returns, other.shown)
    if kind in LEFT_OUT and kind.startswith(("XA", "Server", "ConnectionConsumer")):
        yield Method(kind, name, None, "", _NOTHING)

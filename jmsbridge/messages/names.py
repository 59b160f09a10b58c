"""Names of properties (sections 3.5.1 and 3.8.1.1).

A check costs microseconds, so a bounded number of valid names is remembered.
"""

import re
import unicodedata
from collections.abc import Callable
from typing import Any

from jmsbridge.errors import MessageFormatException

__all__ = ["ADMITTED", "DELIVERY_COUNT", "admit", "check_field_name", "check_passed"]

DELIVERY_COUNT = "JMSXDeliveryCount"
ADMITTED: set[str] = set()
"""Names that were checked; a setter looks here before it calls ``admit``."""

_MOST_ADMITTED = 4096
# In the specification's upper case only. Selectors cannot name a property "true" either, but Java programs have such
# properties, and all providers accept them.
_RESERVED = frozenset(("NULL", "TRUE", "FALSE", "NOT", "AND", "OR", "BETWEEN", "LIKE", "IN", "IS", "ESCAPE"))
_PLAIN = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_START = frozenset({"Lu", "Ll", "Lt", "Lm", "Lo", "Nl", "Sc", "Pc"})
_PART = _START | {"Nd", "Mn", "Mc", "Cf"}
_IGNORABLE = frozenset(map(chr, (*range(0x09), *range(0x0E, 0x1C), *range(0x7F, 0xA0))))
_TYPED: dict[str, type] = {"JMSXGroupID": str, "JMSXGroupSeq": int}


def admit(name: Any, canonical: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Accept a property name, or raise ValueError; returns ``canonical``, for a JMSX group property with its check.

    Names that begin with ``JMS`` belong to header fields, except ``JMSX…`` and the vendors' ``JMS_…``.
    """
    if not isinstance(name, str) or not name:
        raise ValueError("a property needs a name")
    needed = _TYPED.get(name)
    if needed is not None:
        return lambda value: _typed(name, needed, canonical(value))
    if _PLAIN.fullmatch(name) is None and not _is_identifier(name):
        raise ValueError(f"{name[:80]!r} is not a property name: it must be an identifier of the selector language")
    if name in _RESERVED:
        raise ValueError(f"{name!r} is not a property name: it is a reserved word of the selector language")
    check_passed(name)
    if len(ADMITTED) >= _MOST_ADMITTED:
        ADMITTED.clear()
    if len(name) <= 256:
        ADMITTED.add(name)
    return canonical


def check_passed(name: str) -> None:
    """ValueError for a name that no property has, wherever its message comes from: other providers allow all others."""
    if not name:
        raise ValueError("a property needs a name")
    if name.startswith("JMS") and name[3:4] not in ("X", "_"):
        raise ValueError(f"{name[:80]!r} is not a property name: names that begin with JMS are reserved for headers")


def _typed(name: str, needed: type, value: Any) -> Any:
    if value is not None and type(value) is not needed:
        raise MessageFormatException(f"{name} must be a {'String' if needed is str else 'int'} (section 3.5.9)")
    return value


def _is_identifier(name: str) -> bool:
    """Java's rule, which allows more letters than Python's, and currency signs."""
    return unicodedata.category(name[0]) in _START and all(
        unicodedata.category(character) in _PART or character in _IGNORABLE for character in name
    )


def check_field_name(name: Any) -> None:
    """Check the name of a map message's field, which is any non-empty text."""
    if not isinstance(name, str) or not name:
        raise ValueError("a field of a map message needs a name")

"""Which names a property may have (sections 3.5.1 and 3.8.1.1).

Checking a name costs microseconds, so names that passed are remembered, up to a bound.
"""

import re
import unicodedata
from typing import Any

from jmsbridge.errors import MessageFormatException

__all__ = ["ADMITTED", "DELIVERY_COUNT", "admit", "check_field_name", "check_type"]

DELIVERY_COUNT = "JMSXDeliveryCount"
ADMITTED: set[str] = set()
"""Names that need no further look; a setter asks here before it calls ``admit``."""

_MOST_ADMITTED = 4096
# As the specification writes them. In other letters no selector can name them either, but Java programs have such
# properties, and all providers carry them: Joram's tests set one that is called "true".
_RESERVED = frozenset(("NULL", "TRUE", "FALSE", "NOT", "AND", "OR", "BETWEEN", "LIKE", "IN", "IS", "ESCAPE"))
_PLAIN = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_START = frozenset({"Lu", "Ll", "Lt", "Lm", "Lo", "Nl", "Sc", "Pc"})
_PART = _START | {"Nd", "Mn", "Mc", "Cf"}
_IGNORABLE = frozenset(map(chr, (*range(0x09), *range(0x0E, 0x1C), *range(0x7F, 0xA0))))
_TYPED: dict[str, type] = {"JMSXGroupID": str, "JMSXGroupSeq": int}


def admit(name: Any) -> type | None:
    """Accept a property name, or raise ValueError; the type that its value must have, for the JMSX group properties.

    Names that begin with ``JMS`` belong to header fields, except ``JMSX…`` and the vendors' ``JMS_…``.
    """
    if not isinstance(name, str) or not name:
        raise ValueError("a property needs a name")
    needed = _TYPED.get(name)
    if needed is not None:
        return needed
    if _PLAIN.fullmatch(name) is None and not _is_identifier(name):
        raise ValueError(f"{name[:80]!r} is no property name: it must be an identifier of the selector language")
    if name in _RESERVED:
        raise ValueError(f"{name!r} is no property name: it is a word of the selector language")
    if name.startswith("JMS") and name[3:4] not in ("X", "_"):
        raise ValueError(f"{name[:80]!r} is no property name: names that begin with JMS are header fields")
    if len(ADMITTED) >= _MOST_ADMITTED:
        ADMITTED.clear()
    if len(name) <= 256:
        ADMITTED.add(name)
    return None


def check_type(name: str, needed: type, value: Any) -> None:
    """A canonical value is of the type that ``admit`` gave, or None."""
    if value is not None and type(value) is not needed:
        raise MessageFormatException(f"{name} is a {'String' if needed is str else 'int'} (section 3.5.9)")


def _is_identifier(name: str) -> bool:
    """Java's rule, which knows more letters than Python's and the currency signs."""
    return unicodedata.category(name[0]) in _START and all(
        unicodedata.category(character) in _PART or character in _IGNORABLE for character in name
    )


def check_field_name(name: Any) -> None:
    """A field of a map message needs a name, but any text will do."""
    if not isinstance(name, str) or not name:
        raise ValueError("a field of a map message needs a name")

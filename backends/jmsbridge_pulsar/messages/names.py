"""Names of destinations as names of Pulsar topics, and back. Pure.

A name stands for the topic of that name in the default namespace, ``persistent://tenant/namespace/name``. A name that
begins with ``persistent://`` or ``non-persistent://`` is the full name of a topic. What Pulsar gives a meaning in a
topic's own name is escaped as in URLs: slashes, NUL, the end ``-partition-7``, the names of its own topics.
"""

import re
from functools import lru_cache
from typing import Final

from jmsbridge.spi import Address, AddressRefused
from jmsbridge.transport.literal_names import is_unicode

__all__ = ["Names", "looks_temporary"]

_SCHEMES: Final = ("persistent://", "non-persistent://")
_NAMESPACE: Final = re.compile(r"[-=:.A-Za-z0-9_]+/[-=:.A-Za-z0-9_]+")
_FULL: Final = re.compile(r"(?:non-)?persistent://[-=:.A-Za-z0-9_]+/[-=:.A-Za-z0-9_]+/[^/\0]+", re.DOTALL)
_ESCAPED: Final = re.compile(r"%((?:25)*)(2F|00|2E|2D|5F)")
_SPECIAL: Final = re.compile(
    r"[/\0]"
    r"|\A\.(?=\.?\Z)"  # a step in the paths of the broker's REST interface
    r"|-(?=partition-[0-9]+\Z)"
    r"|\A_(?=_(?:change_events|transaction_buffer_snapshot))|_(?=_transaction_pending_ack\Z)"
    r"|%(?=(?:25)*(?:2F|00|2E|2D|5F))"  # else it would be read as an escape
)
_TEMPORARY: Final = re.compile(r"(?:jms|jmsbridge)-temp-(?:queue|topic)-")
_KNOWN: Final = 1024


class Names:
    """The names in one default namespace, ``tenant/namespace``; ValueError if that is not one. For any thread.

    ``full`` returns the full name of the topic that a destination's name means; AddressRefused if there is none.
    ``short`` is its inverse: the name of a topic in the default namespace, and of others the full name.
    """

    def __init__(self, namespace: str = "public/default") -> None:
        if not _NAMESPACE.fullmatch(namespace):
            raise ValueError(f"{namespace!r} is not a namespace of Pulsar: write it as tenant/namespace")
        self._prefix = f"persistent://{namespace}/"
        self.full = lru_cache(_KNOWN)(self._full)
        self.short = lru_cache(_KNOWN)(self._short)

    def topic(self, address: Address) -> str:
        """The full name of a destination's topic; AddressRefused."""
        return self.full(address.name)

    def reply_address(self, full: str, kind: str | None, temporary: bool | None = None) -> Address | None:
        """The destination of a JMSReplyTo, with its JMSReplyToType; None if it is empty.

        Whether it is temporary is seen from its name unless it is known.
        """
        if not full:
            return None
        name = self.short(full) if len(full) <= _KNOWN else full
        return Address(name, kind == "topic", looks_temporary(name) if temporary is None else temporary)

    def _full(self, name: str) -> str:
        if not is_unicode(name):
            raise AddressRefused(f"{name!r} has an unpaired surrogate, which Pulsar does not allow in names")
        if name.startswith(_SCHEMES):
            if not _FULL.fullmatch(name):
                raise AddressRefused(
                    f"{name!r} is not a topic of Pulsar: a full name is persistent://tenant/namespace/topic"
                )
            return name
        if not name:
            raise AddressRefused("a topic of Pulsar needs a name")
        return self._prefix + _SPECIAL.sub(_escape, name)

    def _short(self, full: str) -> str:
        local = full.removeprefix(self._prefix)
        if local != full:
            for name in (_ESCAPED.sub(_unescape, local), local):
                if name and not name.startswith(_SCHEMES) and self._prefix + _SPECIAL.sub(_escape, name) == full:
                    return name
        return full


def looks_temporary(name: str) -> bool:
    """Whether this is how Starlight for JMS, or jmsbridge, names temporary destinations."""
    return _TEMPORARY.match(name) is not None


def _escape(found: re.Match[str]) -> str:
    return "%25" if found[0] == "%" else f"%{ord(found[0]):02X}"


def _unescape(found: re.Match[str]) -> str:
    return f"%{found[1][2:]}{found[2]}" if found[1] else chr(int(found[2], 16))

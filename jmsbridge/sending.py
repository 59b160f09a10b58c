"""What the two producers share: their settings, what they send, and what Java's forms of ``send`` are told."""

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, TypeAlias

from jmsbridge.codecs.javaserial import JavaObject
from jmsbridge.core.sending.group import Group
from jmsbridge.destinations import Destination
from jmsbridge.errors import InvalidCall, MessageFormatException
from jmsbridge.message import ForeignMessage, Message, copy_foreign, message_for_body
from jmsbridge.values import FieldValue

__all__ = ["ObjectBody", "PlainBody", "SendSettings", "Sendable", "own_message", "refuse_form"]

PlainBody: TypeAlias = str | bytes | bytearray | memoryview | Mapping[str, FieldValue]
"""What every producer sends without a message being made by hand."""
ObjectBody: TypeAlias = bool | int | float | Sequence[object] | JavaObject
"""What the simplified API's producer sends besides, as an object message."""
Sendable: TypeAlias = Message | ForeignMessage | PlainBody


class SendSettings:
    """How a producer sends; no part of the producer itself, since a send notes things here."""

    __slots__ = (
        "_group",
        "_last_async",
        "_no_id",
        "_no_timestamp",
        "_unchecked",
        "delay",
        "mode",
        "priority",
        "ttl",
    )
    _group: Group | None

    def __init__(self, *, unchecked: bool) -> None:
        self._unchecked = unchecked
        self._group = None
        self._last_async = 0
        self._no_id = False
        self._no_timestamp = False
        self.mode = 2
        self.priority = 4
        self.ttl = 0
        self.delay = 0

    def unacknowledged(self) -> tuple[Message, ...]:
        """PERSISTENT_GROUPACK: copies, in send order, of exactly the messages not known to be safe."""
        return self._group.unacknowledged() if self._group is not None else ()


def own_message(value: Any, *, objects: bool) -> tuple[Message, Any]:
    """A message of ours for a plain body (no foreign object) or for another provider's message (that object too).

    Text, bytes and mappings are bodies; with ``objects`` so is everything that an ObjectMessage carries. A message of
    ours, which may be of an application's subclass, is its own.
    """
    if value is None:
        raise MessageFormatException("there is no message to send; create_message makes one without body")
    if type(value) is not str:
        if isinstance(value, Message):
            return value, None
        if hasattr(value, "jms_message_id"):
            return copy_foreign(value), value
        if not objects and not isinstance(value, str | bytes | bytearray | memoryview | Mapping):
            raise MessageFormatException(f"a {type(value).__name__} is no message and no plain body")
    return message_for_body(value), None


def refuse_form(call: str, first: Any, rest: Sequence[Any]) -> NoReturn:
    """Java gives mode, priority, time to live and listener by place, and the time in milliseconds."""
    start = f"{call}({'destination, ' if isinstance(first, Destination) else ''}message"
    listener = "completion_listener=…"
    if [isinstance(value, int) for value in rest[:3]] == [True, True, True]:
        mode, priority, ttl = rest[:3]
        named = [f"delivery_mode={int(mode)}", f"priority={priority}", f"time_to_live={ttl / 1000:g}"]
        named += [listener] if len(rest) > 3 else []
    elif len(rest) == 1 and not isinstance(rest[0], int):
        named = [listener]
    else:
        named = ["delivery_mode=…", "priority=…", "time_to_live=…", listener]
    raise InvalidCall(f"settings of one send are given by name, times in seconds: {', '.join([start, *named])})")

"""What MessageProducer and JMSProducer share: settings, bodies, and the error for Java's forms of ``send``."""

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
"""Bodies that every producer sends without a message being created for them."""
ObjectBody: TypeAlias = bool | int | float | Sequence[object] | JavaObject
"""Further bodies that a JMSProducer sends, as object messages."""
Sendable: TypeAlias = Message | ForeignMessage | PlainBody


class SendSettings:
    """How a producer sends; a separate object, since the core also keeps state of its sends here."""

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
    """The message to send for ``value``, and the foreign message that it was copied from, or None.

    ``value`` is a message, which is returned as it is, a message of another provider, or a plain body: text, bytes, a
    mapping, and with ``objects`` everything that an ObjectMessage carries.
    """
    if value is None:
        raise MessageFormatException("None is not a message; create_message() makes one without a body")
    if type(value) is not str:
        if isinstance(value, Message):
            return value, None
        if hasattr(value, "jms_message_id"):
            return copy_foreign(value), value
        if not objects and not isinstance(value, str | bytes | bytearray | memoryview | Mapping):
            raise MessageFormatException(f"a {type(value).__name__} is neither a message nor a plain body")
    return message_for_body(value), None


def refuse_form(call: str, first: Any, rest: Sequence[Any]) -> NoReturn:
    """Say how to write a send in Java's form: positional settings, with the time to live in milliseconds."""
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
    raise InvalidCall(f"pass the settings of a send by name, times in seconds: {', '.join([start, *named])})")

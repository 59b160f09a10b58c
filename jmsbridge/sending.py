"""What MessageProducer and JMSProducer share: settings, bodies, and the error for Java's forms of ``send``."""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, NoReturn, Protocol, TypeAlias, TypedDict, TypeVar

import msgspec

from jmsbridge.codecs.javaserial import JavaObject
from jmsbridge.core.sending.group import Group
from jmsbridge.destinations import Destination
from jmsbridge.errors import InvalidCall, MessageFormatException
from jmsbridge.listeners import AnyCompletionListener
from jmsbridge.message import ForeignMessage, Message, copy_foreign, message_for_body
from jmsbridge.values import FieldValue

__all__ = [
    "AsyncOptions",
    "ObjectBody",
    "PlainBody",
    "SendOptions",
    "SendSettings",
    "Sendable",
    "Shown",
    "in_seconds",
    "own_message",
    "refuse_form",
    "setting",
    "shown_setting",
]

T_co = TypeVar("T_co", covariant=True)
S_contra = TypeVar("S_contra", contravariant=True)

PlainBody: TypeAlias = str | bytes | bytearray | memoryview | Mapping[str, FieldValue]
"""Bodies that every producer sends without a message being created for them."""
ObjectBody: TypeAlias = bool | int | float | Sequence[object] | JavaObject
"""Further bodies that a JMSProducer sends, as object messages."""
Sendable: TypeAlias = Message | ForeignMessage | PlainBody


class AsyncOptions(TypedDict, total=False):
    """The keyword arguments of ``MessageProducer.send_async``."""

    delivery_mode: int | None
    priority: int | None
    time_to_live: float | timedelta | None
    duplicate_id: str | None


class SendOptions(AsyncOptions, total=False):
    """The keyword arguments of ``MessageProducer.send``."""

    completion_listener: AnyCompletionListener


class SendSettings(msgspec.Struct, kw_only=True):
    """How a producer sends; a separate object, since the core also keeps state of its sends here."""

    _unchecked: bool = False
    _no_id: bool = False
    _no_timestamp: bool = False
    mode: int = 2
    priority: int = 4
    ttl: int = 0
    delay: int = 0
    _last_async: int = 0
    _group: Group | None = None

    def unacknowledged(self) -> tuple[Message, ...]:
        """PERSISTENT_GROUPACK: copies, in send order, of exactly the messages not known to be safe."""
        return self._group.unacknowledged() if self._group is not None else ()


class Shown(Protocol[T_co]):
    """A property that can be read, as type checkers see it."""

    def __get__(self, producer: object, owner: type | None = None) -> T_co: ...


class _Setting(Shown[T_co], Protocol[T_co, S_contra]):
    """A property that can also be set."""

    def __set__(self, producer: object, value: S_contra) -> None: ...


def shown_setting(attribute: str, show: Callable[[Any], T_co], doc: str) -> Shown[T_co]:
    """A property of a producer for one of its ``SendSettings``."""

    def read(producer: Any) -> T_co:
        producer._check()
        return show(getattr(producer._settings, attribute))

    made: Any = property(read, doc=doc)
    shown: Shown[T_co] = made
    return shown


def setting(
    attribute: str, show: Callable[[Any], T_co], convert: Callable[[S_contra], Any], doc: str
) -> _Setting[T_co, S_contra]:
    """The same for one that can be set, after ``convert`` has checked the value."""

    def write(producer: Any, value: S_contra) -> None:
        producer._check()
        setattr(producer._settings, attribute, convert(value))

    made: Any = shown_setting(attribute, show, doc)
    both: _Setting[T_co, S_contra] = made.setter(write)
    return both


def in_seconds(milliseconds: int) -> float:
    """A duration as applications read it."""
    return milliseconds / 1000


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

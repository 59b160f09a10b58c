"""``Message``: headers, properties and no body (section 3); the base of the five kinds that have one."""

from collections.abc import Awaitable
from typing import Any, ClassVar, NoReturn, TypeVar, overload

from jmsbridge.done import DONE
from jmsbridge.errors import MessageFormatException, MessageNotReadableException, MessageNotWriteableException
from jmsbridge.messages.names import ADMITTED, admit
from jmsbridge.messages.properties import Properties
from jmsbridge.spi.envelope import Address, BodyKind, Envelope
from jmsbridge.values import JavaValue

__all__ = ["Message"]

T = TypeVar("T")


class Message(Properties):
    """A message without a body, and the base of all messages.

    Not thread-safe. During an asynchronous send of the message every access raises JMSException (section 7.3.9).
    """

    __slots__ = ()

    DEFAULT_DELIVERY_MODE: ClassVar[int] = 2
    DEFAULT_PRIORITY: ClassVar[int] = 4
    DEFAULT_TIME_TO_LIVE: ClassVar[int] = 0
    DEFAULT_DELIVERY_DELAY: ClassVar[int] = 0

    _kind: ClassVar[BodyKind] = BodyKind.NONE

    def __init__(self) -> None:
        self._gate = None
        self._acknowledger = None
        self._body_read_only = False
        self._correlation_id = None
        self._delivery_count = 0
        self._delivery_mode = 2
        self._delivery_time = 0
        self._destination = None
        self._expiration = 0
        self._message_id = None
        self._priority = 4
        self._properties = {}
        self._properties_read_only = False
        self._redelivered = False
        self._reply_to = None
        self._timestamp = 0
        self._type = None

    def acknowledge(self) -> Awaitable[None]:
        """Acknowledge as the session's mode says: in CLIENT_ACKNOWLEDGE everything it has consumed (section 6.2.10).

        No effect if the session acknowledges automatically, or on a message that was not received. There is nothing
        to await in the result, except for a message that a consumer of ``jmsbridge.aio`` received.
        """
        if self._gate is not None:
            self._refuse()
        if self._acknowledger is not None:
            return self._acknowledger() or DONE
        return DONE

    def clear_body(self) -> None:
        """Make the body empty and writable, as in a new message; headers and properties are unchanged."""
        if self._gate is not None:
            self._refuse()
        self._body_read_only = False
        self._clear()

    @overload
    def get_body(self, kind: type[dict[str, JavaValue]]) -> dict[str, JavaValue] | None: ...
    @overload
    def get_body(self, kind: type[list[JavaValue]]) -> list[JavaValue] | None: ...
    @overload
    def get_body(self, kind: type[T]) -> T | None: ...
    def get_body(self, kind: type[Any]) -> Any:
        """The body as ``kind``; None if there is no body; MessageFormatException if it has another type.

        Text gives ``str``, bytes ``bytes`` (the message is reset before and after), a map ``dict``, an object its own
        type; ``object`` fits all of them. A stream is always a MessageFormatException.
        """
        if self._gate is not None:
            self._refuse()
        if not self._has_body():
            return None
        return self._body(kind)

    def is_body_assignable_to(self, kind: type[Any]) -> bool:
        """Whether ``get_body(kind)`` would return the body."""
        if self._gate is not None:
            self._refuse()
        try:
            return not self._has_body() or self._assignable(kind)
        except MessageFormatException:
            return False

    # ---- overridden by the kinds of messages

    def _clear(self) -> None:
        """Forget the body."""

    def _load(self, body: Any) -> None:
        """Use the canonical body of an envelope, without copying or changing it."""

    def _snapshot(self) -> Any:
        """The canonical body, independent of this object."""
        return None

    def _has_body(self) -> bool:
        return False

    def _assignable(self, kind: type) -> bool:
        return False

    def _body(self, kind: type) -> Any:
        """The body for the application; called only if there is one."""
        raise MessageFormatException(f"the body cannot be read as {kind.__name__}")

    def _reset_for_reading(self) -> None:
        """Reset a bytes or stream message, for a receiver or a completion callback (rule BO-3)."""

    # ---- for the facade

    def _freeze(
        self,
        address: Address,
        message_id: str | None,
        timestamp: int,
        persistent: bool,
        priority: int,
        expiration: int,
        delivery_time: int,
        duplicate_id: str | None,
        extra_properties: dict[str, Any] | None = None,
    ) -> Envelope:
        """The envelope of a send: independent of this object, whose modes and positions do not change (rule BO-4).

        ``extra_properties`` are canonical and override the message's own, unless these are read-only (rule PR-10).
        """
        properties = self._properties
        if extra_properties:
            properties = self._overlaid(extra_properties)
        elif not self._properties_read_only:
            properties = properties.copy() if properties else {}
        reply_to = self._reply_to
        return Envelope(
            address,
            self._kind,
            self._snapshot(),
            properties,
            message_id,
            timestamp,
            persistent,
            priority,
            expiration,
            delivery_time,
            self._correlation_id,
            None if reply_to is None else reply_to._address,
            self._type,
            duplicate_id,
        )

    def _overlaid(self, extra: dict[str, Any]) -> dict[str, Any]:
        if self._properties_read_only:
            self._refuse_property()
        for name, value in extra.items():
            if name not in ADMITTED:
                admit(name, lambda value: value)(value)
        return {**self._properties, **extra}

    def _refuse_write(self) -> NoReturn:
        raise MessageNotWriteableException("the body is read-only until clear_body()")

    def _refuse_read(self) -> NoReturn:
        raise MessageNotReadableException("the body is write-only until reset()")

    def __repr__(self) -> str:
        return f"{type(self).__name__}(id={self._message_id!r}, destination={self._destination!r})"

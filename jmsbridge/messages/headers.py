"""The header fields of a message (section 3.4).

The application sets the correlation id, the reply-to destination and the type; a send overwrites the others. Headers of
a received message are writable: a change is local to the object.
"""

from collections.abc import Callable
from typing import Any, NoReturn, Protocol, TypeVar

from jmsbridge.destinations import Destination
from jmsbridge.errors import InvalidDestinationException, JMSException
from jmsbridge.messages.typed import boolean, text
from jmsbridge.strict import JavaNames

__all__ = ["Headers"]

T = TypeVar("T")


def _own_destination(value: Any) -> Destination | None:
    if value is None or isinstance(value, Destination):
        return value
    raise InvalidDestinationException(f"a Queue, a Topic or None is needed, not {type(value).__name__}")


class _Header(Protocol[T]):
    """A property, as type checkers see it."""

    def __get__(self, message: object, owner: type | None = None) -> T: ...
    def __set__(self, message: object, value: T) -> None: ...


def _header(attribute: str, convert: Callable[[Any], T], doc: str) -> _Header[T]:
    """A property for one header; what is set is first converted, or refused."""

    def read(message: "Headers") -> Any:
        if message._gate is not None:
            message._refuse()
        return getattr(message, attribute)

    def write(message: "Headers", value: Any) -> None:
        if message._gate is not None:
            message._refuse()
        setattr(message, attribute, convert(value))

    made: Any = property(read, write, doc=doc)
    header: _Header[T] = made
    return header


class Headers(JavaNames):
    """The header fields; a base of every message."""

    __slots__ = (
        "_acknowledger",
        "_body_read_only",
        "_correlation_id",
        "_delivery_count",
        "_delivery_mode",
        "_delivery_time",
        "_destination",
        "_expiration",
        "_gate",
        "_message_id",
        "_priority",
        "_properties",
        "_properties_read_only",
        "_redelivered",
        "_reply_to",
        "_timestamp",
        "_type",
    )

    # None, or the asynchronous send in progress; every public access checks it first (section 7.3.9).
    _gate: Any
    _acknowledger: Callable[[], Any] | None
    _body_read_only: bool
    _correlation_id: str | bytes | None
    _delivery_count: int
    _delivery_mode: int
    _delivery_time: int
    _destination: Destination | None
    _expiration: int
    _message_id: str | None
    _priority: int
    # Shared with an envelope while _properties_read_only is true, and then never changed.
    _properties: dict[str, Any]
    _properties_read_only: bool
    _redelivered: bool
    _reply_to: Destination | None
    _timestamp: int
    _type: str | None

    def __getstate__(self) -> dict[str, Any]:
        """The state to pickle or copy: without the session and without a send in progress."""
        if self._gate is not None:
            self._refuse()
        names = [name for kind in type(self).__mro__ for name in getattr(kind, "__slots__", ())]
        state = {name: getattr(self, name) for name in names if hasattr(self, name)}
        return state | {"_acknowledger": None, "_gate": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)

    def _refuse(self) -> NoReturn:
        raise JMSException("the message is being sent asynchronously; wait for its completion")

    jms_message_id = _header(
        "_message_id", text, "The provider's id, ``ID:…``; None before a send and if ids are disabled."
    )
    jms_timestamp = _header(
        "_timestamp",
        int,
        "When it was sent, in milliseconds since the epoch; 0 before a send and if timestamps are disabled.",
    )

    @property
    def jms_correlation_id(self) -> str | None:
        """The application's link to another message.

        If it was set or received as bytes, it is decoded as UTF-8; invalid bytes are shown as ``\\xNN``.
        """
        if self._gate is not None:
            self._refuse()
        value = self._correlation_id
        return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else value

    @jms_correlation_id.setter
    def jms_correlation_id(self, value: str | None) -> None:
        if self._gate is not None:
            self._refuse()
        self._correlation_id = text(value)

    @property
    def jms_correlation_id_as_bytes(self) -> bytes | None:
        """The correlation id as bytes; if it was set as text, encoded as UTF-8."""
        if self._gate is not None:
            self._refuse()
        value = self._correlation_id
        return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value

    @jms_correlation_id_as_bytes.setter
    def jms_correlation_id_as_bytes(self, value: bytes | bytearray | memoryview | None) -> None:
        if self._gate is not None:
            self._refuse()
        if value is not None and not isinstance(value, (bytes, bytearray, memoryview)):
            raise TypeError(f"bytes or None are needed, not {type(value).__name__}")
        self._correlation_id = None if value is None else bytes(value)

    jms_reply_to = _header("_reply_to", _own_destination, "The destination for a reply.")

    @property
    def jms_destination(self) -> Destination | None:
        """Where the message was sent."""
        if self._gate is not None:
            self._refuse()
        return self._destination

    @jms_destination.setter
    def jms_destination(self, value: object) -> None:
        """Another provider may set its own kind of destination; a send overwrites it with ours (rule HD-1)."""
        if self._gate is not None:
            self._refuse()
        if isinstance(value, str | bytes | int | float):
            raise InvalidDestinationException(f"a destination or None is needed, not {type(value).__name__}")
        self._destination = value  # type: ignore[assignment]

    jms_delivery_mode = _header("_delivery_mode", int, "``DeliveryMode.PERSISTENT`` or ``NON_PERSISTENT``, as sent.")
    jms_redelivered = _header(
        "_redelivered", boolean, "Whether it was probably delivered before without being acknowledged."
    )
    jms_type = _header("_type", text, "The application's name for the kind of message.")
    jms_expiration = _header("_expiration", int, "When it expires, in milliseconds since the epoch; 0 for never.")
    jms_delivery_time = _header(
        "_delivery_time", int, "The earliest time of its delivery, in milliseconds since the epoch."
    )
    jms_priority = _header("_priority", int, "0 (lowest) to 9, as sent.")

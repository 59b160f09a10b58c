"""The header fields of a message (section 3.4).

The application sets the correlation id, the reply-to destination and the type; a send overwrites the others. Headers of
a received message are writable: a change is local to the object.
"""

from collections.abc import Callable
from typing import Any, NoReturn

from jmsbridge.destinations import Destination
from jmsbridge.errors import InvalidDestinationException, JMSException
from jmsbridge.messages.typed import boolean, text
from jmsbridge.strict import JavaNames

__all__ = ["Headers"]


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
    _acknowledger: Callable[[], None] | None
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

    @property
    def jms_message_id(self) -> str | None:
        """The provider's id, ``ID:…``; None before a send and if ids are disabled."""
        if self._gate is not None:
            self._refuse()
        return self._message_id

    @jms_message_id.setter
    def jms_message_id(self, value: str | None) -> None:
        if self._gate is not None:
            self._refuse()
        self._message_id = text(value)

    @property
    def jms_timestamp(self) -> int:
        """When it was sent, in milliseconds since the epoch; 0 before a send and if timestamps are disabled."""
        if self._gate is not None:
            self._refuse()
        return self._timestamp

    @jms_timestamp.setter
    def jms_timestamp(self, value: int) -> None:
        if self._gate is not None:
            self._refuse()
        self._timestamp = int(value)

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

    @property
    def jms_reply_to(self) -> Destination | None:
        """The destination for a reply."""
        if self._gate is not None:
            self._refuse()
        return self._reply_to

    @jms_reply_to.setter
    def jms_reply_to(self, value: Destination | None) -> None:
        if self._gate is not None:
            self._refuse()
        self._reply_to = _destination(value)

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

    @property
    def jms_delivery_mode(self) -> int:
        """``DeliveryMode.PERSISTENT`` or ``NON_PERSISTENT``, as sent."""
        if self._gate is not None:
            self._refuse()
        return self._delivery_mode

    @jms_delivery_mode.setter
    def jms_delivery_mode(self, value: int) -> None:
        if self._gate is not None:
            self._refuse()
        self._delivery_mode = int(value)

    @property
    def jms_redelivered(self) -> bool:
        """Whether it was probably delivered before without being acknowledged."""
        if self._gate is not None:
            self._refuse()
        return self._redelivered

    @jms_redelivered.setter
    def jms_redelivered(self, value: bool) -> None:
        if self._gate is not None:
            self._refuse()
        self._redelivered = boolean(value)

    @property
    def jms_type(self) -> str | None:
        """The application's name for the kind of message."""
        if self._gate is not None:
            self._refuse()
        return self._type

    @jms_type.setter
    def jms_type(self, value: str | None) -> None:
        if self._gate is not None:
            self._refuse()
        self._type = text(value)

    @property
    def jms_expiration(self) -> int:
        """When it expires, in milliseconds since the epoch; 0 for never."""
        if self._gate is not None:
            self._refuse()
        return self._expiration

    @jms_expiration.setter
    def jms_expiration(self, value: int) -> None:
        if self._gate is not None:
            self._refuse()
        self._expiration = int(value)

    @property
    def jms_delivery_time(self) -> int:
        """The earliest time of its delivery, in milliseconds since the epoch."""
        if self._gate is not None:
            self._refuse()
        return self._delivery_time

    @jms_delivery_time.setter
    def jms_delivery_time(self, value: int) -> None:
        if self._gate is not None:
            self._refuse()
        self._delivery_time = int(value)

    @property
    def jms_priority(self) -> int:
        """0 (lowest) to 9, as sent."""
        if self._gate is not None:
            self._refuse()
        return self._priority

    @jms_priority.setter
    def jms_priority(self, value: int) -> None:
        if self._gate is not None:
            self._refuse()
        self._priority = int(value)


def _destination(value: Any) -> Destination | None:
    if value is None or isinstance(value, Destination):
        return value
    raise InvalidDestinationException(f"a Queue, a Topic or None is needed, not {type(value).__name__}")

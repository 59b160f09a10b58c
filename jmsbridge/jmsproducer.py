"""The simplified API's producer (Jakarta Messaging 3.1 section 7.2)."""

from collections.abc import Iterable, Iterator, Set
from datetime import timedelta
from typing import Any, Self

from jmsbridge.core import arguments
from jmsbridge.core.modes import DeliveryMode
from jmsbridge.core.sending.group import Group
from jmsbridge.core.session import SessionCore
from jmsbridge.destinations import Destination
from jmsbridge.errors import (
    InvalidDestinationRuntimeException,
    JMSException,
    MessageNotWriteableException,
    unchecked,
)
from jmsbridge.listeners import as_completion
from jmsbridge.message import Message
from jmsbridge.producer import own_message
from jmsbridge.unchecked import simplified

__all__ = ["JMSProducer"]


class JMSProducer:
    """Chained settings and a ``send`` that takes messages or plain bodies.

    Setters return the producer. Properties and headers set here go into every message sent, and override the
    message's own (rule HD-2). Times are seconds. Belongs to its context's thread; its exceptions are unchecked.
    """

    _unchecked = True

    def __init__(self, engine: SessionCore) -> None:
        self._engine = engine
        self._last_async = 0
        self._group: Group | None = None
        self._no_id = False
        self._no_timestamp = False
        self._mode = 2
        self._priority = 4
        self._ttl = 0
        self._delay = 0
        self._listener: Any = None
        self._completion: Any = None
        self._duplicate_id: str | None = None
        self._template = Message()  # holds the properties, with their types and conversions
        self._headers: dict[str, Any] = {}

    @simplified
    def _check(self) -> None:
        self._engine.check_open()

    # ---- sending

    def send(self, destination: Destination, message: Any) -> Self:
        """Send a message, or a body: str, bytes, a mapping, or an object.

        Synchronous unless ``set_async`` gave a listener. InvalidDestination, MessageFormat and MessageNotWriteable
        runtime exceptions as section 7.2 says.
        """
        try:
            self._engine.begin()
            if not isinstance(destination, Destination):
                raise InvalidDestinationRuntimeException(
                    f"{destination!r} is no destination; create_queue or create_topic makes one"
                )
            foreign = None
            if not isinstance(message, Message):
                message, foreign = own_message(message, objects=True)
            if message._gate is not None:
                message._refuse()
            self._dress(message)
            self._engine.send(
                self,
                destination,
                message,
                foreign,
                self._mode,
                self._priority,
                self._ttl,
                self._delay,
                self._completion,
                self._duplicate_id,
            )
        except JMSException as error:
            raise unchecked(error) from error
        return self

    def _dress(self, message: Message) -> None:
        properties = self._template._properties
        if properties:
            if message._properties_read_only:
                raise MessageNotWriteableException("the message's properties are read-only; clear_properties first")
            message._properties = {**(message._properties or {}), **properties}
        for name, value in self._headers.items():
            setattr(message, name, value)

    # ---- settings

    def set_async(self, listener: Any) -> Self:
        """Send asynchronously, with this completion listener; None: synchronously again (rule AS-7)."""
        self._check()
        self._listener = listener
        self._completion = None if listener is None else as_completion(listener)
        return self

    @property
    def async_listener(self) -> Any:
        """The completion listener; None when sends are synchronous."""
        self._check()
        return self._listener

    @simplified
    def set_delivery_mode(self, mode: int) -> Self:
        """PERSISTENT, NON_PERSISTENT or PERSISTENT_GROUPACK."""
        self._engine.check_open()
        self._mode = arguments.delivery_mode(mode)
        return self

    @property
    def delivery_mode(self) -> int:
        """PERSISTENT unless set."""
        self._check()
        return DeliveryMode(self._mode)

    @simplified
    def set_priority(self, priority: int) -> Self:
        """0 to 9."""
        self._engine.check_open()
        self._priority = arguments.priority(priority)
        return self

    @property
    def priority(self) -> int:
        """4 unless set."""
        self._check()
        return self._priority

    def set_time_to_live(self, time_to_live: float | timedelta) -> Self:
        """Seconds until expiry; 0 is never."""
        self._check()
        self._ttl = arguments.milliseconds(time_to_live)
        return self

    @property
    def time_to_live(self) -> float:
        """Seconds; 0 unless set."""
        self._check()
        return self._ttl / 1000

    def set_delivery_delay(self, delivery_delay: float | timedelta) -> Self:
        """Seconds before which messages are not delivered."""
        self._check()
        self._delay = arguments.milliseconds(delivery_delay)
        return self

    @property
    def delivery_delay(self) -> float:
        """Seconds; 0 unless set."""
        self._check()
        return self._delay / 1000

    def set_disable_message_id(self, value: bool) -> Self:
        """Send without JMSMessageID; honoured."""
        self._check()
        self._no_id = bool(value)
        return self

    @property
    def disable_message_id(self) -> bool:
        """False unless set."""
        self._check()
        return self._no_id

    def set_disable_message_timestamp(self, value: bool) -> Self:
        """Send without JMSTimestamp; honoured."""
        self._check()
        self._no_timestamp = bool(value)
        return self

    @property
    def disable_message_timestamp(self) -> bool:
        """False unless set."""
        self._check()
        return self._no_timestamp

    def set_duplicate_id(self, duplicate_id: str | None) -> Self:
        """The application's own id, for brokers that detect duplicates; for the sends that follow."""
        self._check()
        if duplicate_id is not None and not isinstance(duplicate_id, str):
            raise ValueError(f"duplicate_id is text, not {duplicate_id!r}")
        self._duplicate_id = duplicate_id
        return self

    @property
    def duplicate_id(self) -> str | None:
        """None unless set."""
        self._check()
        return self._duplicate_id

    @property
    def unacknowledged(self) -> tuple[Any, ...]:
        """PERSISTENT_GROUPACK: copies, in send order, of exactly the messages not known to be safe."""
        return self._group.unacknowledged() if self._group is not None else ()

    # ---- headers

    def set_jms_correlation_id(self, value: str | None) -> Self:
        """JMSCorrelationID of the messages sent."""
        self._headers.pop("jms_correlation_id_as_bytes", None)
        return self._set_header("jms_correlation_id", value)

    @property
    def jms_correlation_id(self) -> str | None:
        """None unless set."""
        self._check()
        value: str | None = self._headers.get("jms_correlation_id")
        return value

    def set_jms_correlation_id_as_bytes(self, value: bytes | None) -> Self:
        """JMSCorrelationID as bytes; copied."""
        self._headers.pop("jms_correlation_id", None)
        return self._set_header("jms_correlation_id_as_bytes", value)

    @property
    def jms_correlation_id_as_bytes(self) -> bytes | None:
        """None unless set."""
        self._check()
        value: bytes | None = self._headers.get("jms_correlation_id_as_bytes")
        return value

    def set_jms_type(self, value: str | None) -> Self:
        """JMSType of the messages sent."""
        return self._set_header("jms_type", value)

    @property
    def jms_type(self) -> str | None:
        """None unless set."""
        self._check()
        value: str | None = self._headers.get("jms_type")
        return value

    def set_jms_reply_to(self, value: Destination | None) -> Self:
        """JMSReplyTo of the messages sent."""
        return self._set_header("jms_reply_to", value)

    @property
    def jms_reply_to(self) -> Destination | None:
        """None unless set."""
        self._check()
        value: Destination | None = self._headers.get("jms_reply_to")
        return value

    def _set_header(self, name: str, value: Any) -> Self:
        self._check()
        try:
            setattr(self._template, name, value)  # checks the type, and copies
        except JMSException as error:
            raise unchecked(error) from error
        if value is None:
            self._headers.pop(name, None)
        else:
            self._headers[name] = getattr(self._template, name)
        return self

    # ---- properties

    @simplified
    def set_property(self, name: str, value: Any) -> Self:
        """A property of the messages sent; the typed wrappers keep Java types (table 2.B of the rules)."""
        self._engine.check_open()
        self._template.set_object_property(name, value)
        return self

    def clear_properties(self) -> Self:
        """Forget all of them."""
        self._check()
        self._template.clear_properties()
        return self

    def property_exists(self, name: str) -> bool:
        """Whether it is set."""
        self._check()
        return self._template.property_exists(name)

    @property
    def property_names(self) -> "_Names":
        """The names: a live view that cannot be changed."""
        self._check()
        return _Names(self._template)

    @simplified
    def get_object_property(self, name: str) -> Any:
        """The value as it was set."""
        self._engine.check_open()
        return self._template.get_object_property(name)

    def _get(self, kind: str, name: str) -> Any:
        self._check()
        try:
            return getattr(self._template, f"get_{kind}_property")(name)
        except JMSException as error:
            raise unchecked(error) from error

    def get_boolean_property(self, name: str) -> Any:
        """Converted to boolean."""
        return self._get("boolean", name)

    def get_byte_property(self, name: str) -> Any:
        """Converted to byte."""
        return self._get("byte", name)

    def get_short_property(self, name: str) -> Any:
        """Converted to short."""
        return self._get("short", name)

    def get_int_property(self, name: str) -> Any:
        """Converted to int."""
        return self._get("int", name)

    def get_long_property(self, name: str) -> Any:
        """Converted to long."""
        return self._get("long", name)

    def get_float_property(self, name: str) -> Any:
        """Converted to float."""
        return self._get("float", name)

    def get_double_property(self, name: str) -> Any:
        """Converted to double."""
        return self._get("double", name)

    def get_string_property(self, name: str) -> Any:
        """Converted to text."""
        return self._get("string", name)


class _Names(Set[str]):
    """A live, unchangeable set of property names."""

    @classmethod
    def _from_iterable(cls, names: Iterable[str]) -> "frozenset[str]":  # type: ignore[override]
        return frozenset(names)  # what ``|`` and the like give

    def __init__(self, template: Message) -> None:
        self._template = template

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._template.property_exists(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._template.property_names)

    def __len__(self) -> int:
        return sum(1 for _ in self._template.property_names)

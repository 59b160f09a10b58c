"""The simplified API's producer (Jakarta Messaging 3.1 section 7.2)."""

from collections.abc import Iterable, Iterator, Set
from datetime import timedelta
from typing import Any, ClassVar, Never, Self

from jmsbridge.core import arguments
from jmsbridge.core.modes import DeliveryMode
from jmsbridge.core.sending.tickets import Completion
from jmsbridge.core.session import SessionCore
from jmsbridge.destinations import DESTINATION_KINDS, Destination
from jmsbridge.errors import (
    InvalidCall,
    JMSException,
    MessageNotWriteableException,
    unchecked,
)
from jmsbridge.listeners import AnySimplifiedCompletionListener, as_completion
from jmsbridge.message import MESSAGE_KINDS, Message
from jmsbridge.sending import ObjectBody, Sendable, SendSettings, own_message
from jmsbridge.simplified.unchecked import simplified
from jmsbridge.strict import Strict
from jmsbridge.values import Byte, Float, Long, PropertyValue, Short

__all__ = ["JMSProducer"]


class _Settings(SendSettings):
    """The settings of a JMSProducer, in one object, since a context creates many producers."""

    __slots__ = ("completion", "core", "duplicate_id", "filled", "headers", "listener")
    completion: Completion | None
    listener: AnySimplifiedCompletionListener | None
    duplicate_id: str | None
    filled: Message | None

    def __init__(self, core: SessionCore) -> None:
        super().__init__(unchecked=True)
        self.core = core
        self.listener = None
        self.completion = None
        self.duplicate_id = None
        self.filled = None
        self.headers: dict[str, Any] = {}

    @property
    def template(self) -> Message:
        """A message that holds the properties, with their types and conversions; created when needed."""
        if self.filled is None:
            self.filled = Message()
        return self.filled


class JMSProducer(Strict):
    """Sends messages and plain bodies, with chained setters, which return the producer.

    Properties and headers set here go into every message sent, and override the message's own (rule HD-2). Times are
    seconds. Belongs to its context's thread; its exceptions are unchecked.
    """

    __slots__ = ("__weakref__", "_session", "_settings")
    _advice: ClassVar[dict[str, str]] = {
        "getAsync": "write async_listener",
        "get_async": "write async_listener",
        "ttl": "write set_time_to_live(…)",
        "close": "it does not need to be closed",
        "sendMessage": "write send(…)",
        "send_message": "write send(…)",
    }

    def __init__(self, core: SessionCore, session: object) -> None:
        self._settings = _Settings(core)
        self._session = session

    @simplified
    def _check(self) -> None:
        self._settings.core.check_open()

    # ---- sending

    def send(self, destination: Destination, message: Sendable | ObjectBody, *wrong: Never) -> Self:
        """Send a message, or a body: str, bytes, a mapping, or an object.

        Synchronous unless ``set_async`` has set a listener. Raises the runtime exceptions of InvalidDestination,
        MessageFormat and MessageNotWriteable as section 7.2 says.
        """
        try:
            settings = self._settings
            settings.core.begin()
            if wrong:
                raise InvalidCall(
                    "configure a JMSProducer before it sends: set_delivery_mode(…), set_priority(…), "
                    "set_time_to_live(5) (seconds) or set_async(listener), then send(destination, message)"
                )
            if type(destination) not in DESTINATION_KINDS:
                arguments.destination(destination)
            own: Any = message
            foreign = None
            if type(own) not in MESSAGE_KINDS:
                own, foreign = own_message(own, objects=True)
            if own._gate is not None:
                own._refuse()
            self._apply_to(own)
            settings.core.send(
                settings,
                destination,
                own,
                foreign,
                settings.mode,
                settings.priority,
                settings.ttl,
                settings.delay,
                settings.completion,
                settings.duplicate_id,
            )
        except JMSException as error:
            raise unchecked(error) from error
        return self

    def _apply_to(self, message: Message) -> None:
        settings = self._settings
        properties = settings.filled._properties if settings.filled is not None else None
        if properties:
            if message._properties_read_only:
                raise MessageNotWriteableException("the message's properties are read-only; clear_properties first")
            message._properties = {**(message._properties or {}), **properties}
        for name, value in settings.headers.items():
            setattr(message, name, value)

    # ---- settings

    def set_async(self, listener: AnySimplifiedCompletionListener | None) -> Self:
        """Send asynchronously, with this completion listener; None for synchronous sends (rule AS-7)."""
        self._check()
        self._settings.listener = listener
        self._settings.completion = None if listener is None else as_completion(listener)
        return self

    @property
    def async_listener(self) -> AnySimplifiedCompletionListener | None:
        """The completion listener; None when sends are synchronous."""
        self._check()
        return self._settings.listener

    @simplified
    def set_delivery_mode(self, mode: int) -> Self:
        """PERSISTENT, NON_PERSISTENT or PERSISTENT_GROUPACK."""
        self._settings.core.check_open()
        self._settings.mode = arguments.delivery_mode(mode)
        return self

    @property
    def delivery_mode(self) -> int:
        """PERSISTENT unless set."""
        self._check()
        return DeliveryMode(self._settings.mode)

    @simplified
    def set_priority(self, priority: int) -> Self:
        """0 to 9."""
        self._settings.core.check_open()
        self._settings.priority = arguments.priority(priority)
        return self

    @property
    def priority(self) -> int:
        """4 unless set."""
        self._check()
        return self._settings.priority

    @simplified
    def set_time_to_live(self, time_to_live: float | timedelta) -> Self:
        """Seconds until a message expires; 0 for never."""
        self._settings.core.check_open()
        self._settings.ttl = arguments.milliseconds(time_to_live)
        return self

    @property
    def time_to_live(self) -> float:
        """Seconds; 0 unless set."""
        self._check()
        return self._settings.ttl / 1000

    @simplified
    def set_delivery_delay(self, delivery_delay: float | timedelta) -> Self:
        """Seconds until a message may be delivered."""
        self._settings.core.check_open()
        self._settings.delay = arguments.milliseconds(delivery_delay)
        return self

    @property
    def delivery_delay(self) -> float:
        """Seconds; 0 unless set."""
        self._check()
        return self._settings.delay / 1000

    def set_disable_message_id(self, value: bool) -> Self:
        """Whether to send without JMSMessageID; always honoured."""
        self._check()
        self._settings._no_id = bool(value)
        return self

    @property
    def disable_message_id(self) -> bool:
        """False unless set."""
        self._check()
        return self._settings._no_id

    def set_disable_message_timestamp(self, value: bool) -> Self:
        """Whether to send without JMSTimestamp; always honoured."""
        self._check()
        self._settings._no_timestamp = bool(value)
        return self

    @property
    def disable_message_timestamp(self) -> bool:
        """False unless set."""
        self._check()
        return self._settings._no_timestamp

    def set_duplicate_id(self, duplicate_id: str | None) -> Self:
        """The application's own id of the messages sent from now on, for brokers that detect duplicates."""
        self._check()
        if duplicate_id is not None and not isinstance(duplicate_id, str):
            raise ValueError(f"duplicate_id must be text, not {duplicate_id!r}")
        self._settings.duplicate_id = duplicate_id
        return self

    @property
    def duplicate_id(self) -> str | None:
        """None unless set."""
        self._check()
        return self._settings.duplicate_id

    @property
    def unacknowledged(self) -> tuple[Message, ...]:
        """PERSISTENT_GROUPACK: copies, in send order, of exactly the messages not known to be safe."""
        return self._settings.unacknowledged()

    # ---- headers

    def set_jms_correlation_id(self, value: str | None) -> Self:
        """JMSCorrelationID of the messages sent."""
        self._settings.headers.pop("jms_correlation_id_as_bytes", None)
        return self._set_header("jms_correlation_id", value)

    @property
    def jms_correlation_id(self) -> str | None:
        """None unless set."""
        self._check()
        value: str | None = self._settings.headers.get("jms_correlation_id")
        return value

    def set_jms_correlation_id_as_bytes(self, value: bytes | None) -> Self:
        """JMSCorrelationID as bytes; copied."""
        self._settings.headers.pop("jms_correlation_id", None)
        return self._set_header("jms_correlation_id_as_bytes", value)

    @property
    def jms_correlation_id_as_bytes(self) -> bytes | None:
        """None unless set."""
        self._check()
        value: bytes | None = self._settings.headers.get("jms_correlation_id_as_bytes")
        return value

    def set_jms_type(self, value: str | None) -> Self:
        """JMSType of the messages sent."""
        return self._set_header("jms_type", value)

    @property
    def jms_type(self) -> str | None:
        """None unless set."""
        self._check()
        value: str | None = self._settings.headers.get("jms_type")
        return value

    def set_jms_reply_to(self, value: Destination | None) -> Self:
        """JMSReplyTo of the messages sent."""
        return self._set_header("jms_reply_to", value)

    @property
    def jms_reply_to(self) -> Destination | None:
        """None unless set."""
        self._check()
        value: Destination | None = self._settings.headers.get("jms_reply_to")
        return value

    def _set_header(self, name: str, value: Any) -> Self:
        self._check()
        try:
            setattr(self._settings.template, name, value)  # checks the type, and copies
        except JMSException as error:
            raise unchecked(error) from error
        if value is None:
            self._settings.headers.pop(name, None)
        else:
            self._settings.headers[name] = getattr(self._settings.template, name)
        return self

    # ---- properties

    @simplified
    def set_property(self, name: str, value: PropertyValue) -> Self:
        """A property of the messages sent; the typed wrappers keep Java types (table 2.B of the rules)."""
        self._settings.core.check_open()
        self._settings.template.set_object_property(name, value)
        return self

    def clear_properties(self) -> Self:
        """Remove all properties."""
        self._check()
        self._settings.template.clear_properties()
        return self

    def property_exists(self, name: str) -> bool:
        """Whether it is set."""
        self._check()
        return self._settings.template.property_exists(name)

    @property
    def property_names(self) -> "_Names":
        """The names: a live view that cannot be changed."""
        self._check()
        return _Names(self._settings.template)

    @simplified
    def get_object_property(self, name: str) -> PropertyValue:
        """The value as it was set."""
        self._settings.core.check_open()
        return self._settings.template.get_object_property(name)

    @simplified
    def get_boolean_property(self, name: str) -> bool:
        """Converted to boolean."""
        self._settings.core.check_open()
        return self._settings.template.get_boolean_property(name)

    @simplified
    def get_byte_property(self, name: str) -> Byte:
        """Converted to byte."""
        self._settings.core.check_open()
        return self._settings.template.get_byte_property(name)

    @simplified
    def get_short_property(self, name: str) -> Short:
        """Converted to short."""
        self._settings.core.check_open()
        return self._settings.template.get_short_property(name)

    @simplified
    def get_int_property(self, name: str) -> int:
        """Converted to int."""
        self._settings.core.check_open()
        return self._settings.template.get_int_property(name)

    @simplified
    def get_long_property(self, name: str) -> Long:
        """Converted to long."""
        self._settings.core.check_open()
        return self._settings.template.get_long_property(name)

    @simplified
    def get_float_property(self, name: str) -> Float:
        """Converted to float."""
        self._settings.core.check_open()
        return self._settings.template.get_float_property(name)

    @simplified
    def get_double_property(self, name: str) -> float:
        """Converted to double."""
        self._settings.core.check_open()
        return self._settings.template.get_double_property(name)

    @simplified
    def get_string_property(self, name: str) -> str | None:
        """Converted to text."""
        self._settings.core.check_open()
        return self._settings.template.get_string_property(name)


class _Names(Set[str]):
    """A live, unchangeable set of property names."""

    __slots__ = ("_template",)

    @classmethod
    def _from_iterable(cls, names: Iterable[str]) -> "frozenset[str]":  # type: ignore[override]
        return frozenset(names)  # the result of ``|`` and other operators

    def __init__(self, template: Message) -> None:
        self._template = template

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._template.property_exists(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._template.property_names)

    def __len__(self) -> int:
        return sum(1 for _ in self._template.property_names)

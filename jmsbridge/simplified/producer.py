"""The simplified API's producer (Jakarta Messaging 3.1 section 7.2)."""

import functools
from collections.abc import Callable, Iterable, Iterator, Set
from datetime import timedelta
from typing import Any, ClassVar, Concatenate, Never, ParamSpec, Self, TypeVar

import msgspec

from jmsbridge.core import arguments
from jmsbridge.core.modes import DeliveryMode
from jmsbridge.core.sending.tickets import Completion
from jmsbridge.core.session import SessionCore
from jmsbridge.destinations import DESTINATION_KINDS, Destination
from jmsbridge.errors import InvalidCall, JMSException, MessageNotWriteableException, unchecked
from jmsbridge.listeners import AnySimplifiedCompletionListener, as_completion
from jmsbridge.message import MESSAGE_KINDS, Message
from jmsbridge.sending import ObjectBody, Sendable, SendSettings, Shown, in_seconds, own_message, shown_setting
from jmsbridge.simplified.unchecked import simplified
from jmsbridge.strict import Strict
from jmsbridge.values import PropertyValue

__all__ = ["JMSProducer"]

P = ParamSpec("P")
R = TypeVar("R")


class _Settings(SendSettings, kw_only=True):
    """The settings of a JMSProducer, in one object, since a context creates many producers."""

    core: SessionCore
    listener: AnySimplifiedCompletionListener | None = None
    completion: Completion | None = None
    duplicate_id: str | None = None
    filled: Message | None = None
    headers: dict[str, Any] = msgspec.field(default_factory=dict)

    @property
    def template(self) -> Message:
        """A message that holds the properties, with their types and conversions; created when needed."""
        if self.filled is None:
            self.filled = Message()
        return self.filled


def _converted(read: Callable[Concatenate[Message, P], R]) -> Callable[Concatenate["JMSProducer", P], R]:
    """A method of the producer that reads one of its properties as this method of a message does."""

    @functools.wraps(read)
    @simplified
    def get(producer: "JMSProducer", /, *args: P.args, **kwargs: P.kwargs) -> R:
        producer._settings.core.check_open()
        return read(producer._settings.template, *args, **kwargs)

    return get


def _shown_header(name: str) -> Shown[Any]:
    return shown_setting("headers", lambda headers: headers.get(name), "None unless set.")


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
        self._settings = _Settings(core=core, _unchecked=True)
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

    async_listener: Shown[AnySimplifiedCompletionListener | None] = shown_setting(
        "listener", lambda value: value, "The completion listener; None when sends are synchronous."
    )

    @simplified
    def _set(self, name: str, convert: Callable[[Any], Any], value: Any) -> Self:
        self._settings.core.check_open()
        setattr(self._settings, name, convert(value))
        return self

    def set_delivery_mode(self, mode: int) -> Self:
        """PERSISTENT, NON_PERSISTENT or PERSISTENT_GROUPACK."""
        return self._set("mode", arguments.delivery_mode, mode)

    delivery_mode = shown_setting("mode", DeliveryMode, "PERSISTENT unless set.")

    def set_priority(self, priority: int) -> Self:
        """0 to 9."""
        return self._set("priority", arguments.priority, priority)

    priority = shown_setting("priority", int, "4 unless set.")

    def set_time_to_live(self, time_to_live: float | timedelta) -> Self:
        """Seconds until a message expires; 0 for never."""
        return self._set("ttl", arguments.milliseconds, time_to_live)

    time_to_live = shown_setting("ttl", in_seconds, "Seconds; 0 unless set.")

    def set_delivery_delay(self, delivery_delay: float | timedelta) -> Self:
        """Seconds until a message may be delivered."""
        return self._set("delay", arguments.milliseconds, delivery_delay)

    delivery_delay = shown_setting("delay", in_seconds, "Seconds; 0 unless set.")

    def set_disable_message_id(self, value: bool) -> Self:
        """Whether to send without JMSMessageID; always honoured."""
        return self._set("_no_id", bool, value)

    disable_message_id = shown_setting("_no_id", bool, "False unless set.")

    def set_disable_message_timestamp(self, value: bool) -> Self:
        """Whether to send without JMSTimestamp; always honoured."""
        return self._set("_no_timestamp", bool, value)

    disable_message_timestamp = shown_setting("_no_timestamp", bool, "False unless set.")

    def set_duplicate_id(self, duplicate_id: str | None) -> Self:
        """The application's own id of the messages sent from now on, for brokers that detect duplicates."""
        self._check()
        if duplicate_id is not None and not isinstance(duplicate_id, str):
            raise ValueError(f"duplicate_id must be text, not {duplicate_id!r}")
        self._settings.duplicate_id = duplicate_id
        return self

    duplicate_id: Shown[str | None] = shown_setting("duplicate_id", lambda value: value, "None unless set.")

    @property
    def unacknowledged(self) -> tuple[Message, ...]:
        """PERSISTENT_GROUPACK: copies, in send order, of exactly the messages not known to be safe."""
        return self._settings.unacknowledged()

    # ---- headers

    def set_jms_correlation_id(self, value: str | None) -> Self:
        """JMSCorrelationID of the messages sent."""
        self._settings.headers.pop("jms_correlation_id_as_bytes", None)
        return self._set_header("jms_correlation_id", value)

    jms_correlation_id: Shown[str | None] = _shown_header("jms_correlation_id")

    def set_jms_correlation_id_as_bytes(self, value: bytes | None) -> Self:
        """JMSCorrelationID as bytes; copied."""
        self._settings.headers.pop("jms_correlation_id", None)
        return self._set_header("jms_correlation_id_as_bytes", value)

    jms_correlation_id_as_bytes: Shown[bytes | None] = _shown_header("jms_correlation_id_as_bytes")

    def set_jms_type(self, value: str | None) -> Self:
        """JMSType of the messages sent."""
        return self._set_header("jms_type", value)

    jms_type: Shown[str | None] = _shown_header("jms_type")

    def set_jms_reply_to(self, value: Destination | None) -> Self:
        """JMSReplyTo of the messages sent."""
        return self._set_header("jms_reply_to", value)

    jms_reply_to: Shown[Destination | None] = _shown_header("jms_reply_to")

    @simplified
    def _set_header(self, name: str, value: Any) -> Self:
        self._settings.core.check_open()
        setattr(self._settings.template, name, value)  # checks the type, and copies
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

    get_object_property = _converted(Message.get_object_property)
    get_boolean_property = _converted(Message.get_boolean_property)
    get_byte_property = _converted(Message.get_byte_property)
    get_short_property = _converted(Message.get_short_property)
    get_int_property = _converted(Message.get_int_property)
    get_long_property = _converted(Message.get_long_property)
    get_float_property = _converted(Message.get_float_property)
    get_double_property = _converted(Message.get_double_property)
    get_string_property = _converted(Message.get_string_property)


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

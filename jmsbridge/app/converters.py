"""Converters: objects of the application as messages, and messages as objects.

Text, bytes and maps become the message that carries them. Everything else becomes JSON, with the name of its type in a
property, as Java's converters write and read it: Spring's ``MappingJackson2MessageConverter`` in the property that its
``typeIdPropertyName`` says, Quarkus (SmallRye) in ``_classname``.

The application says which name means which type. Nothing is imported or built because a message names it.
"""

import contextlib
from collections.abc import Mapping, MutableMapping
from types import NoneType
from typing import Any, Protocol, TypeVar, get_args, get_origin, is_typeddict, overload

from jmsbridge.app.hints import is_union, without_none
from jmsbridge.app.json_text import BadJson, JsonText, text_as
from jmsbridge.creating import Creating
from jmsbridge.errors import ConfigurationError, MessageFormatException
from jmsbridge.message import BytesMessage, MapMessage, Message, TextMessage

__all__ = ["ConversionException", "Converter", "JsonConverter", "converter_of"]

T = TypeVar("T")

_QUARKUS = "_classname"
_JAVA_TEXT = "java.lang.String"
_READ = ("_type", _QUARKUS)
_BOXED: dict[str, Any] = {
    _JAVA_TEXT: str,
    **dict.fromkeys(("java.lang.Byte", "java.lang.Short", "java.lang.Integer", "java.lang.Long"), int),
    **dict.fromkeys(("java.lang.Float", "java.lang.Double"), float),
    "java.lang.Boolean": bool,
}
"""Java's names for single values, which need no entry in ``types``."""
_BYTES = (bytes, bytearray, memoryview)
_PLAIN = (Message, str, *_BYTES, Mapping)
_UNNAMED = (bool, int, float, list, tuple, set, frozenset, Mapping)
"""Values that JSON has itself, or whose type has no name that both sides could know."""


class ConversionException(MessageFormatException):
    """A message cannot become the object asked for, or an object no message; the text says what to do about it."""


class Converter(Protocol):
    """Turns objects into messages and back. Used by several threads at once."""

    def to_message(self, session: Creating, value: Any) -> Message:
        """The message for an object, made by a session or a context; MessageFormatException if there can be none."""

    def from_message(self, message: Message, type: Any = None) -> Any:
        """The object of a message: of this type, or without one of the type that the message itself suggests.

        MessageFormatException if the message does not have such an object.
        """


def converter_of(given: Converter | None) -> Converter:
    """The converter, or a new ``JsonConverter``; ConfigurationError for anything else."""
    if given is None:
        return JsonConverter()
    methods = (getattr(given, name, None) for name in ("to_message", "from_message"))
    if isinstance(given, type) or not all(callable(method) for method in methods):
        raise ConfigurationError(
            f"{given!r} is not a converter: it needs to_message and from_message, as JsonConverter(…) has them"
        )
    return given


class JsonConverter:
    """Text, bytes and maps as they are, everything else as JSON: dataclasses, ``TypedDict``, msgspec's structs, and
    pydantic's models where it is installed. Thread-safe.

    ``types`` is the allow-list, from the names in messages to types; of several names for a type the first is written.
    A name that is not in it is refused, and so is an object whose type is not in it. Without ``types`` no name is
    written or read. ``type_property`` is the property with the name; ``_type`` and ``_classname`` are read as well.
    ``as_bytes`` writes a bytes message instead of a text message; both are read. ``max_size`` limits the
    bytes of JSON that is written or read, ``max_depth`` the nesting of what is read.
    """

    def __init__(
        self,
        types: Mapping[str, object] | None = None,
        type_property: str = "_type",
        *,
        as_bytes: bool = False,
        max_size: int = 16_000_000,
        max_depth: int = 100,
    ) -> None:
        if types is not None and not (isinstance(types, Mapping) and all(isinstance(name, str) for name in types)):
            raise ConfigurationError(f"types must be a mapping from names to types, not {types!r}")
        self._types: dict[str, Any] = dict(types or {})
        self._property = type_property
        self._properties = (type_property, *(name for name in _READ if name != type_property))
        self._as_bytes = as_bytes
        self._json = JsonText(max_size, max_depth)
        self._need_names: set[Any] = set()  # unions of which JSON itself does not say which type it is
        self._names: list[tuple[Any, str]] = [(kind, name) for name, kind in self._types.items()]
        self._objects: dict[Any, str] = {}  # those of them whose objects are never text, bytes, maps or messages
        for kind, name in self._names:
            if isinstance(kind, _Type) and not issubclass(kind, _PLAIN):
                self._objects.setdefault(kind, name)
        for kind in self._types.values():
            self._prepare(kind)

    def prepare(self, kind: Any) -> None:
        """Make ready for a type; ConfigurationError if it cannot be read from JSON."""
        try:
            self._prepare(kind)
        except ConfigurationError:
            if not (self._types and is_union(kind)):
                raise
            for each in get_args(kind):
                self._prepare(each)
            self._need_names.add(without_none(kind)[0])

    def _prepare(self, kind: Any) -> None:
        try:
            if not hasattr(kind, "model_validate_json"):
                self._json.prepare(kind)
        except (TypeError, NameError) as error:
            raise ConfigurationError(f"{_shown(kind)} cannot be read from JSON: {error}") from error

    # ---- objects to messages

    def to_message(self, session: Creating, value: Any, type: Any = None) -> Message:
        """The message for an object; a message is returned as it is, and None gives a message without a body.

        ``type`` says as what the object is written where it cannot show that itself: a ``TypedDict`` is a plain dict.
        """
        name = self._objects.get(value.__class__) if type is None else None
        if name is None and type is None:
            if isinstance(value, Message):
                return value
            if value is None:
                return session.create_message()
            if isinstance(value, str):
                return session.create_text_message(value)
            if isinstance(value, _BYTES):
                return _bytes_message(session, value)
            if isinstance(value, Mapping):
                return self._map_message(session, value)
        if name is None:
            name = self._name_of(value, type)
        try:
            text = self._json.encode(value)
        except BadJson as error:
            raise ConversionException(f"{error}; return or send a dataclass, a struct, text, bytes or a map") from error
        message: Message
        message = _bytes_message(session, text) if self._as_bytes else session.create_text_message(text.decode())
        if name is not None:
            message.set_string_property(self._property, name)
        return message

    def _map_message(self, session: Creating, value: Mapping[Any, Any]) -> Message:
        message = session.create_map_message()
        try:
            for name, each in value.items():
                message.set_object(name, each)
        except (MessageFormatException, ValueError, TypeError) as error:
            raise ConversionException(
                f"a dict becomes a map message, and this one does not fit: {error}; use a dataclass, or say its type "
                "(a listener by its annotation, a template by sent_as)"
            ) from error
        return message

    def _name_of(self, value: Any, kind: Any) -> str | None:
        wanted = value.__class__ if kind is None else kind
        for each, name in self._names:
            if each == wanted:
                return name
        if not self._types or (kind is None and isinstance(value, _UNNAMED)):
            return None
        alike = [name for each, name in self._names if get_origin(each) is wanted or get_origin(wanted) is each]
        if len(alike) == 1:  # an object of a generic class does not know what it is of
            return alike[0]
        if alike:
            raise ConversionException(
                f"{_shown(wanted)} may be any of {', '.join(alike)} in the converter's types: "
                "give each a class of its own, such as class Numbers(Box[int])"
            )
        raise ConversionException(
            f"{_shown(wanted)} has no name for the property {self._property!r}: add it to the converter's types, "
            f'such as {{"{getattr(wanted, "__qualname__", "order")}": {getattr(wanted, "__qualname__", "Order")}}}'
        )

    # ---- messages to objects

    @overload
    def from_message(self, message: Message, type: type[T]) -> T: ...
    @overload
    def from_message(self, message: Message, type: Any = None) -> Any: ...
    def from_message(self, message: Message, type: Any = None) -> Any:
        """The object of a message: of this type, or without one as the message says.

        Then a name in ``types`` gives JSON of that type, and a message without a name its text, bytes or dict; None
        for a message without a body. ConversionException says why there is no such object.
        """
        wanted, optional = without_none(type)
        if optional and not _has_body(message):
            return None
        if isinstance(wanted, _Type) and issubclass(wanted, Message):
            return _message_as(message, wanted)
        where, name = (self._property, None) if wanted is bytes else self._named(message)
        if (where == _QUARKUS) if name == _JAVA_TEXT else wanted is str:
            name = None  # the text itself, without quotes
        kind = wanted if name is None else self._allowed(name, where, wanted)
        if kind is None or (name is None and _is_plain(kind, message)):
            return _plain(message, kind)
        text = _json_of(message, kind)
        if optional and text.strip() == b"null":
            return None
        if kind in self._need_names:
            raise ConversionException(
                f"message {message.jms_message_id} has no property {self._property!r} that says which type of "
                f"{_shown(kind)} it is: correct the sender"
            )
        try:
            return self._json.decode(text, kind)
        except BadJson as error:
            if name is None and isinstance(message, TextMessage):
                with contextlib.suppress(BadJson):  # the first error is the one to report
                    return text_as(message.text or "", kind)
            named = "" if name is None else f", which property {where!r} names {name!r}"
            raise ConversionException(
                f"the body of message {message.jms_message_id} is no {_shown(kind)}{named}: {error}; "
                f"correct the sender, or the type that is read"
            ) from error

    def _named(self, message: Message) -> tuple[str, str | None]:
        """The property that names the type, and the name; None without ``types``, unless it is one of Java's."""
        for where in self._properties:
            if message.property_exists(where):
                name = message.get_string_property(where)
                if name is not None and (self._types or name in _BOXED):
                    return where, name
        return self._property, None

    def _allowed(self, name: str, where: str, wanted: Any) -> Any:
        kind = self._types.get(name) or _BOXED.get(name)
        if kind is None:
            raise ConversionException(
                f"property {where!r} names the type {name[:200]!r}, which is not allowed: "
                f"add it to the converter's types if it may be read ({', '.join(self._types) or 'none'} now)"
            )
        if wanted is None:
            return kind
        fitting = _fitting(kind, wanted)
        if fitting is not None:
            return fitting
        if name in _BOXED:
            return wanted
        raise ConversionException(
            f"property {where!r} names the type {name!r}, {_shown(kind)}, but {_shown(wanted)} is asked for: "
            f"ask for {_shown(kind)}, or send it elsewhere"
        )

    def __repr__(self) -> str:
        return f"<JsonConverter of {', '.join(self._types) or 'unnamed types'} in {self._property!r}>"


_Type = type  # the arguments named ``type`` hide it


def _shown(kind: Any) -> str:
    if is_union(kind):
        return " | ".join(map(_shown, get_args(kind)))
    if isinstance(get_origin(kind), type):
        return f"{_shown(get_origin(kind))}[{', '.join(map(_shown, get_args(kind)))}]"
    return getattr(kind, "__qualname__", None) or str(kind)


def _has_body(message: Message) -> bool:
    return not message.is_body_assignable_to(NoneType) or isinstance(message, MapMessage)


def _fitting(kind: Any, wanted: Any) -> Any:
    """The type to read where ``kind`` is named and ``wanted`` is asked for; None if an object of it is not wanted.

    A type that cannot be compared fits only itself; a generic class that is named fits what it is asked to be of.
    """
    if kind == wanted:
        return kind
    if is_union(wanted):
        return next((found for each in get_args(wanted) if (found := _fitting(kind, each)) is not None), None)
    if get_origin(wanted) is kind:
        return wanted
    if wanted in getattr(kind, "__orig_bases__", ()):
        return kind
    bare = get_origin(kind) or kind
    if is_typeddict(bare) or is_typeddict(wanted):
        return None
    return kind if isinstance(bare, type) and isinstance(wanted, type) and issubclass(bare, wanted) else None


def _message_as(message: Message, kind: type[Message]) -> Message:
    if isinstance(message, kind):
        return message
    raise ConversionException(f"message {message.jms_message_id} is a {type(message).__name__}, not a {kind.__name__}")


def _bytes_message(session: Creating, value: bytes | bytearray | memoryview) -> BytesMessage:
    message = session.create_bytes_message()
    message.write_bytes(value)
    return message


def _is_plain(kind: Any, message: Message) -> bool:
    """Whether the type is that of a body, which is not JSON."""
    if kind is str or kind is bytes:
        return True
    return isinstance(message, MapMessage) and (get_origin(kind) or kind) in (dict, Mapping, MutableMapping)


def _plain(message: Message, kind: Any) -> Any:
    """The body as it is."""
    origin: Any = get_origin(kind) or kind or object
    try:
        return message.get_body(origin)
    except MessageFormatException as error:
        raise ConversionException(
            f"message {message.jms_message_id} is a {type(message).__name__}, which has no {_shown(origin)}; "
            "ask for the Message itself to read it"
        ) from error


def _json_of(message: Message, kind: Any) -> bytes:
    if isinstance(message, TextMessage) and message.text is not None:
        return message.text.encode("utf-8", "surrogatepass")
    if isinstance(message, BytesMessage):
        return message.get_body(bytes) or b""
    body = "no body" if isinstance(message, TextMessage) else f"a {type(message).__name__}"
    raise ConversionException(
        f"message {message.jms_message_id} has {body}, and {_shown(kind)} is read from JSON in text or bytes"
    )

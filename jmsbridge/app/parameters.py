"""What a listener is called with: its parameters by their annotations."""

import inspect
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

from jmsbridge.app.converters import ConversionException, Converter
from jmsbridge.app.hints import without_none
from jmsbridge.errors import ConfigurationError, MessageFormatException
from jmsbridge.message import Message
from jmsbridge.session import Session

__all__ = ["Call", "Property", "call_of"]

_MISSING = inspect.Parameter.empty
_Read = Callable[[Message, Session], Any]


class Property(NamedTuple):
    """``Annotated[str, Property("tenant")]``: the parameter gets this property of the message.

    As str, int, float or bool; with ``| None`` or a default it may be missing.
    """

    name: str


class Call(NamedTuple):
    """How to call one listener."""

    function: Callable[..., Any]
    positional: tuple[_Read, ...]
    named: dict[str, _Read]
    is_async: bool
    returns: Any
    """The annotation of its result; None for a listener that says it has none."""
    takes_session: bool

    @property
    def may_send(self) -> bool:
        """Whether it may send: it gets the session, or does not say that it returns nothing."""
        return self.takes_session or self.returns is not None

    def arguments(self, message: Message, session: Session) -> tuple[list[Any], dict[str, Any]]:
        """The arguments for one message; ConversionException if it does not have them."""
        positional = [read(message, session) for read in self.positional]
        return positional, {name: read(message, session) for name, read in self.named.items()} if self.named else {}


def call_of(function: Any, converter: Converter, name: str) -> Call:
    """How to call this function; ConfigurationError if it cannot be a listener."""
    if not callable(function):
        raise ConfigurationError(f"{function!r} cannot be a listener: it is not callable")
    hints = _hints(function, name)
    positional: list[_Read] = []
    named: dict[str, _Read] = {}
    bodies: list[str] = []
    takes_session = False
    for parameter in inspect.signature(function).parameters.values():
        kind = hints.get(parameter.name, _MISSING)
        read = _reader(parameter, kind, converter, name)
        if read is None:
            continue
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
            named[parameter.name] = read
        else:
            positional.append(read)
        takes_session = takes_session or read is _session
        if read not in (_session, _message) and not (get_origin(kind) is Annotated and _property_of(kind)):
            bodies.append(parameter.name)
    if len(bodies) > 1:
        raise ConfigurationError(
            f"listener {name} has several parameters for the body: {', '.join(bodies)}; "
            'write Annotated[…, Property("name")] for those that are properties'
        )
    is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)
    returns = hints.get("return", Any)
    return Call(function, tuple(positional), named, is_async, None if returns is type(None) else returns, takes_session)


def _hints(function: Callable[..., Any], name: str) -> dict[str, Any]:
    target = function if inspect.isroutine(function) else type(function).__call__
    try:
        return get_type_hints(target, include_extras=True)
    except NameError as error:
        raise ConfigurationError(
            f"an annotation of listener {name} cannot be read: {error}; define the type at the top of its module"
        ) from error


def _reader(parameter: inspect.Parameter, kind: Any, converter: Converter, name: str) -> _Read | None:
    """How to get one argument; None for a parameter that keeps its default."""
    if parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
        raise ConfigurationError(f"listener {name} cannot have *{parameter.name}: name what it takes")
    where = f"parameter {parameter.name!r} of listener {name}"
    if get_origin(kind) is Annotated:
        wanted = _property_of(kind)
        if wanted is not None:
            return _property(wanted.name, get_args(kind)[0], parameter.default, where)
        kind = get_args(kind)[0]
    if isinstance(kind, type) and issubclass(kind, Session):
        return _session
    if kind is Message or (kind is _MISSING and parameter.default is _MISSING):
        return _message
    if parameter.default is not _MISSING:
        return None
    prepare = getattr(converter, "prepare", None)
    if prepare is not None and not (isinstance(kind, type) and issubclass(kind, Message)):
        prepare(kind)
    return lambda message, session: converter.from_message(message, kind)


def _property_of(kind: Any) -> Property | None:
    return next((each for each in get_args(kind)[1:] if isinstance(each, Property)), None)


def _session(message: Message, session: Session) -> Session:
    return session


def _message(message: Message, session: Session) -> Message:
    return message


_GETTERS: dict[Any, Callable[[Message, str], Any]] = {
    str: Message.get_string_property,
    int: lambda message, name: int(message.get_long_property(name)),
    float: lambda message, name: float(message.get_double_property(name)),
    bool: Message.get_boolean_property,
    None: Message.get_object_property,  # Any
}


def _property(name: str, kind: Any, default: Any, where: str) -> _Read:
    plain, optional = without_none(kind)
    get = _GETTERS.get(plain)
    if get is None:
        raise ConfigurationError(f"{where}: a property is read as str, int, float, bool or Any, not as {kind}")

    kind_shown = getattr(kind, "__name__", str(kind))

    def read(message: Message, session: Session) -> Any:
        if not message.property_exists(name):
            if default is not _MISSING:
                return default
            if optional:
                return None
            raise ConversionException(
                f"message {message.jms_message_id} has no property {name!r}, which {where} needs: "
                "correct the sender, or give the parameter a default"
            )
        try:
            return get(message, name)
        except (MessageFormatException, ValueError, TypeError) as error:
            given = type(message.get_object_property(name)).__name__
            raise ConversionException(
                f"property {name!r}, here a {given}, does not fit {where}, which is {kind_shown}: correct the sender"
            ) from error

    return read

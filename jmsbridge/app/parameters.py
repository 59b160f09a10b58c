"""What a listener is called with: its parameters by their annotations."""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

import msgspec

from jmsbridge.app.converters import ConversionException, Converter
from jmsbridge.app.hints import without_none
from jmsbridge.app.json_text import without_values
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
    if inspect.isclass(function):
        raise ConfigurationError(f"{function!r} cannot be a listener: it is a class")
    called = _code_of(function)
    if inspect.isgeneratorfunction(called) or inspect.isasyncgenfunction(called):
        raise ConfigurationError(f"listener {name} has a yield, so that a call would not run it: return the result")
    hints = _hints(called, name)
    positional: list[_Read] = []
    named: dict[str, _Read] = {}
    taken = _Taken(name)
    by_name = False  # after a parameter that keeps its default the others are given by name
    parameters = inspect.signature(function).parameters
    if next(iter(parameters), None) == "self":
        raise ConfigurationError(
            f"listener {name} is a method without its object: write app.listener(…)(the_object.method)"
        )
    for parameter in parameters.values():
        kind = hints.get(parameter.name, _MISSING)
        read = _reader(parameter, kind, converter, name)
        taken.add(parameter, kind, read)
        if read is None:
            by_name = True
        elif parameter.kind is inspect.Parameter.KEYWORD_ONLY or by_name:
            if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
                raise ConfigurationError(
                    f"parameter {parameter.name!r} of listener {name} cannot be filled after one with a default: "
                    "put it before that one"
                )
            named[parameter.name] = read
        else:
            positional.append(read)
    taken.check()
    is_async = inspect.iscoroutinefunction(called)
    returns = hints.get("return", Any)
    returned = None if returns is type(None) else returns
    return Call(function, tuple(positional), named, is_async, returned, taken.session)


class _Taken:
    """What the parameters of a listener take, so that none gets by mistake nothing of the message."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._bodies: list[str] = []
        self._kept: list[str] = []  # with an annotation and a default: they look like a body and never get it
        self._message = False
        self.session = False

    def add(self, parameter: inspect.Parameter, kind: Any, read: _Read | None) -> None:
        """A parameter, and how it is read."""
        if read is None:
            if kind is not _MISSING and parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
                self._kept.append(parameter.name)
        elif read is _session:
            self.session = True
        elif read is _message:
            self._message = True
        elif not (get_origin(kind) is Annotated and _property_of(kind)):
            self._bodies.append(parameter.name)

    def check(self) -> None:
        """ConfigurationError if they do not say what is the body."""
        if len(self._bodies) > 1:
            raise ConfigurationError(
                f"listener {self._name} has several parameters for the body: {', '.join(self._bodies)}; "
                'write Annotated[…, Property("name")] for those that are properties'
            )
        if self._kept and not self._bodies and not self._message:
            raise ConfigurationError(
                f"parameter {self._kept[0]!r} of listener {self._name} would always have its default: remove the "
                "default if it is for the body, or put the parameter behind a *"
            )


def _code_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function that a call runs: that of a partial one, or the ``__call__`` of an object."""
    while isinstance(function, partial):
        function = function.func
    return function if inspect.isroutine(function) else type(function).__call__


def _hints(called: Callable[..., Any], name: str) -> dict[str, Any]:
    try:
        return get_type_hints(called, include_extras=True)
    except NameError as error:
        raise ConfigurationError(
            f"an annotation of listener {name} cannot be read: {error}; define the type at the top of its module"
        ) from error


def _reader(parameter: inspect.Parameter, kind: Any, converter: Converter, name: str) -> _Read | None:
    """How to get one argument; None for a parameter that keeps its default."""
    if parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
        raise ConfigurationError(f"listener {name} cannot have *{parameter.name}: name what it takes")
    where = f"parameter {parameter.name!r} of listener {name}"
    marks: list[Any] = []
    if get_origin(kind) is Annotated:
        wanted = _property_of(kind)
        if wanted is not None:
            return _property(wanted.name, get_args(kind)[0], parameter.default, where)
        kind, *marks = get_args(kind)
    if isinstance(kind, type) and issubclass(kind, Session):
        return _session
    if kind is Message or (kind is _MISSING and parameter.default is _MISSING):
        return _message
    if parameter.default is not _MISSING:
        return None
    if not (isinstance(kind, type) and issubclass(kind, Message)):
        _prepare(converter, kind, where)
    return _body(converter, kind, _limits(kind, marks, where))


def _prepare(converter: Converter, kind: Any, where: str) -> None:
    if isinstance(kind, type) and kind.__module__.startswith("jmsbridge."):
        raise ConfigurationError(
            f"{where} is {kind.__module__}.{kind.__qualname__}, which listeners do not get: "
            "they get the message, its body, its properties and the jmsbridge.Session"
        )
    prepare = getattr(converter, "prepare", None)
    if prepare is not None:
        try:
            prepare(kind)
        except ConfigurationError as error:
            raise ConfigurationError(f"{where}: {error}") from error


def _limits(kind: Any, marks: list[Any], where: str) -> list[Callable[[Any], Any]]:
    """What checks the constraints in ``Annotated``, of msgspec and of pydantic (which has those of annotated_types)."""
    limits: list[Callable[[Any], Any]] = []
    own = [each for each in marks if isinstance(each, msgspec.Meta)]
    if own:
        limits.append(partial(_checked, Annotated[(kind, *own)]))
    others = [each for each in marks if type(each).__module__.partition(".")[0] in ("pydantic", "annotated_types")]
    if others:
        try:
            from pydantic import TypeAdapter

            limits.append(TypeAdapter(Annotated[(kind, *others)]).validate_python)
        except (ImportError, RuntimeError, TypeError) as error:
            why = str(error).partition("\n")[0]
            raise ConfigurationError(f"{where}: {others[0]!r} cannot be checked by pydantic: {why}") from error
    return limits


def _checked(kind: Any, found: Any) -> Any:
    msgspec.convert(found, kind)
    return found


def _body(converter: Converter, kind: Any, limits: list[Callable[[Any], Any]]) -> _Read:
    if not limits:
        return lambda message, session: converter.from_message(message, kind)

    def read(message: Message, session: Session) -> Any:
        found = converter.from_message(message, kind)
        try:
            for limit in limits:
                found = limit(found)
        except ValueError as error:
            why = without_values(error)
            raise ConversionException(f"the body of message {message.jms_message_id}: {why}") from error
        except Exception as error:  # raised by a check of the application; its text could quote a value
            why = f"a check raised {type(error).__name__}"
            raise ConversionException(f"the body of message {message.jms_message_id}: {why}") from error
        return found

    return read


def _property_of(kind: Any) -> Property | None:
    return next((each for each in get_args(kind)[1:] if isinstance(each, Property)), None)


def _session(message: Message, session: Session) -> Session:
    return session


def _message(message: Message, session: Session) -> Message:
    return message


def _number(message: Message, name: str) -> float:
    """A whole number is a number, too, which Java's conversions of properties do not say."""
    value = message.get_object_property(name)
    if isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return float(message.get_double_property(name))


_GETTERS: dict[Any, Callable[[Message, str], Any]] = {
    str: Message.get_string_property,
    int: lambda message, name: int(message.get_long_property(name)),
    float: _number,
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
        if optional and message.get_object_property(name) is None:
            return None
        try:
            return get(message, name)
        except (MessageFormatException, ValueError, TypeError) as error:
            given = type(message.get_object_property(name)).__name__
            raise ConversionException(
                f"property {name!r}, here a {given}, does not fit {where}, which is {kind_shown}: correct the sender"
            ) from error

    return read

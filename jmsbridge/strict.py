"""Classes that refuse unknown attributes and suggest the right one.

A Java programmer may write ``consumer.messageListener = f`` or ``message.setText("x")``. Python would silently accept
the first, and the listener would never be called. The subclasses of ``Strict`` in this library have ``__slots__``,
which refuses unknown names at no cost; a suggestion is computed only after an error. There is no ``__getattr__``, and
for messages no ``__setattr__``: these would slow down every access to an attribute.
"""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

__all__ = ["JavaNames", "Strict"]

_set = object.__setattr__


class _Misnamed:
    """A descriptor at a wrong name for an attribute; access to it raises AttributeError with the right name."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: object, owner: type) -> Any:
        own: dict[str, Any] = getattr(instance, "__dict__", {})  # an application's subclass may use the name
        if instance is not None and self.name in own:
            return own[self.name]
        raise _no_attribute(owner if instance is None else instance, self.name)

    def __set__(self, instance: object, value: object) -> None:
        if not hasattr(instance, "__dict__"):
            raise _no_attribute(instance, self.name, setting=True)
        instance.__dict__[self.name] = value


def _no_attribute(where: object, name: str, *, setting: bool = False) -> AttributeError:
    kind = where if isinstance(where, type) else type(where)
    return AttributeError(_text(kind, name, setting), name=name, obj=where)


def _text(kind: type, name: str, setting: bool) -> str:
    plain = f"{kind.__name__} has no attribute {name!r}"
    if not isinstance(_found(kind, name), _Misnamed | None):
        plain = f"{name} of {kind.__name__} cannot be set"
        setter = f"set_{name}"
        return f"{plain}; write {setter}(…)" if _is_public(kind, setter) else plain
    if name.startswith("_"):
        return plain
    advice = next((table[name] for base in kind.__mro__ if name in (table := vars(base).get("_advice", {}))), None)
    if advice is not None:
        return f"{plain}; {advice}"
    snake = _snake(name)
    for wanted in (snake, bare := re.sub("^(get|set|is)_", "", snake), f"jms_{bare}"):
        if _is_public(kind, wanted):
            return f"{plain}; write {_written(kind, wanted, setting or snake.startswith('set_'))}"
    near = get_close_matches(snake, [each for each in dir(kind) if _is_public(kind, each)], n=1)
    return f"{plain}; did you mean {_written(kind, near[0], setting)}?" if near else plain


def _found(kind: type, name: str) -> Any:
    """The class attribute of that name, without calling a descriptor."""
    return next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), None)


def _is_public(kind: type, name: str) -> bool:
    return not name.startswith("_") and not isinstance(_found(kind, name), _Misnamed | None)


def _written(kind: type, name: str, setting: bool) -> str:
    """An attribute as it is written when read, set or called."""
    found = _found(kind, name)
    if callable(getattr(found, "__func__", found)):
        return f"{name}(…)"
    return f"{name} = …" if setting and getattr(found, "fset", None) is not None else name


def _snake(name: str) -> str:
    """Java's ``getJMSMessageID`` as ``get_jms_message_id``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


_JAVA_WORDS = {"jms": "JMS", "jmsx": "JMSX", "id": "ID", "utf": "UTF", "xa": "XA"}


@cache
def _java_names(name: str, is_property: bool) -> tuple[str, ...]:
    """Java's names for an attribute, and mixtures of Java's and Python's style."""
    if name.startswith("_") or name.isupper():
        return ()
    words = name.split("_")
    pascal = "".join(_JAVA_WORDS.get(word, word.capitalize()) for word in words)
    found = [
        words[0] + "".join(_JAVA_WORDS.get(word, word.capitalize()) for word in words[1:]),
        words[0] + "".join(map(str.capitalize, words[1:])),
    ]
    if is_property:
        found += [f"get{pascal}", f"set{pascal}", f"is{pascal}", pascal, f"get_{name}", f"set_{name}"]
        if words[0] == "jms":  # also without the prefix
            rest = "_".join(words[1:])
            found += [rest, *_java_names(rest, False)]
    return tuple(found)


class _Kind(type):
    """Hides the wrong names from ``dir`` and ``help``."""

    def __dir__(cls) -> Iterable[str]:
        return [name for name in super().__dir__() if not isinstance(_found(cls, name), _Misnamed)]


class JavaNames(metaclass=_Kind):
    """Answers reads and writes of Java's names, and of other common mistakes, with an error naming the right one.

    Other unknown names raise Python's own error.
    """

    __slots__ = ()
    _advice: ClassVar[dict[str, str]] = {}
    """Other wrong names that users try, and the advice for each."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        has = {name: value for base in reversed(cls.__mro__) for name, value in vars(base).items()}
        own = {name: value for name, value in has.items() if not isinstance(value, _Misnamed)}
        tried = [wrong for name, value in own.items() for wrong in _java_names(name, isinstance(value, property))]
        advised = [wrong for base in cls.__mro__ for wrong in vars(base).get("_advice", {})]
        for wrong in {*advised, *tried} - has.keys():
            setattr(cls, wrong, _Misnamed(wrong))

    def __dir__(self) -> Iterable[str]:
        return [name for name in super().__dir__() if not isinstance(_found(type(self), name), _Misnamed)]


class Strict(JavaNames):
    """Also answers the setting of any other unknown name with the nearest one."""

    __slots__ = ()

    if not TYPE_CHECKING:  # for a type checker it would allow every attribute

        def __setattr__(self, name: str, value: object) -> None:
            try:
                _set(self, name, value)
            except AttributeError as error:
                raise _no_attribute(self, name, setting=True) from error

"""Java enumerations and sets with content from Python."""

from collections.abc import Callable, Iterator
from typing import Any

import jpype

from integration.conformance import machine, texts

__all__ = ["Sequences"]

_END = object()


@machine.implements("java.util.Enumeration")
class _Messages:
    """A Java enumeration over an iterator; it looks one message ahead, to know whether there is one."""

    def __init__(self, faces: Any, messages: Iterator[Any]) -> None:
        self._faces = faces
        self._messages = messages
        self._next: Any = None

    def _ahead(self) -> Any:
        if self._next is None:
            try:
                self._next = next(self._messages, _END)
            except Exception as error:
                raise self._faces.errors.to_java(error, checked=False) from error
        return self._next

    @machine.override
    def hasMoreElements(self) -> bool:  # noqa: N802 - Java's name
        return self._ahead() is not _END

    @machine.override
    def nextElement(self) -> Any:  # noqa: N802 - Java's name
        message = self._ahead()
        if message is _END:
            raise jpype.JClass("java.util.NoSuchElementException")("there are no more messages")
        self._next = None
        return self._faces.of(message)


@machine.implements("java.lang.reflect.InvocationHandler")
class _Live:
    """Receives the calls of a Java object, and forwards each to a newly created object."""

    def __init__(self, faces: Any, make: Callable[[], Any]) -> None:
        self._faces = faces
        self._make = make

    @machine.override
    def invoke(self, proxy: Any, method: Any, arguments: Any) -> Any:
        try:
            return method.invoke(self._make(), arguments)
        except jpype.JClass("java.lang.reflect.InvocationTargetException") as error:
            raise error.getCause() from None
        except Exception as error:
            raise self._faces.errors.to_java(error, checked=False) from error


class Sequences:
    """Makes them."""

    def __init__(self, faces: Any) -> None:
        self._faces = faces

    def enumeration(self, messages: Iterator[Any]) -> Any:
        """A Java enumeration over the messages of a browser's iterator."""
        return _Messages(self._faces, messages)

    def names(self, names: Any) -> Any:
        """A Java set that follows the Python names and cannot be changed."""

        def make() -> Any:
            copy = jpype.JClass("java.util.HashSet")()
            for name in names:
                copy.add(texts.to_java(name))
            return jpype.JClass("java.util.Collections").unmodifiableSet(copy)

        return machine.proxy("java.util.Set", _Live(self._faces, make))

"""Java's classes and objects as message bodies: the requested type, and the content of object messages."""

from collections.abc import Callable
from typing import Any

import jpype

from jmsbridge import JavaObject, MessageFormatException
from jmsbridge.errors import NullValueError

__all__ = ["Kinds", "Streams"]


class _Kind(type):
    """The metaclass of Python types that represent Java classes: ``isinstance`` and ``issubclass`` ask Java."""

    java: Any
    kinds: "Kinds"

    def __instancecheck__(cls, value: Any) -> bool:
        return bool(cls.java.isInstance(cls.kinds.to_java(value)))

    def __subclasscheck__(cls, kind: type) -> bool:
        java = cls.kinds.classes.get(kind)
        return java is not None and bool(cls.java.isAssignableFrom(java))


class Kinds:
    """Types for ``get_body`` and ``receive_body``, made from ``Class`` objects."""

    def __init__(self, to_java: Callable[[Any], Any]) -> None:
        self.to_java = to_java
        self.classes: dict[type, Any] = {
            str: jpype.JClass("java.lang.String").class_,
            bytes: jpype.JArray(jpype.JByte).class_,
            dict: jpype.JClass("java.util.Map").class_,
        }

    def of(self, java: Any) -> type:
        """The type for a Java class."""
        if java is None:
            raise NullValueError("a class is needed, not null")
        return _Kind(str(java.getName()), (), {"java": java, "kinds": self})


class Streams:
    """Java's serialisation, so that every object comes back with its class."""

    def write(self, value: Any) -> JavaObject | None:
        """A serializable object in the form of the facade; MessageFormatException if it is not serializable."""
        if value is None:
            return None
        buffer = jpype.JClass("java.io.ByteArrayOutputStream")()
        try:
            stream = jpype.JClass("java.io.ObjectOutputStream")(buffer)
            stream.writeObject(value)
            stream.close()
        except jpype.JClass("java.io.IOException") as error:
            raise MessageFormatException(f"the object cannot be serialised: {error}") from error
        return JavaObject(str(value.getClass().getName()), bytes(buffer.toByteArray()))

    def read(self, value: bytes | JavaObject | None) -> Any:
        """The object of a stream; MessageFormatException if Java cannot read it."""
        if value is None:
            return None
        if isinstance(value, JavaObject):
            value = value.data
        if not isinstance(value, bytes):
            raise TypeError(f"a {type(value).__name__} has no Java form")
        buffer = jpype.JClass("java.io.ByteArrayInputStream")(jpype.JArray(jpype.JByte)(value))
        try:
            return jpype.JClass("java.io.ObjectInputStream")(buffer).readObject()
        except (jpype.JClass("java.io.IOException"), jpype.JClass("java.lang.ClassNotFoundException")) as error:
            raise MessageFormatException(f"the object cannot be read: {error}") from error

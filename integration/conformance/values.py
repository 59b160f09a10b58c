"""Conversion of values: each converter has a Java type and converts in both directions, with exact boxed types."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jpype

from integration.conformance import texts
from integration.conformance.bodies import Kinds, Streams
from jmsbridge import BytesMessage, MapMessage, ObjectMessage, TextMessage
from jmsbridge.values import Byte, Char, Double, Float, Int, Long, Short

__all__ = ["Converter", "Values"]


class Converter(NamedTuple):
    """One word of the table: the Java type in a signature, and the conversions in both directions."""

    java: str
    to_python: Callable[[Any], Any]
    to_java: Callable[[Any], Any]


class Values:
    """All converters that need no faces, by their names in the table."""

    def __init__(self) -> None:
        self._string = jpype.JClass("java.lang.String")
        self._bytes = jpype.JArray(jpype.JByte)
        boxes: dict[str, Callable[[Any], Any]] = {
            "Boolean": bool,
            "Byte": Byte,
            "Short": Short,
            "Integer": int,
            "Long": Long,
            "Float": Float,
        }
        more: dict[str, Callable[[Any], Any]] = {"Double": float, "Character": _char}
        self._unboxed: dict[Any, Callable[[Any], Any]] = {
            jpype.JClass(f"java.lang.{name}"): kind for name, kind in (boxes | more).items()
        }
        self._unboxed |= {self._string: texts.to_python, self._bytes: bytes}
        self._boxed: dict[type, Callable[[Any], Any]] = {
            bool: jpype.JBoolean,
            Byte: jpype.JByte,
            Short: jpype.JShort,
            int: jpype.JInt,
            Int: jpype.JInt,
            Long: jpype.JLong,
            Float: jpype.JFloat,
            float: jpype.JDouble,
            Double: jpype.JDouble,
            Char: jpype.JChar,
            str: texts.to_java,
            bytes: self._bytes,
            dict: self._map_to_java,
            list: self._list_to_java,
        }
        self.kinds = Kinds(self.object_to_java)
        self._streams = Streams()
        self.serializable_to_java = self._streams.read
        self.converters = {name: Converter(*parts) for name, parts in self._table().items()}

    def _table(self) -> dict[str, tuple[str, Callable[[Any], Any], Callable[[Any], Any]]]:
        text, thing = (texts.to_python, texts.to_java), (self.object_to_python, self.object_to_java)
        string, octets = "java.lang.String", (_octets, self._octets_to_java)
        return {
            "void": ("void", _same, _nothing),
            "boolean": ("boolean", bool, jpype.JBoolean),
            "byte": ("byte", Byte, jpype.JByte),
            "short": ("short", Short, jpype.JShort),
            "char": ("char", _char, jpype.JChar),
            "int": ("int", int, jpype.JInt),
            "long": ("long", Long, jpype.JLong),
            "float": ("float", Float, jpype.JFloat),
            "double": ("double", float, jpype.JDouble),
            "ms": ("long", _seconds, _milliseconds),
            "timeout": ("long", _timeout, _same),
            "String": (string, *text),
            "Object": ("java.lang.Object", *thing),
            "byte[]": ("byte[]", *octets),
            "buffer": ("byte[]", _same, _same),
            "Class": ("java.lang.Class", self.kinds.of, _same),
            "Names": ("java.util.Enumeration", self._names_to_python, self._names_to_java),
            "Serializable": ("java.io.Serializable", self._streams.write, self._streams.read),
            "TextBody": (string, _or_empty(TextMessage, texts.to_python), _same),
            "BytesBody": ("byte[]", _or_empty(BytesMessage, _octets), _same),
            "MapBody": ("java.util.Map", _or_empty(MapMessage, self._map_to_python), _same),
            "ObjectBody": ("java.io.Serializable", _or_empty(ObjectMessage, self._streams.write), _same),
        }

    def object_to_python(self, value: Any) -> Any:
        """A boxed value as the Python value of exactly that type; anything else unchanged."""
        convert = self._unboxed.get(type(value))
        return value if convert is None else convert(value)

    def object_to_java(self, value: Any) -> Any:
        """A Python value in the Java box of exactly its type."""
        if value is None or isinstance(value, (jpype.JObject, jpype.JException)):
            return value
        box = self._boxed.get(type(value))
        if box is not None:
            return box(value)
        return self._streams.read(value)

    def _octets_to_java(self, value: bytes | None) -> Any:
        return None if value is None else self._bytes(value)

    def _map_to_java(self, value: dict[Any, Any]) -> Any:
        made = jpype.JClass("java.util.HashMap")()
        for key, each in value.items():
            made.put(self.object_to_java(key), self.object_to_java(each))
        return made

    def _list_to_java(self, value: list[Any]) -> Any:
        made = jpype.JClass("java.util.ArrayList")()
        for each in value:
            made.add(self.object_to_java(each))
        return made

    def _map_to_python(self, value: Any) -> dict[Any, Any]:
        entries = value.entrySet().toArray()
        return {self.object_to_python(each.getKey()): self.object_to_python(each.getValue()) for each in entries}

    def _names_to_java(self, value: Any) -> Any:
        return jpype.JClass("java.util.Collections").enumeration(self._list_to_java(list(value)))

    def _names_to_python(self, value: Any) -> list[str | None]:
        return [texts.to_python(each) for each in jpype.JClass("java.util.Collections").list(value).toArray()]


def _nothing(value: Any) -> None:
    """Some calls return what tasks await."""


def _same(value: Any) -> Any:
    return value


def _char(value: Any) -> Char:
    return Char(chr(ord(value)))


def _octets(value: Any) -> bytes | None:
    return None if value is None else bytes(value)


def _seconds(value: Any) -> float:
    return int(value) / 1000


def _milliseconds(value: float) -> Any:
    return jpype.JLong(round(value * 1000))


def _timeout(value: Any) -> float | None:
    """Java's 0 waits for ever, Python's does not wait."""
    return int(value) / 1000 if int(value) else None


def _or_empty(kind: type, convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: kind() if value is None else convert(value)

"""Messages of other Java providers, in the form that the facade accepts (section 3.12)."""

from collections.abc import Callable
from typing import Any

import jpype

from integration.conformance.threads import Held
from jmsbridge.java_api import INTERFACES, Row, rows

__all__ = ["Foreign"]

_BODIES = tuple(name for name in INTERFACES if name.endswith("Message") and name != "Message")


class _Message(Held):
    """The common part; the rest is generated from the table, read from right to left."""


class Foreign:
    """Python objects for foreign Java messages, and back."""

    def __init__(self, faces: Any) -> None:
        self._faces = faces
        self._classes: dict[str, type[_Message]] = {}

    def to_python(self, java: Any) -> Any:
        """Our message behind a Java object, or a Python object with a foreign one's content; None for null."""
        if java is None:
            return None
        handler = self._faces.handler(java)
        if handler is not None:
            return handler.target
        api = self._faces.api
        if not isinstance(java, jpype.JClass(f"{api}.Message")):
            return java
        name = next((name for name in _BODIES if isinstance(java, jpype.JClass(f"{api}.{name}"))), "Message")
        if name not in self._classes:
            self._classes[name] = self._made(name)
        return self._classes[name](java)

    def to_java(self, message: Any) -> Any:
        """The Java object; a foreign one is the original."""
        return message.java if isinstance(message, _Message) else self._faces.of(message)

    def _made(self, name: str) -> type[_Message]:
        members: dict[str, Any] = {}
        for row in (*rows("Message"), *(rows(name) if name != "Message" else ())):
            self._add(members, row)
        if name == "ObjectMessage":
            members["object"] = property(self._caller("getObject", (), "Serializable"))
        if name in ("BytesMessage", "StreamMessage"):
            members["read_bytes"] = self._reader()
        return type(f"Foreign{name}", (_Message,), members)

    def _add(self, members: dict[str, Any], row: Row) -> None:
        call = self._caller(row.java, row.takes, row.returns)
        if row.reads:
            members[row.reads] = property(call, getattr(members.get(row.reads), "fset", None))
        elif row.writes:
            members[row.writes] = property(getattr(members.get(row.writes), "fget", None), call)
        elif row.calls:
            members.setdefault(row.calls, call)

    def _caller(self, name: str, takes: tuple[str, ...], returns: str) -> Callable[..., Any]:
        faces = self._faces

        def call(message: _Message, *arguments: Any) -> Any:
            converted = [faces.converter(each).to_java(value) for each, value in zip(takes, arguments, strict=True)]
            try:
                result = getattr(message.java, name)(*converted)
            except jpype.JException as error:
                raise faces.errors.to_python(error) from error
            return faces.converter(returns).to_python(result)

        return call

    def _reader(self) -> Callable[..., int]:
        faces = self._faces

        def read_bytes(message: _Message, buffer: bytearray) -> int:
            array = jpype.JArray(jpype.JByte)(len(buffer))
            try:
                count = int(message.java.readBytes(array))
            except jpype.JException as error:
                raise faces.errors.to_python(error) from error
            if count > 0:
                buffer[:count] = bytes(array)[:count]
            return count

        return read_bytes

"""``ObjectMessage`` (section 3.11.5): None, booleans, numbers, text, bytes, lists and dictionaries, as Java objects."""

import builtins
from typing import Any

from jmsbridge.codecs import javaserial
from jmsbridge.errors import MessageFormatException
from jmsbridge.messages.base import Message
from jmsbridge.spi.envelope import BodyKind
from jmsbridge.values import JavaValue

__all__ = ["ObjectMessage"]


class ObjectMessage(Message):
    """A message whose body is an object that Java can read.

    The object is encoded when it is set, so later changes to it do not reach the message, and decoded at each read. A
    received object of another Java class is a ``JavaObject``, which can be set, and so forwarded, unchanged.
    """

    __slots__ = ("_data",)
    _kind = BodyKind.OBJECT
    _data: bytes | None

    def __init__(self, value: "builtins.object" = None) -> None:
        Message.__init__(self)
        self._data = None if value is None else _encode(value)

    @property
    def object(self) -> JavaValue:
        """The object, decoded anew at each read; MessageFormatException if it has no Java form or is malformed."""
        if self._gate is not None:
            self._refuse()
        return self._decode()

    @object.setter
    def object(self, value: "builtins.object") -> None:
        if self._gate is not None:
            self._refuse()
        if self._body_read_only:
            self._refuse_write()
        self._data = None if value is None else _encode(value)

    @property
    def java_stream(self) -> bytes | None:
        """The object as Java's serialisation stream, for readers that know more classes; None if there is none."""
        if self._gate is not None:
            self._refuse()
        return self._data

    def _decode(self) -> JavaValue:
        if self._data is None:
            return None
        try:
            value: JavaValue = javaserial.loads(self._data)
        except javaserial.JavaSerialError as error:
            raise MessageFormatException(f"the object cannot be decoded: {error}") from error
        return value

    def _clear(self) -> None:
        self._data = None

    def _load(self, body: Any) -> None:
        self._data = body

    def _snapshot(self) -> bytes | None:
        return self._data

    def _has_body(self) -> bool:
        return self._data is not None and self._data != _NULL

    def _assignable(self, kind: type) -> bool:
        return isinstance(self._decode(), kind)

    def _body(self, kind: type) -> Any:
        value = self._decode()
        return value if isinstance(value, kind) else Message._body(self, kind)


_NULL = javaserial.dumps(None)


def _encode(value: Any) -> bytes:
    try:
        return javaserial.dumps(value)
    except javaserial.JavaSerialError as error:
        raise MessageFormatException(str(error)) from error

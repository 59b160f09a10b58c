"""Reads Java objects in a stream, as far as needed to find what comes after them.

RabbitMQ's Java client writes destinations as objects. Nothing is instantiated or executed: an object becomes its class
name and its fields; of everything else only the length is determined.
"""

from typing import Any, Final, NamedTuple, NoReturn

from jmsbridge.codecs.javaserial import JavaSerialError
from jmsbridge.codecs.javastream import SIZES, JavaStream, Tag
from jmsbridge_rabbitmq.protocol.fields import Malformed

__all__ = ["JavaFields", "ObjectReader"]

_EXTERNALIZABLE, _BLOCK_DATA = 4, 8
_MOST_RECENT: Final = 8
_LONGEST: Final = 1024
# A cache of the first objects of recent streams, because each message of a queue has its destination there. Replaced as
# a whole, so that threads need no lock.
_recent: tuple[tuple[bytes, Any, tuple[Any, ...]], ...] = ()


class JavaFields(NamedTuple):
    """An object: its class name and its fields."""

    class_name: str
    fields: dict[str, Any]


class ObjectReader(JavaStream):
    """Reads the objects of one stream, which share their back references."""

    max_depth = max_parents = 64

    def read(self, offset: int) -> tuple[Any, int]:
        """The object at ``offset``, and the offset after it; Malformed."""
        global _recent
        data = self._data
        is_first = not self._handles
        if is_first:
            for raw, value, handles in _recent:
                if data.startswith(raw, offset):
                    self._handles = list(handles)
                    return value, offset + len(raw)
        self._at = offset
        try:
            value = self._content()
        except JavaSerialError as error:
            raise Malformed(f"an object in a Java message cannot be read: {error}") from error
        if is_first and self._at - offset <= _LONGEST:
            _recent = ((data[offset : self._at], value, tuple(self._handles)), *_recent[: _MOST_RECENT - 1])
        return value, self._at

    def _unreadable(self, name: str) -> NoReturn:
        limit = f"classes or objects are nested more than {self.max_depth} levels deep"
        raise JavaSerialError(f"only {name} itself knows how long it is" if name else limit)

    def _class_annotation(self, name: str) -> None:
        self._annotations()

    def _element(self, tag: int) -> Any:
        if tag == Tag.OBJECT:
            return self._object()
        if tag == Tag.ARRAY:
            return self._array()
        if tag == Tag.ENUM:  # its value is the name of the constant
            self._class_desc()
            self._new_handle(None)
            return self._content()
        raise JavaSerialError(f"unexpected type code {tag:#04x} before byte {self._at}")

    def _object(self) -> JavaFields:
        described = self._class_desc()
        made = JavaFields(described.name, {})
        self._new_handle(made)
        for one in (*described.parents, described):
            if one.is_serializable:
                made.fields.update(self._part(one).fields)
            elif one.flags & _EXTERNALIZABLE:
                if not one.flags & _BLOCK_DATA:
                    self._unreadable(one.name)
                self._annotations()
        return made

    def _array(self) -> None:
        described = self._class_desc()
        self._new_handle(None)
        count = self._number(4)
        size = SIZES.get(described.name[1:])
        if size is not None:
            self._take(count * size)
            return
        # Without allocating a list, so that a wrong length only meets the end of the bytes.
        for _ in range(count):
            self._content()

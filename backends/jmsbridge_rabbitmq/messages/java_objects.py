"""Reads Java objects in a stream, as far as needed to find what comes after them.

RabbitMQ's Java client writes destinations as objects. Nothing is instantiated or executed: an object becomes its class
name and its fields; of everything else only the length is determined.
"""

from typing import Any, Final, NamedTuple

from jmsbridge.codecs import mutf8
from jmsbridge_rabbitmq.protocol.fields import Malformed

__all__ = ["JavaFields", "ObjectReader"]

_FIRST_HANDLE: Final = 0x7E0000
_MAX_DEPTH: Final = 64
_SIZES: Final = {"B": 1, "C": 2, "D": 8, "F": 4, "I": 4, "J": 8, "S": 2, "Z": 1}
_WRITE_METHOD, _SERIALIZABLE, _EXTERNALIZABLE, _BLOCK_DATA = 1, 2, 4, 8


_MOST_RECENT: Final = 8
_LONGEST: Final = 1024
# A cache of the first objects of recent streams, because each message of a queue has its destination there. Replaced as
# a whole, so that threads need no lock.
_recent: tuple[tuple[bytes, Any, tuple[Any, ...]], ...] = ()


class JavaFields(NamedTuple):
    """An object: its class name, and its fields, with other primitives than booleans as bytes."""

    class_name: str
    fields: dict[str, Any]


class _Class(NamedTuple):
    name: str
    flags: int
    fields: tuple[tuple[str, str], ...]
    parent: "_Class | None"


class ObjectReader:
    """Reads the objects of one stream, which share their back references."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._handles: list[Any] = []
        self._depth = 0

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
        value = self._content()
        if is_first and self._at - offset <= _LONGEST:
            _recent = ((data[offset : self._at], value, tuple(self._handles)), *_recent[: _MOST_RECENT - 1])
        return value, self._at

    def _take(self, count: int) -> bytes:
        end = self._at + count
        if end > len(self._data):
            raise Malformed(f"a Java object is cut off within the {count} bytes at byte {self._at}")
        data = self._data[self._at : end]
        self._at = end
        return data

    def _number(self, size: int) -> int:
        return int.from_bytes(self._take(size), "big")

    def _text(self, size: int) -> str:
        try:
            return mutf8.decode(self._take(size))
        except mutf8.ModifiedUtf8Error as error:
            raise Malformed(f"a Java text before byte {self._at} is malformed") from error

    def _content(self) -> Any:
        tag = self._number(1)
        if tag == 0x70:
            return None
        if tag == 0x71:
            return self._reference()
        if tag in (0x74, 0x7C):
            found = self._text(self._number(2 if tag == 0x74 else 8))
            self._handles.append(found)
            return found
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise Malformed(f"Java objects are nested more than {_MAX_DEPTH} levels deep")
        value: Any = None
        if tag == 0x73:
            value = self._object()
        elif tag == 0x75:
            self._array()
        elif tag == 0x7E:
            self._class_desc()
            self._handles.append(None)
            value = self._content()
        else:
            raise Malformed(f"a Java object has the unknown type code {tag:#04x} before byte {self._at}")
        self._depth -= 1
        return value

    def _reference(self) -> Any:
        handle = self._number(4) - _FIRST_HANDLE
        if not 0 <= handle < len(self._handles):
            raise Malformed(f"a Java reference before byte {self._at} is invalid")
        return self._handles[handle]

    def _class_desc(self) -> _Class | None:
        tag = self._number(1)
        if tag == 0x70:
            return None
        if tag == 0x71:
            found = self._reference()
            if not isinstance(found, _Class):
                raise Malformed(f"a Java reference before byte {self._at} does not refer to a class")
            return found
        self._depth += 1
        if tag != 0x72 or self._depth > _MAX_DEPTH:
            raise Malformed(f"a Java class before byte {self._at} cannot be read")
        name = self._text(self._number(2))
        self._take(8)
        handle = len(self._handles)
        self._handles.append(None)
        flags = self._number(1)
        fields = []
        for _ in range(self._number(2)):
            code = chr(self._number(1))
            fields.append((code, self._text(self._number(2))))
            if code not in _SIZES:
                self._content()
        self._annotations()
        described = _Class(name, flags, tuple(fields), self._class_desc())
        self._handles[handle] = described
        self._depth -= 1
        return described

    def _annotations(self) -> None:
        while (tag := self._number(1)) != 0x78:
            if tag == 0x77:
                self._take(self._number(1))
            elif tag == 0x7A:
                self._take(self._number(4))
            else:
                self._at -= 1
                self._content()

    def _object(self) -> JavaFields:
        described = self._class_desc()
        if described is None:
            raise Malformed(f"a Java object before byte {self._at} has no class")
        values: dict[str, Any] = {}
        made = JavaFields(described.name, values)
        self._handles.append(made)
        chain = []
        level: _Class | None = described
        while level is not None:
            chain.append(level)
            level = level.parent
        for one in reversed(chain):
            if one.flags & _SERIALIZABLE:
                for code, name in one.fields:
                    values[name] = self._value(code)
            elif one.flags & _EXTERNALIZABLE and not one.flags & _BLOCK_DATA:
                raise Malformed(f"the length of a Java object of {one.name} is known only to its class")
            if one.flags & (_WRITE_METHOD | _EXTERNALIZABLE):
                self._annotations()
        return made

    def _value(self, code: str) -> Any:
        size = _SIZES.get(code)
        if size is None:
            return self._content()
        data = self._take(size)
        return data != b"\0" if code == "Z" else data

    def _array(self) -> None:
        described = self._class_desc()
        self._handles.append(None)
        count = self._number(4)
        size = None if described is None else _SIZES.get(described.name[1:])
        if size is not None:
            self._take(count * size)
            return
        # Without allocating a list, so that a wrong length only meets the end of the bytes.
        for _ in range(count):
            self._content()

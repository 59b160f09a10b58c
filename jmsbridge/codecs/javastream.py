"""The elements of a Java serialisation stream, with their back references (Java Object Serialization Specification).

``JavaStream`` reads what all readers of such streams need; a subclass says what becomes of objects and arrays. Sizes
are checked against the bytes available, and the depth against a constant, so that the cost of a hostile stream is
bounded by its length.
"""

import struct
from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple, NoReturn

from jmsbridge.codecs import mutf8
from jmsbridge.codecs._serial_common import FIRST_HANDLE, JavaSerialError, Tag

__all__ = ["PENDING", "SIZES", "JavaClass", "JavaPart", "JavaStream", "Tag"]

PENDING = object()
"""Stands for an object or class that is being read."""

_CODES = {"B": "b", "C": "H", "D": "d", "F": "f", "I": "i", "J": "q", "S": "h", "Z": "?"}
SIZES = {code: struct.calcsize(f">{layout}") for code, layout in _CODES.items()}
"""The bytes of each primitive, by its type code."""


class JavaClass(NamedTuple):
    """A class: its primitives, the names of all its fields, primitives first, and its parents, the topmost first."""

    name: str
    flags: int
    primitives: struct.Struct
    fields: tuple[str, ...]
    parents: tuple["JavaClass", ...]

    @property
    def is_serializable(self) -> bool:
        """Whether the fields are in the stream."""
        return self.flags & 2 != 0

    @property
    def has_extra_data(self) -> bool:
        """Whether blocks and objects follow the fields: the class has its own ``writeObject``."""
        return self.flags & 1 != 0


class JavaPart(NamedTuple):
    """What one class of an object's hierarchy wrote."""

    fields: dict[str, Any]
    block: bytes
    objects: list[Any]


class JavaStream(ABC):
    """Reads elements from ``_at`` on; JavaSerialError for bytes that are not a stream."""

    max_depth: ClassVar[int]
    """How deep objects and arrays may be nested."""
    max_parents: ClassVar[int]
    """How many classes a class may extend."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._handles: list[Any] = []
        self._depth = 0
        self._first_class = ""

    # -- for subclasses

    @abstractmethod
    def _element(self, tag: int) -> Any:
        """The value of an element that is not null, a text or a reference."""

    @abstractmethod
    def _unreadable(self, name: str) -> NoReturn:
        """Stop at something valid that is not read here; ``name`` is its class, empty for a limit that was exceeded."""

    @abstractmethod
    def _class_annotation(self, name: str) -> None:
        """Read what the writer may have added to a class, up to the end mark."""

    # -- elements

    def _take(self, count: int) -> bytes:
        data = self._data[self._at : self._at + count]
        if len(data) != count:
            raise JavaSerialError(f"the stream ends within the {count} bytes at byte {self._at}")
        self._at += count
        return data

    def _number(self, size: int) -> int:
        return int.from_bytes(self._take(size), "big")

    def _text(self, size: int) -> str:
        try:
            return mutf8.decode(self._take(size))
        except mutf8.ModifiedUtf8Error as error:
            raise JavaSerialError(f"a text before byte {self._at} is malformed: {error}") from error

    def _new_handle(self, value: Any) -> int:
        self._handles.append(value)
        return len(self._handles) - 1

    def _content(self) -> Any:
        tag = self._number(1)
        if tag == Tag.NULL:
            return None
        if tag in (Tag.STRING, Tag.LONGSTRING):
            text = self._text(self._number(2 if tag == Tag.STRING else 8))
            self._new_handle(text)
            return text
        if tag == Tag.REFERENCE:
            return self._reference()
        self._depth += 1
        if self._depth > self.max_depth:
            self._unreadable("")
        value = self._element(tag)
        self._depth -= 1
        return value

    def _handle(self) -> int:
        handle = self._number(4) - FIRST_HANDLE
        if not 0 <= handle < len(self._handles):
            raise JavaSerialError(f"the reference before byte {self._at} is invalid")
        return handle

    def _reference(self) -> Any:
        return self._handles[self._handle()]

    def _part(self, one: JavaClass) -> JavaPart:
        values = list(one.primitives.unpack(self._take(one.primitives.size)))
        while len(values) < len(one.fields):
            values.append(self._content())
        block, objects = self._annotations() if one.has_extra_data else (b"", [])
        return JavaPart(dict(zip(one.fields, values, strict=True)), block, objects)

    def _annotations(self) -> tuple[bytes, list[Any]]:
        blocks: list[bytes] = []
        objects: list[Any] = []
        while (tag := self._number(1)) != Tag.ENDBLOCKDATA:
            if tag in (Tag.BLOCKDATA, Tag.BLOCKDATALONG):
                blocks.append(self._take(self._number(1 if tag == Tag.BLOCKDATA else 4)))
            else:
                self._at -= 1
                objects.append(self._content())
        return b"".join(blocks), objects

    # -- classes

    def _class_desc(self) -> JavaClass:
        """Read a class with its parents; iterative, because the sender decides how long the chain is."""
        pending: list[tuple[int, str, int, struct.Struct, tuple[str, ...]]] = []
        parents: tuple[JavaClass, ...] = ()
        while True:
            tag = self._number(1)
            if tag == Tag.NULL and pending:
                break
            if tag == Tag.REFERENCE:
                found = self._class_reference()
                parents = (*found.parents, found)
                break
            if tag == Tag.PROXYCLASSDESC:
                self._unreadable("java.lang.reflect.Proxy")
            if tag != Tag.CLASSDESC:
                raise JavaSerialError(f"a class is missing before byte {self._at}")
            if len(pending) == self.max_parents:
                self._unreadable("")
            pending.append(self._class_itself())
        for handle, name, flags, primitives, fields in reversed(pending):
            self._handles[handle] = found = JavaClass(name, flags, primitives, fields, parents)
            parents = (*parents, found)
        return parents[-1]

    def _class_reference(self) -> JavaClass:
        found = self._handles[self._handle()]
        if not isinstance(found, JavaClass):
            raise JavaSerialError(f"the reference before byte {self._at} does not refer to a class")
        if len(found.parents) > self.max_parents:
            self._unreadable("")
        return found

    def _class_itself(self) -> tuple[int, str, int, struct.Struct, tuple[str, ...]]:
        name = self._text(self._number(2))
        self._first_class = self._first_class or name
        self._take(8)
        handle = self._new_handle(PENDING)
        flags = self._number(1)
        names: list[str] = []
        codes = ">"
        for _ in range(self._number(2)):
            code = chr(self._number(1))
            names.append(self._text(self._number(2)))
            if code in _CODES:
                codes += _CODES[code]
                if len(codes) - 1 != len(names):
                    raise JavaSerialError(f"the fields of {name!r} are not in Java's order")
            elif code in "L[":
                if not isinstance(self._content(), str):
                    raise JavaSerialError(f"a field of {name!r} has no type")
            else:
                raise JavaSerialError(f"unknown field type {code!r} in {name!r}")
        self._class_annotation(name)
        return handle, name, flags, struct.Struct(codes), tuple(names)

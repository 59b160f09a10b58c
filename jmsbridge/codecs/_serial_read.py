"""The reading half of ``javaserial``.

The reader builds values of a fixed set of classes and stops at the first element outside it: unknown classes are never
interpreted. Sizes are checked against the bytes available, depth and expanded size against constants, so that the cost
of a hostile stream is bounded by its length.
"""

import struct
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

from jmsbridge.codecs import mutf8
from jmsbridge.codecs._serial_common import FIRST_HANDLE, HEADER, MAX_DEPTH, SCALARS, JavaObject, JavaSerialError, Tag
from jmsbridge.values import Byte, Char, Float, Long, Short

__all__ = ["Reader"]

_MAX_PARENTS = 8
_MAX_EXPANDED = 10_000_000
_PENDING = object()
_CODES = {"B": "b", "C": "H", "D": "d", "F": "f", "I": "i", "J": "q", "S": "h", "Z": "?"}
_HAS_WRITE_METHOD, _IS_SERIALIZABLE = 1, 2


class _OpaqueError(Exception):
    """An element outside the subset: the whole stream becomes a JavaObject."""


class _Class(NamedTuple):
    name: str
    flags: int
    primitives: struct.Struct
    fields: tuple[str, ...]
    parents: tuple["_Class", ...]


class _Part(NamedTuple):
    """What one class of an object's hierarchy wrote."""

    fields: dict[str, Any]
    block: bytes
    objects: list[Any]


class Reader:
    """Reads one stream; build a new one for each."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._handles: list[Any] = []
        self._sizes: list[int] = []
        self._expanded = 0
        self._depth = 0
        self._outermost = ""

    def read(self) -> Any:
        """The value, or a JavaObject if the stream holds anything outside the subset."""
        if self._take(len(HEADER)) != HEADER:
            raise JavaSerialError("the bytes do not begin with the header of a Java serialisation stream")
        try:
            value = self._content()
        except (_OpaqueError, RecursionError):
            return JavaObject(self._outermost or "java.lang.Object", self._data)
        if self._at != len(self._data):
            raise JavaSerialError(f"{len(self._data) - self._at} bytes follow the object")
        return value

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

    def _opaque(self, name: str) -> NoReturn:
        self._outermost = self._outermost or name
        raise _OpaqueError

    def _new_handle(self, value: Any) -> int:
        self._handles.append(value)
        self._sizes.append(1)
        return len(self._handles) - 1

    def _content(self) -> Any:
        self._expanded += 1
        tag = self._number(1)
        if tag == Tag.NULL:
            return None
        if tag in (Tag.STRING, Tag.LONGSTRING):
            text = self._text(self._number(2 if tag == Tag.STRING else 8))
            self._new_handle(text)
            return text
        if tag == Tag.REFERENCE:
            return self._reference()
        if tag not in (Tag.OBJECT, Tag.ARRAY):
            return self._other(tag)
        self._depth += 1
        if self._depth > MAX_DEPTH + 1:
            raise _OpaqueError
        start = self._expanded
        described = self._class_desc()
        handle = self._new_handle(_PENDING)
        value = self._object(described) if tag == Tag.OBJECT else self._array(described)
        self._handles[handle] = value
        self._sizes[handle] = self._expanded - start + 1
        self._depth -= 1
        return value

    def _reference(self) -> Any:
        handle = self._number(4) - FIRST_HANDLE
        if not 0 <= handle < len(self._handles):
            raise JavaSerialError(f"the reference before byte {self._at} is invalid")
        value = self._handles[handle]
        self._expanded += self._sizes[handle]
        # Cycles, and streams that expand to very many values.
        if value is _PENDING or isinstance(value, _Class) or self._expanded > _MAX_EXPANDED:
            raise _OpaqueError
        return value

    def _other(self, tag: int) -> NoReturn:
        if tag == Tag.ENUM:
            self._class_desc()
            raise _OpaqueError
        if tag == Tag.CLASS:
            self._opaque("java.lang.Class")
        if tag in (Tag.CLASSDESC, Tag.PROXYCLASSDESC):
            self._opaque("java.io.ObjectStreamClass")
        raise JavaSerialError(f"unexpected type code {tag:#04x} before byte {self._at}")

    def _class_desc(self) -> _Class:
        """Read a class with its parents; iterative, because the sender decides how long the chain is."""
        pending: list[tuple[int, str, int, struct.Struct, tuple[str, ...]]] = []
        parents: tuple[_Class, ...] = ()
        while True:
            tag = self._number(1)
            if tag == Tag.NULL and pending:
                break
            if tag == Tag.REFERENCE:
                found = self._class_reference()
                parents = (*found.parents, found)
                break
            if tag == Tag.PROXYCLASSDESC:
                self._opaque("java.lang.reflect.Proxy")
            if tag != Tag.CLASSDESC:
                raise JavaSerialError(f"a class is missing before byte {self._at}")
            if len(pending) == _MAX_PARENTS:
                raise _OpaqueError
            pending.append(self._class_itself())
        for handle, name, flags, primitives, fields in reversed(pending):
            self._handles[handle] = found = _Class(name, flags, primitives, fields, parents)
            parents = (*parents, found)
        return parents[-1]

    def _class_reference(self) -> _Class:
        handle = self._number(4) - FIRST_HANDLE
        found = self._handles[handle] if 0 <= handle < len(self._handles) else None
        if not isinstance(found, _Class):
            raise JavaSerialError(f"the reference before byte {self._at} does not refer to a class")
        if len(found.parents) > _MAX_PARENTS:
            raise _OpaqueError
        return found

    def _class_itself(self) -> tuple[int, str, int, struct.Struct, tuple[str, ...]]:
        name = self._text(self._number(2))
        self._outermost = self._outermost or name
        self._take(8)
        handle = self._new_handle(_PENDING)
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
        if self._number(1) != Tag.ENDBLOCKDATA:
            self._opaque(name)
        return handle, name, flags, struct.Struct(codes), tuple(names)

    def _object(self, described: _Class) -> Any:
        convert = _CONVERT.get(described.name)
        if convert is None:
            raise _OpaqueError
        hierarchy: dict[str, _Part] = {}
        for one in (*described.parents, described):
            if one.flags & _IS_SERIALIZABLE:
                hierarchy[one.name] = self._part(one)
            elif one.flags:
                raise _OpaqueError  # Externalizable: only the class itself knows its format
        try:
            return convert(described.name, hierarchy)
        except JavaSerialError:
            raise
        except (KeyError, TypeError, ValueError, struct.error) as error:
            raise JavaSerialError(f"an object of {described.name} lacks data that this class writes") from error

    def _part(self, one: _Class) -> _Part:
        values = list(one.primitives.unpack(self._take(one.primitives.size)))
        while len(values) < len(one.fields):
            values.append(self._content())
        blocks: list[bytes] = []
        objects: list[Any] = []
        if one.flags & _HAS_WRITE_METHOD:
            while (tag := self._number(1)) != Tag.ENDBLOCKDATA:
                if tag in (Tag.BLOCKDATA, Tag.BLOCKDATALONG):
                    blocks.append(self._take(self._number(1 if tag == Tag.BLOCKDATA else 4)))
                else:
                    self._at -= 1
                    objects.append(self._content())
        return _Part(dict(zip(one.fields, values, strict=True)), b"".join(blocks), objects)

    def _array(self, described: _Class) -> Any:
        if described.name == "[B":
            return self._take(self._number(4))
        if described.name[:2] not in ("[L", "[["):
            raise _OpaqueError
        # Not allocated ahead: with a wrong length, the stream ends first.
        return [self._content() for _ in range(self._number(4))]


_Convert = Callable[[str, dict[str, _Part]], Any]
_TYPES: dict[str, Callable[[Any], Any]] = {
    "Z": bool,
    "B": Byte,
    "S": Short,
    "I": int,
    "J": Long,
    "F": Float,
    "D": float,
    "C": lambda unit: Char(chr(unit)),
}


def _scalar(name: str, hierarchy: dict[str, _Part]) -> Any:
    value = hierarchy[name].fields["value"]
    if not isinstance(value, (int, float)):
        raise JavaSerialError(f"an object of {name} does not hold a primitive")
    return _TYPES[SCALARS[name][1]](value)


def _int_at(block: bytes, offset: int) -> int:
    found: int = struct.unpack_from(">i", block, offset)[0]
    return found


def _counted(part: _Part, size: int, each: int = 1) -> list[Any]:
    if len(part.objects) != size * each:
        raise JavaSerialError(f"a collection declares {size} elements but has {len(part.objects) // each}")
    return part.objects


def _array_list(name: str, hierarchy: dict[str, _Part]) -> list[Any]:
    return _counted(hierarchy[name], hierarchy[name].fields["size"])


def _linked_list(name: str, hierarchy: dict[str, _Part]) -> list[Any]:
    return _counted(hierarchy[name], _int_at(hierarchy[name].block, 0))


def _map(_: str, hierarchy: dict[str, _Part]) -> dict[Any, Any]:
    part = hierarchy["java.util.HashMap"]
    return _dictionary(_counted(part, _int_at(part.block, 4), each=2))


def _tree_map(name: str, hierarchy: dict[str, _Part]) -> dict[Any, Any]:
    part = hierarchy[name]
    if part.fields["comparator"] is not None:
        raise _OpaqueError
    return _dictionary(_counted(part, _int_at(part.block, 0), each=2))


def _immutable(name: str, hierarchy: dict[str, _Part]) -> Any:
    """``List.of`` and ``Map.of``, both written as the same class with a tag."""
    part = hierarchy[name]
    tag = part.fields["tag"] & 0xFF
    if tag not in (1, 3, 4):
        raise _OpaqueError
    items = _counted(part, _int_at(part.block, 0))
    return _dictionary(items) if tag == 3 else items


def _field(owner: str, field: str, kind: type) -> _Convert:
    def convert(_: str, hierarchy: dict[str, _Part]) -> Any:
        value = hierarchy[owner].fields[field]
        if not isinstance(value, kind):
            raise JavaSerialError(f"{owner} does not wrap a {kind.__name__}")
        return value

    return convert


def _dictionary(items: list[Any]) -> dict[Any, Any]:
    """Pairs as a dictionary; opaque if Python would merge keys that differ in Java (1, 1.0 and true)."""
    if len(items) % 2:
        raise JavaSerialError("a map has a key without a value")
    keys = items[0::2]
    if any(isinstance(key, (list, dict, bytes)) for key in keys):
        raise _OpaqueError
    result = dict(zip(keys, items[1::2], strict=True))
    if len(result) != len(keys):
        raise _OpaqueError
    return result


_COLLECTIONS = "java.util.Collections$"
_CONVERT: dict[str, _Convert] = {
    **dict.fromkeys(SCALARS, _scalar),
    "java.util.ArrayList": _array_list,
    "java.util.LinkedList": _linked_list,
    "java.util.Arrays$ArrayList": _field("java.util.Arrays$ArrayList", "a", list),
    "java.util.HashMap": _map,
    "java.util.LinkedHashMap": _map,
    "java.util.TreeMap": _tree_map,
    "java.util.CollSer": _immutable,
    _COLLECTIONS + "EmptyList": lambda _name, _hierarchy: [],
    _COLLECTIONS + "EmptyMap": lambda _name, _hierarchy: {},
    _COLLECTIONS + "SingletonList": lambda name, hierarchy: [hierarchy[name].fields["element"]],
    _COLLECTIONS + "SingletonMap": lambda name, hierarchy: _dictionary(
        [hierarchy[name].fields["k"], hierarchy[name].fields["v"]]
    ),
    _COLLECTIONS + "UnmodifiableList": _field(_COLLECTIONS + "UnmodifiableCollection", "c", list),
    _COLLECTIONS + "UnmodifiableRandomAccessList": _field(_COLLECTIONS + "UnmodifiableCollection", "c", list),
    _COLLECTIONS + "UnmodifiableMap": _field(_COLLECTIONS + "UnmodifiableMap", "m", dict),
}

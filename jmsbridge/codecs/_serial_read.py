"""The reading half of ``javaserial``.

The reader builds values of a fixed set of classes and stops at the first element outside it: unknown classes are never
interpreted. The expanded size is checked against a constant, so that the cost of a hostile stream is bounded by its
length.
"""

import struct
from collections.abc import Callable
from typing import Any, NoReturn

from jmsbridge.codecs._serial_common import HEADER, MAX_DEPTH, SCALARS, JavaObject, JavaSerialError, Tag
from jmsbridge.codecs.javastream import PENDING, JavaClass, JavaPart, JavaStream
from jmsbridge.values import Byte, Char, Float, Long, Short

__all__ = ["Reader"]

_RESET = b"\x79"
_MAX_EXPANDED = 10_000_000


class _OpaqueError(Exception):
    """An element outside the subset: the whole stream becomes a JavaObject."""


class Reader(JavaStream):
    """Reads one stream; build a new one for each."""

    max_depth = MAX_DEPTH + 1
    max_parents = 8

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self._sizes: list[int] = []
        self._expanded = 0

    def read(self) -> Any:
        """The value, or a JavaObject if the stream holds anything outside the subset."""
        if self._take(len(HEADER)) != HEADER:
            raise JavaSerialError("the bytes do not begin with the header of a Java serialisation stream")
        try:
            value = self._content()
        except (_OpaqueError, RecursionError):
            return JavaObject(self._first_class or "java.lang.Object", self._data)
        rest = self._data[self._at :]
        if rest.strip(_RESET):  # some senders end the stream with a reset
            raise JavaSerialError(f"{len(rest)} bytes follow the object")
        return value

    def _unreadable(self, name: str) -> NoReturn:
        self._first_class = self._first_class or name
        raise _OpaqueError

    def _new_handle(self, value: Any) -> int:
        self._sizes.append(1)
        return super()._new_handle(value)

    def _content(self) -> Any:
        self._expanded += 1
        return super()._content()

    def _reference(self) -> Any:
        handle = self._handle()
        value = self._handles[handle]
        self._expanded += self._sizes[handle]
        # Cycles, and streams that expand to very many values.
        if value is PENDING or isinstance(value, JavaClass) or self._expanded > _MAX_EXPANDED:
            raise _OpaqueError
        return value

    def _element(self, tag: int) -> Any:
        if tag not in (Tag.OBJECT, Tag.ARRAY):
            self._other(tag)
        start = self._expanded
        described = self._class_desc()
        handle = self._new_handle(PENDING)
        value = self._object(described) if tag == Tag.OBJECT else self._array(described)
        self._handles[handle] = value
        self._sizes[handle] = self._expanded - start + 1
        return value

    def _other(self, tag: int) -> NoReturn:
        if tag == Tag.ENUM:
            self._unreadable(self._class_desc().name)
        if tag == Tag.CLASS:
            self._unreadable("java.lang.Class")
        if tag in (Tag.CLASSDESC, Tag.PROXYCLASSDESC):
            self._unreadable("java.io.ObjectStreamClass")
        raise JavaSerialError(f"unexpected type code {tag:#04x} before byte {self._at}")

    def _class_annotation(self, name: str) -> None:
        if self._number(1) != Tag.ENDBLOCKDATA:
            self._unreadable(name)

    def _object(self, described: JavaClass) -> Any:
        convert = _CONVERT.get(described.name)
        if convert is None:
            raise _OpaqueError
        hierarchy: dict[str, JavaPart] = {}
        for one in (*described.parents, described):
            if one.is_serializable:
                hierarchy[one.name] = self._part(one)
            elif one.flags:
                raise _OpaqueError  # Externalizable: only the class itself knows its format
        try:
            return convert(described.name, hierarchy)
        except JavaSerialError:
            raise
        except (KeyError, TypeError, ValueError, struct.error) as error:
            raise JavaSerialError(f"an object of {described.name} lacks data that this class writes") from error

    def _array(self, described: JavaClass) -> Any:
        if described.name == "[B":
            return self._take(self._number(4))
        if described.name[:2] not in ("[L", "[["):
            raise _OpaqueError
        # Not allocated ahead: with a wrong length, the stream ends first.
        return [self._content() for _ in range(self._number(4))]


_Convert = Callable[[str, dict[str, JavaPart]], Any]
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


def _scalar(name: str, hierarchy: dict[str, JavaPart]) -> Any:
    value = hierarchy[name].fields["value"]
    if not isinstance(value, (int, float)):
        raise JavaSerialError(f"an object of {name} does not hold a primitive")
    return _TYPES[SCALARS[name][1]](value)


def _int_at(block: bytes, offset: int) -> int:
    found: int = struct.unpack_from(">i", block, offset)[0]
    return found


def _counted(part: JavaPart, size: int, each: int = 1) -> list[Any]:
    if len(part.objects) != size * each:
        raise JavaSerialError(f"a collection declares {size} elements but has {len(part.objects) // each}")
    return part.objects


def _array_list(name: str, hierarchy: dict[str, JavaPart]) -> list[Any]:
    return _counted(hierarchy[name], hierarchy[name].fields["size"])


def _linked_list(name: str, hierarchy: dict[str, JavaPart]) -> list[Any]:
    return _counted(hierarchy[name], _int_at(hierarchy[name].block, 0))


def _map(_: str, hierarchy: dict[str, JavaPart]) -> dict[Any, Any]:
    part = hierarchy["java.util.HashMap"]
    return _dictionary(_counted(part, _int_at(part.block, 4), each=2))


def _tree_map(name: str, hierarchy: dict[str, JavaPart]) -> dict[Any, Any]:
    part = hierarchy[name]
    if part.fields["comparator"] is not None:
        raise _OpaqueError
    return _dictionary(_counted(part, _int_at(part.block, 0), each=2))


def _immutable(name: str, hierarchy: dict[str, JavaPart]) -> Any:
    """``List.of`` and ``Map.of``, both written as the same class with a tag."""
    part = hierarchy[name]
    tag = part.fields["tag"] & 0xFF
    if tag not in (1, 3, 4):
        raise _OpaqueError
    items = _counted(part, _int_at(part.block, 0))
    return _dictionary(items) if tag == 3 else items


def _field(owner: str, field: str, kind: type) -> _Convert:
    def convert(_: str, hierarchy: dict[str, JavaPart]) -> Any:
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

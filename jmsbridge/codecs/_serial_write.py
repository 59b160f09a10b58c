"""The writing half of ``javaserial``: what ``java.io.ObjectOutputStream`` would write for the same values."""

import struct
from collections.abc import Callable
from math import isnan, nan
from typing import Any

from jmsbridge.codecs import mutf8
from jmsbridge.codecs._serial_common import (
    ARRAY_LIST,
    BYTE_ARRAY,
    FIRST_HANDLE,
    HASH_MAP,
    HEADER,
    MAX_DEPTH,
    NUMBER,
    SCALARS,
    JavaSerialError,
    Tag,
)
from jmsbridge.values import Byte, Char, Double, Float, Int, Long, Short

__all__ = ["Writer"]

_SERIALIZABLE = 2
_SERIALIZABLE_WITH_METHOD = 3
_PACK: dict[str, Callable[[Any], bytes]] = {
    "Z": lambda value: b"\1" if value else b"\0",
    "C": lambda value: ord(value).to_bytes(2, "big"),
    # Java writes the same bits for every NaN.
    "D": lambda value: struct.pack(">d", nan if isnan(value) else value),
    "F": lambda value: struct.pack(">f", nan if isnan(value) else value),
    "B": struct.Struct(">b").pack,
    "S": struct.Struct(">h").pack,
    "I": struct.Struct(">i").pack,
    "J": struct.Struct(">q").pack,
}
_SCALAR_CLASSES: dict[type, str] = {
    bool: "java.lang.Boolean",
    Byte: "java.lang.Byte",
    Short: "java.lang.Short",
    Int: "java.lang.Integer",
    Long: "java.lang.Long",
    Float: "java.lang.Float",
    Double: "java.lang.Double",
    float: "java.lang.Double",
    Char: "java.lang.Character",
}
_KEYS = (bool, int, float, str, type(None))


class Writer:
    """Writes one value; build a new one for each."""

    def __init__(self) -> None:
        self._out = bytearray(HEADER)
        self._next = FIRST_HANDLE
        self._handles: dict[object, int] = {}
        self._open: set[int] = set()

    def write(self, value: Any) -> bytes:
        """The whole stream for one value."""
        try:
            self._content(value)
        except RecursionError as error:
            raise JavaSerialError("the value is nested too deeply for the remaining stack") from error
        return bytes(self._out)

    def _content(self, value: Any) -> None:
        kind = type(value)
        if value is None:
            self._out.append(Tag.NULL)
        elif kind is str:
            self._string(value)
        elif kind in _SCALAR_CLASSES:
            self._scalar(_SCALAR_CLASSES[kind], value)
        elif isinstance(value, (list, tuple)):
            self._container(value, self._list)
        elif isinstance(value, dict):
            self._container(value, self._map)
        elif isinstance(value, (bytes, bytearray, memoryview)):
            self._bytes(bytes(value))
        elif isinstance(value, int):
            self._integer(int(value))
        elif isinstance(value, float):
            self._scalar("java.lang.Double", float(value))
        elif isinstance(value, str):
            self._string(str.__str__(value))
        else:
            raise JavaSerialError(f"a {kind.__name__} has no Java form here; {_CARRIED}")

    def _integer(self, value: int) -> None:
        if -(1 << 31) <= value < 1 << 31:
            self._scalar("java.lang.Integer", value)
        elif -(1 << 63) <= value < 1 << 63:
            self._scalar("java.lang.Long", value)
        else:
            raise JavaSerialError(f"the integer has {value.bit_length()} bits; a Java long holds 64")

    def _handle(self, key: object = None) -> None:
        """Number the element just begun; with a key, later elements can refer to it."""
        if key is not None:
            self._handles[key] = self._next
        self._next += 1

    def _seen(self, key: object) -> bool:
        handle = self._handles.get(key)
        if handle is None:
            return False
        self._out.append(Tag.REFERENCE)
        self._out += handle.to_bytes(4, "big")
        return True

    def _string(self, text: str) -> None:
        key = (str, text)
        if self._seen(key):
            return
        data = mutf8.encode(text)
        if len(data) <= mutf8.MAX_SHORT:
            self._out.append(Tag.STRING)
            self._out += len(data).to_bytes(2, "big")
        else:
            self._out.append(Tag.LONGSTRING)
            self._out += len(data).to_bytes(8, "big")
        self._handle(key)
        self._out += data

    def _scalar(self, name: str, value: Any) -> None:
        # Java caches these boxed values: equal ones are the same object, and so a back reference.
        cached = name[10:] in ("Boolean", "Byte") or (isinstance(value, int) and -128 <= value <= 127)
        key = (name, value) if cached or (type(value) is Char and value <= "\x7f") else None
        if key is not None and self._seen(key):
            return
        suid, code, is_number = SCALARS[name]
        self._out.append(Tag.OBJECT)
        self._class_desc(name, suid, _SERIALIZABLE, ((code, "value"),), NUMBER if is_number else None)
        self._handle(key)
        self._out += _PACK[code](value)

    def _class_desc(
        self,
        name: str,
        suid: int,
        flags: int,
        fields: tuple[tuple[str, str], ...],
        parent: tuple[str, int] | None = None,
    ) -> None:
        if self._seen((type, name)):
            return
        self._out.append(Tag.CLASSDESC)
        self._out += mutf8.write_utf(name) + suid.to_bytes(8, "big")
        self._handle((type, name))
        self._out.append(flags)
        self._out += len(fields).to_bytes(2, "big")
        for code, field in fields:
            self._out += code.encode() + mutf8.write_utf(field)
        self._out.append(Tag.ENDBLOCKDATA)
        if parent is None:
            self._out.append(Tag.NULL)
        else:
            self._class_desc(*parent, _SERIALIZABLE, ())

    def _bytes(self, value: bytes) -> None:
        self._out.append(Tag.ARRAY)
        self._class_desc(*BYTE_ARRAY, _SERIALIZABLE, ())
        self._handle()
        self._out += len(value).to_bytes(4, "big") + value

    def _container(self, value: Any, write: Callable[[Any], None]) -> None:
        """A list or a dictionary: written once, then referred to; refused if it contains itself."""
        identity = id(value)
        if identity in self._open:
            raise JavaSerialError(f"the {type(value).__name__} contains itself")
        if self._seen(identity):
            return
        if len(self._open) >= MAX_DEPTH:
            raise JavaSerialError(f"the value is nested deeper than {MAX_DEPTH} levels")
        self._open.add(identity)
        self._out.append(Tag.OBJECT)
        write(value)
        self._out.append(Tag.ENDBLOCKDATA)
        self._open.discard(identity)

    def _list(self, value: list[Any] | tuple[Any, ...]) -> None:
        size = len(value).to_bytes(4, "big")
        self._class_desc(*ARRAY_LIST, _SERIALIZABLE_WITH_METHOD, (("I", "size"),))
        self._handle(id(value))
        self._out += size + bytes((Tag.BLOCKDATA, 4)) + size
        for item in value:
            self._content(item)

    def _map(self, value: dict[Any, Any]) -> None:
        buckets = 16
        while len(value) > buckets * 3 // 4:
            buckets *= 2
        self._class_desc(*HASH_MAP, _SERIALIZABLE_WITH_METHOD, (("F", "loadFactor"), ("I", "threshold")))
        self._handle(id(value))
        # An empty HashMap has not allocated a table, and so has no threshold.
        self._out += struct.pack(
            ">fiBBii", 0.75, buckets * 3 // 4 if value else 0, Tag.BLOCKDATA, 8, buckets, len(value)
        )
        for key, item in value.items():
            if not isinstance(key, _KEYS):
                raise JavaSerialError(f"a {type(key).__name__} cannot be a key of a Java map; use text or a number")
            self._content(key)
            self._content(item)


_CARRIED = "only None, booleans, numbers, text, bytes, lists and dictionaries of these have one"

"""Bodies of map messages, as ``java.io.ObjectOutputStream`` writes them: a count, then each name and its value. Pure.

Count and names are in blocks, the values are objects between them. Java writes every value as unshared, so only classes
are referred to again.
"""

import struct
from collections.abc import Callable, Mapping
from math import isnan, nan
from typing import Any, Final, NoReturn

from jmsbridge.codecs import mutf8
from jmsbridge.codecs.javaserial import JavaSerialError
from jmsbridge.codecs.javastream import PENDING, JavaClass, JavaStream, Tag
from jmsbridge.spi import Byte, Char, Float, Long, Short

__all__ = ["decode", "encode"]

_HEADER: Final = b"\xac\xed\0\5"
_BLOCK: Final = 1024  # bytes of the largest block that Java writes
_FIRST_HANDLE: Final = 0x7E0000

# -- writing


def _descriptor(name: str, uid: int, code: str = "") -> bytes:
    """A class with one field ``value`` of a primitive type, or without fields; its superclass follows."""
    fields = b"\0\1" + code.encode() + mutf8.write_utf("value") if code else b"\0\0"
    return b"\x72" + mutf8.write_utf(name) + uid.to_bytes(8, "big") + b"\2" + fields + b"\x78"


_NUMBER: Final = _descriptor("java.lang.Number", 0x86AC951D0B94E08B) + b"\x70"
_BYTE_ARRAY: Final = _descriptor("[B", 0xACF317F8060854E0) + b"\x70"
# by Python type: the class, whether it extends Number, and its value
_SCALARS: Final[dict[type, tuple[bytes, bool, Callable[[Any], bytes]]]] = {
    bool: (
        _descriptor("java.lang.Boolean", 0xCD207280D59CFAEE, "Z"),
        False,
        lambda value: b"\1" if value else b"\0",
    ),
    Char: (
        _descriptor("java.lang.Character", 0x348B47D96B1A2678, "C"),
        False,
        lambda value: struct.pack(">H", ord(value)),
    ),
    Byte: (_descriptor("java.lang.Byte", 0x9C4E6084EE50F51C, "B"), True, struct.Struct(">b").pack),
    Short: (_descriptor("java.lang.Short", 0x684D37133460DA52, "S"), True, struct.Struct(">h").pack),
    int: (_descriptor("java.lang.Integer", 0x12E2A0A4F7818738, "I"), True, struct.Struct(">i").pack),
    Long: (_descriptor("java.lang.Long", 0x3B8BE490CC8F23DF, "J"), True, struct.Struct(">q").pack),
    Float: (  # Java writes the same bits for every NaN
        _descriptor("java.lang.Float", 0xDAEDC9A2DB3CF0EC, "F"),
        True,
        lambda value: struct.pack(">f", nan if isnan(value) else value),
    ),
    float: (
        _descriptor("java.lang.Double", 0x80B3C24A296BFB04, "D"),
        True,
        lambda value: struct.pack(">d", nan if isnan(value) else value),
    ),
}


def encode(fields: Mapping[str, Any]) -> bytes:
    """The body; ModifiedUtf8Error for a name of more than 65,535 bytes. Java cannot read one without fields."""
    writer = _Writer()
    block = len(fields).to_bytes(4, "big")
    for name, value in fields.items():
        writer.block(block + mutf8.write_utf(name))
        writer.value(value)
        block = b""
    return bytes(writer.out)


class _Writer:
    def __init__(self) -> None:
        self.out = bytearray(_HEADER)
        self._next = _FIRST_HANDLE
        self._classes: dict[bytes, bytes] = {}  # references to classes that were written

    def block(self, data: bytes) -> None:
        for start in range(0, len(data), _BLOCK):
            piece = data[start : start + _BLOCK]
            size = len(piece)
            self.out += b"\x77" + bytes((size,)) if size < 256 else b"\x7a" + size.to_bytes(4, "big")
            self.out += piece

    def value(self, value: Any) -> None:
        scalar = _SCALARS.get(type(value))
        if scalar is not None:
            described, is_number, pack = scalar
            self.out += b"\x73"
            self._class(described, is_number)
            self._next += 1
            self.out += pack(value)
        elif value is None:
            self.out += b"\x70"
        elif type(value) is bytes:
            self.out += b"\x75"
            self._class(_BYTE_ARRAY, False)
            self._next += 1
            self.out += len(value).to_bytes(4, "big") + value
        else:
            data = mutf8.encode(value)
            size = len(data)
            is_short = size <= mutf8.MAX_SHORT
            self.out += b"\x74" + size.to_bytes(2, "big") if is_short else b"\x7c" + size.to_bytes(8, "big")
            self._next += 1
            self.out += data

    def _class(self, described: bytes, is_number: bool) -> None:
        reference = self._classes.get(described)
        if reference is not None:
            self.out += reference
            return
        self._classes[described] = b"\x71" + self._next.to_bytes(4, "big")
        self._next += 1
        self.out += described
        if is_number:
            self._class(_NUMBER, False)
        elif described not in (_NUMBER, _BYTE_ARRAY):
            self.out += b"\x70"


# -- reading


def _integer(value: Any) -> int:
    if type(value) is not int or not -(1 << 31) <= value < 1 << 31:
        raise ValueError("an Integer does not hold an int")
    return value


_READ: Final[dict[str, Callable[[Any], Any]]] = {
    "java.lang.Boolean": bool,
    "java.lang.Character": lambda unit: Char(chr(unit)),
    "java.lang.Byte": Byte,
    "java.lang.Short": Short,
    "java.lang.Integer": _integer,
    "java.lang.Long": Long,
    "java.lang.Float": Float,
    "java.lang.Double": float,
}


def decode(data: bytes) -> dict[str, Any]:
    """The fields; ValueError if the bytes are not such a body, or a value is of another class."""
    return _Reader(data).read()


class _Reader(JavaStream):
    max_depth = max_parents = 2

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self._block = b""

    def read(self) -> dict[str, Any]:
        if self._take(len(_HEADER)) != _HEADER:
            raise JavaSerialError("a map message does not begin with the header of a Java serialisation stream")
        count = int.from_bytes(self._primitive(4), "big")
        if count > len(self._data):
            raise JavaSerialError(f"a map message of {len(self._data)} bytes announces {count} fields")
        fields: dict[str, Any] = {}
        for _ in range(count):
            name = mutf8.decode(self._primitive(int.from_bytes(self._primitive(2), "big")))
            if self._block:
                raise JavaSerialError(f"a field of a map message has no value before byte {self._at}")
            fields[name] = self._content()
        return fields

    def _primitive(self, size: int) -> bytes:
        """The next bytes of the blocks, whichever blocks they are in."""
        while len(self._block) < size:
            tag = self._number(1)
            if tag not in (Tag.BLOCKDATA, Tag.BLOCKDATALONG):
                raise JavaSerialError(f"a block is missing before byte {self._at}")
            self._block += self._take(self._number(1 if tag == Tag.BLOCKDATA else 4))
        data, self._block = self._block[:size], self._block[size:]
        return data

    def _unreadable(self, name: str) -> NoReturn:
        raise JavaSerialError(
            f"a map message has a value of the class {name}" if name else "nested values in a map message"
        )

    def _class_annotation(self, name: str) -> None:
        if self._number(1) != Tag.ENDBLOCKDATA:
            self._unreadable(name)

    def _reference(self) -> Any:
        value = self._handles[self._handle()]
        if value is PENDING or isinstance(value, JavaClass):
            raise JavaSerialError(f"the reference before byte {self._at} does not refer to a value")
        return value

    def _element(self, tag: int) -> Any:
        if tag not in (Tag.OBJECT, Tag.ARRAY):
            raise JavaSerialError(f"unexpected type code {tag:#04x} before byte {self._at}")
        described = self._class_desc()
        handle = self._new_handle(PENDING)
        if tag == Tag.ARRAY and described.name == "[B":
            value: Any = self._take(self._number(4))
        elif tag == Tag.OBJECT and described.name in _READ:
            value = self._scalar(described)
        else:
            self._unreadable(described.name)
        self._handles[handle] = value
        return value

    def _scalar(self, described: JavaClass) -> Any:
        for parent in described.parents:
            self._part(parent)
        try:
            return _READ[described.name](self._part(described).fields["value"])
        except (KeyError, TypeError, OverflowError) as error:
            raise JavaSerialError(f"an object of {described.name} lacks data that this class writes") from error

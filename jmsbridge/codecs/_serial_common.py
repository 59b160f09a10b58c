"""What the writer and the reader of Java serialisation share: tags, class descriptors, JavaObject, the error."""

from typing import final

__all__ = [
    "ARRAY_LIST",
    "BYTE_ARRAY",
    "FIRST_HANDLE",
    "HASH_MAP",
    "HEADER",
    "MAX_DEPTH",
    "NUMBER",
    "SCALARS",
    "JavaObject",
    "JavaSerialError",
    "Tag",
]

HEADER = b"\xac\xed\x00\x05"
FIRST_HANDLE = 0x7E0000
MAX_DEPTH = 100
"""How deep lists and dictionaries may be nested, in reading and writing."""

NUMBER = ("java.lang.Number", 0x86AC951D0B94E08B)
ARRAY_LIST = ("java.util.ArrayList", 0x7881D21D99C7619D)
HASH_MAP = ("java.util.HashMap", 0x0507DAC1C31660D1)
BYTE_ARRAY = ("[B", 0xACF317F8060854E0)
# class name: (serialVersionUID, type code of the field "value", extends Number)
SCALARS = {
    "java.lang.Boolean": (0xCD207280D59CFAEE, "Z", False),
    "java.lang.Byte": (0x9C4E6084EE50F51C, "B", True),
    "java.lang.Character": (0x348B47D96B1A2678, "C", False),
    "java.lang.Double": (0x80B3C24A296BFB04, "D", True),
    "java.lang.Float": (0xDAEDC9A2DB3CF0EC, "F", True),
    "java.lang.Integer": (0x12E2A0A4F7818738, "I", True),
    "java.lang.Long": (0x3B8BE490CC8F23DF, "J", True),
    "java.lang.Short": (0x684D37133460DA52, "S", True),
}


class Tag:
    """The type codes of the stream (Java Object Serialization Specification, section 6.4)."""

    NULL = 0x70
    REFERENCE = 0x71
    CLASSDESC = 0x72
    OBJECT = 0x73
    STRING = 0x74
    ARRAY = 0x75
    CLASS = 0x76
    BLOCKDATA = 0x77
    ENDBLOCKDATA = 0x78
    BLOCKDATALONG = 0x7A
    LONGSTRING = 0x7C
    PROXYCLASSDESC = 0x7D
    ENUM = 0x7E


class JavaSerialError(ValueError):
    """A value cannot be written as a Java object, or the bytes are not a Java serialisation stream."""


@final
class JavaObject:
    """A Java object of a class without a Python form: its class name and its bytes, which can be forwarded.

    Immutable; equal when the bytes are equal. Nothing in it is ever executed.
    """

    __slots__ = ("_class_name", "_data")

    def __init__(self, class_name: str, data: bytes) -> None:
        self._class_name = class_name
        self._data = bytes(data)

    @property
    def class_name(self) -> str:
        """The Java class of the outermost object."""
        return self._class_name

    @property
    def data(self) -> bytes:
        """The whole serialisation stream, as it arrived."""
        return self._data

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JavaObject) and other._data == self._data

    def __hash__(self) -> int:
        return hash(self._data)

    def __repr__(self) -> str:
        return f"JavaObject({self._class_name!r}, {len(self._data)} bytes)"

    def __reduce__(self) -> tuple[type["JavaObject"], tuple[str, bytes]]:
        return JavaObject, (self._class_name, self._data)

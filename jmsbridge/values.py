"""Java's primitive types as Python values, and the conversions that Jakarta Messaging allows between them.

``Byte``, ``Short``, ``Int``, ``Long``, ``Float``, ``Double`` and ``Char`` behave like the Python types that they
extend and keep their Java type across the wire. Inside jmsbridge values are *canonical*: ``bool``, ``Byte``, ``Short``,
a plain ``int`` for a Java int, ``Long``, ``Float``, a plain ``float`` for a Java double, ``str`` and None; map and
stream fields also ``Char`` and ``bytes``. The ``to_…`` functions are the two conversion tables (sections 3.5.4 and
3.11.3), which agree wherever both define a conversion.
"""

from operator import index
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeAlias, Union, final

from jmsbridge.codecs.javatext import (
    boolean_text,
    double_text,
    float_text,
    parse_boolean,
    parse_double,
    parse_float,
    parse_integer,
    round_to_float32,
)
from jmsbridge.errors import MessageFormatException, NullValueError, NumberFormatError

if TYPE_CHECKING:
    from jmsbridge.codecs._serial_common import JavaObject

__all__ = [
    "Byte",
    "Char",
    "Double",
    "FieldValue",
    "Float",
    "Int",
    "JavaValue",
    "Long",
    "PropertyValue",
    "Short",
    "canonical_field",
    "canonical_property",
    "to_boolean",
    "to_byte",
    "to_bytes",
    "to_char",
    "to_double",
    "to_float",
    "to_int",
    "to_long",
    "to_short",
    "to_string",
    "wrap",
]

PropertyValue: TypeAlias = bool | int | float | str | None
"""The value of a property; the typed wrappers are subclasses of int and float."""
FieldValue: TypeAlias = PropertyValue | bytes
"""The value of a field of a map or stream message."""
JavaValue: TypeAlias = Union[FieldValue, list["JavaValue"], dict[FieldValue, "JavaValue"], "JavaObject"]
"""The value of an object message, as it is read."""


class _Integer(int):
    """Base of the integer types; ``_limit`` is the smallest number that is too large."""

    __slots__ = ()
    _limit = 0

    def __new__(cls, value: int = 0) -> Self:
        """Check the range."""
        number = index(value)
        limit = cls._limit
        if not -limit <= number < limit:
            raise ValueError(f"{number} does not fit a Java {cls.__name__.lower()} ({limit.bit_length()} bits)")
        return int.__new__(cls, number)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({int(self)})"

    def __str__(self) -> str:
        return int.__repr__(self)


@final
class Byte(_Integer):
    """A Java byte, -128 to 127; ValueError outside."""

    __slots__ = ()
    _limit = 1 << 7


@final
class Short(_Integer):
    """A Java short, 16 bits; ValueError outside."""

    __slots__ = ()
    _limit = 1 << 15


@final
class Int(_Integer):
    """A Java int, 32 bits; the same as a plain ``int`` of that size."""

    __slots__ = ()
    _limit = 1 << 31


@final
class Long(_Integer):
    """A Java long, 64 bits; stays a long even if it fits an int."""

    __slots__ = ()
    _limit = 1 << 63


@final
class Float(float):
    """A Java float: rounded to 32 bits; ValueError for a finite number that is too large."""

    __slots__ = ()

    def __new__(cls, value: float = 0.0) -> Self:
        """Round to 32 bits."""
        number = _number(value)
        rounded = round_to_float32(number)
        if rounded != number and rounded in (_INFINITY, -_INFINITY):
            raise ValueError(f"{number} does not fit a Java float")
        return float.__new__(cls, rounded)

    def __repr__(self) -> str:
        return f"Float({float_text(self)})"

    def __str__(self) -> str:
        return float.__repr__(self)


@final
class Double(float):
    """A Java double; the same as a plain ``float``."""

    __slots__ = ()

    def __new__(cls, value: float = 0.0) -> Self:
        """Refuse text."""
        return float.__new__(cls, _number(value))

    def __repr__(self) -> str:
        return f"Double({float.__repr__(self)})"

    def __str__(self) -> str:
        return float.__repr__(self)


@final
class Char(str):
    """A Java char: exactly one UTF-16 unit, so a character beyond the basic plane is refused with ValueError."""

    __slots__ = ()

    def __new__(cls, value: str) -> Self:
        """Check the length."""
        if not isinstance(value, str):
            raise TypeError(f"a Char is made from text, not from {type(value).__name__}")
        if len(value) != 1 or value > "\uffff":
            raise ValueError(f"a Char is exactly one UTF-16 unit, not {value[:20]!r}")
        return str.__new__(cls, value)

    def __repr__(self) -> str:
        return f"Char({str.__repr__(self)})"


def _number(value: float) -> float:
    if isinstance(value, (str, bytes, bytearray)):
        raise TypeError(f"a number is needed, not {type(value).__name__}; only the getters parse text")
    return float(value)


_INFINITY = float("inf")
_INT_MIN, _INT_MAX = -(1 << 31), (1 << 31) - 1
_LONG_MIN, _LONG_MAX = -(1 << 63), (1 << 63) - 1
_CANONICAL_AS_IS = frozenset({bool, Byte, Short, Long, Float, float, str, type(None)})


def canonical_property(value: Any) -> Any:
    """The canonical form of a property value; MessageFormatException if a property cannot hold it (section 3.5.2).

    A plain ``int`` is a Java int, or a long if it needs more than 32 bits; a plain ``float`` is a double.
    """
    kind = type(value)
    if kind in _CANONICAL_AS_IS:
        return value
    if kind is int:
        return value if _INT_MIN <= value <= _INT_MAX else _long(value)
    if kind is Int:
        return int(value)
    if kind is Double:
        return float(value)
    return _canonical_subclass(value)


def canonical_field(value: Any) -> Any:
    """The canonical form of a map or stream field: a property value, a ``Char``, or bytes, copied (3.11.3)."""
    kind = type(value)
    if kind is Char or kind is bytes:
        return value
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    return canonical_property(value)


def wrap(value: Any) -> Any:
    """The typed object that an application sees for a canonical value: ``Int`` and ``Double`` for the plain numbers."""
    kind = type(value)
    if kind is int:
        return Int(value)
    if kind is float:
        return Double(value)
    return value


def _long(value: int) -> Long:
    if _LONG_MIN <= value <= _LONG_MAX:
        return Long(value)
    raise MessageFormatException(f"the integer has {value.bit_length()} bits; a Java long holds 64")


def _canonical_subclass(value: Any) -> Any:
    """The value of an enumeration, or of another library's subclass of a Python type."""
    if isinstance(value, int):
        return canonical_property(index(int(value)))
    if isinstance(value, float):
        return float(value)
    if isinstance(value, str) and not isinstance(value, Char):
        return str.__str__(value)
    raise MessageFormatException(f"Jakarta Messaging cannot carry a value of type {type(value).__name__} here")


def _refuse(value: Any, target: str) -> NoReturn:
    raise MessageFormatException(f"a value of type {type(wrap(value)).__name__} cannot be read as {target}")


def _refuse_null(value: Any, target: str) -> NoReturn:
    if value is None:
        raise NullValueError(f"there is no value to read as {target}")
    _refuse(value, target)


def _parsed(value: Any, bits: int, target: str) -> int:
    """The last step of the integer conversions: text is parsed, null is an error as in Java, all else is refused."""
    if type(value) is str:
        return parse_integer(value, bits)
    if value is None:
        raise NumberFormatError(f"there is no value to read as {target}")
    _refuse(value, target)


def to_boolean(value: Any) -> bool:
    """Read as boolean: booleans and text; null is False."""
    if type(value) is bool:
        return value
    if type(value) is str:
        return parse_boolean(value)
    if value is None:
        return False
    _refuse(value, "boolean")


def to_byte(value: Any) -> Byte:
    """Read as byte: bytes and text; NumberFormatError for null."""
    if type(value) is Byte:
        return value
    return Byte(_parsed(value, 8, "byte"))


def to_short(value: Any) -> Short:
    """Read as short: bytes, shorts and text; NumberFormatError for null."""
    kind = type(value)
    if kind is Short:
        return value  # type: ignore[no-any-return]
    return Short(value if kind is Byte else _parsed(value, 16, "short"))


def to_int(value: Any) -> int:
    """Read as int: bytes, shorts, ints and text; NumberFormatError for null."""
    kind = type(value)
    if kind is int:
        return value  # type: ignore[no-any-return]
    return int(value) if kind is Short or kind is Byte else _parsed(value, 32, "int")


def to_long(value: Any) -> Long:
    """Read as long: every integer type and text; NumberFormatError for null."""
    kind = type(value)
    if kind is Long:
        return value  # type: ignore[no-any-return]
    return Long(value if kind is int or kind is Short or kind is Byte else _parsed(value, 64, "long"))


def to_float(value: Any) -> Float:
    """Read as float: floats and text; NullValueError for null."""
    if type(value) is Float:
        return value
    if type(value) is str:
        return Float(parse_float(value))
    _refuse_null(value, "float")


def to_double(value: Any) -> float:
    """Read as double: floats, doubles and text; NullValueError for null."""
    kind = type(value)
    if kind is float:
        return value  # type: ignore[no-any-return]
    if kind is Float:
        return float(value)
    if kind is str:
        return parse_double(value)
    _refuse_null(value, "double")


def to_char(value: Any) -> Char:
    """Read a field as char: chars only; NullValueError for null."""
    if type(value) is Char:
        return value
    _refuse_null(value, "char")


def to_bytes(value: Any) -> bytes | None:
    """Read a field as bytes: bytes only; null is None."""
    if value is None or type(value) is bytes:
        return value
    _refuse(value, "bytes")


def to_string(value: Any) -> str | None:
    """Read as text, in Java's form: ``true``, ``1.0``, ``6.02E23``; everything but bytes; null is None."""
    kind = type(value)
    if kind is str or value is None:
        return value  # type: ignore[no-any-return]
    if kind is bool:
        return boolean_text(value)
    if kind is float:
        return double_text(value)
    if kind is Float:
        return float_text(value)
    if kind is Char:
        return str.__str__(value)
    if kind is bytes:
        _refuse(value, "text")
    return int.__repr__(value)

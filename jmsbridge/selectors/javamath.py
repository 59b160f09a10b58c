"""Arithmetic and comparison of canonical values as Java does them, with null (None) as *unknown* (section 3.8.1.2).

Byte and short become int; int and long give long, an integer and a float give float, anything and a double give double.
Integers wrap, float results are rounded to 32 bits, and whatever Java would refuse to compute is unknown.
"""

import operator
from collections.abc import Callable
from math import copysign, inf, nan
from typing import Any, Final, TypeAlias

from jmsbridge.codecs.javatext import round_to_float32
from jmsbridge.values import Byte, Double, Float, Int, Long, Short

__all__ = ["ARITHMETIC", "EXACT_TYPES", "RELATIONS", "compare", "negate", "promote", "to_float32"]

_Operation: TypeAlias = Callable[[Any, Any], Any]

_INT, _LONG, _FLOAT, _DOUBLE = range(4)
_RANKS: Final[dict[type, int]] = {
    Byte: _INT, Short: _INT, int: _INT, Int: _INT, Long: _LONG, Float: _FLOAT, float: _DOUBLE, Double: _DOUBLE,
}  # fmt: skip

EXACT_TYPES: Final = frozenset({Byte, Short, int, Int, Long})
"""The integer types, which are compared exactly, without conversion."""

RELATIONS: Final[dict[str, _Operation]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_EXACTLY: Final = 1 << 53


def to_float32(value: float) -> float:
    """The nearest 32-bit float of any number, rounded once as Java's cast is."""
    if isinstance(value, int) and abs(value) >= _EXACTLY:
        # Converting to double first would round twice; so keep 53 bits, the last of which is set if any lower bit was.
        magnitude = abs(value)
        shift = magnitude.bit_length() - 53
        kept = magnitude >> shift
        sticky = kept | (kept << shift != magnitude)
        return round_to_float32(copysign(float(sticky << shift), value))
    return round_to_float32(float(value))


def compare(relation: _Operation, left: object, right: object) -> bool | None:
    """Apply a function of ``RELATIONS``; values of different kinds give False, null gives unknown."""
    if left is None or right is None:
        return None
    rank = _common_rank(left, right)
    if rank is None:
        return _same_kind(left, right) and relation in (operator.eq, operator.ne) and bool(relation(left, right))
    if rank == _DOUBLE:
        return bool(relation(float(left), float(right)))  # type: ignore[arg-type]
    if rank == _FLOAT:
        return bool(relation(to_float32(left), to_float32(right)))  # type: ignore[arg-type]
    return bool(relation(left, right))


def _common_rank(left: object, right: object) -> int | None:
    first, second = _RANKS.get(type(left)), _RANKS.get(type(right))
    return None if first is None or second is None else max(first, second)


def _same_kind(left: object, right: object) -> bool:
    if isinstance(left, bool):
        return isinstance(right, bool)
    return isinstance(left, str) and isinstance(right, str)


def promote(value: object) -> object:
    """The value after a unary plus: byte and short become int; unknown if it is not a number."""
    rank = _RANKS.get(type(value))
    if rank is None:
        return None
    return int(value) if rank == _INT else value  # type: ignore[call-overload]


def negate(value: object) -> object:
    """The value after a unary minus; the smallest int and long stay as they are."""
    rank = _RANKS.get(type(value))
    return None if rank is None else _typed(rank, operator.neg(value))  # type: ignore[arg-type]


def _typed(rank: int, result: Any) -> object:
    """Wrap or round an exact result into the type of the operation."""
    if rank == _INT:
        return _wrapped(int(result), 32)
    if rank == _LONG:
        return Long(_wrapped(int(result), 64))
    if rank == _FLOAT:
        return Float(round_to_float32(result))
    return float(result)


def _wrapped(value: int, bits: int) -> int:
    half = 1 << (bits - 1)
    return (value + half & (1 << bits) - 1) - half


def _int_quotient(left: int, right: int) -> int | None:
    """Truncated towards zero; None for a division by zero, where Java throws."""
    if right == 0:
        return None
    quotient = abs(left) // abs(right)
    return -quotient if (left < 0) != (right < 0) else quotient


def _float_quotient(left: float, right: float) -> float:
    if right != 0.0:
        return left / right
    return nan if left == 0.0 or left != left else copysign(inf, left) * copysign(1.0, right)


def _operation(exact: _Operation, approximate: _Operation) -> _Operation:
    def apply(left: object, right: object) -> object:
        rank = _common_rank(left, right)
        if rank is None:
            return None
        if rank <= _LONG:
            result = exact(left, right)
            return None if result is None else _typed(rank, result)
        convert = to_float32 if rank == _FLOAT else float
        return _typed(rank, approximate(convert(left), convert(right)))  # type: ignore[arg-type]

    return apply


ARITHMETIC: Final[dict[str, _Operation]] = {
    "+": _operation(operator.add, operator.add),
    "-": _operation(operator.sub, operator.sub),
    "*": _operation(operator.mul, operator.mul),
    "/": _operation(_int_quotient, _float_quotient),
}
"""Unknown if an operand is null or not a number, and for integers divided by zero."""

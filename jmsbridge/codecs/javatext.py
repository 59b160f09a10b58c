"""Numbers as text, as Java writes and reads them, so that a converted property reads the same in both languages.

Pure functions. Text that Java would not parse raises ``NumberFormatError`` (Java's ``NumberFormatException``).
"""

import re
import struct
import unicodedata
from decimal import Decimal
from fractions import Fraction
from math import copysign, inf, isfinite, isinf, nan, nextafter

from jmsbridge.errors import NumberFormatError

__all__ = [
    "boolean_text",
    "double_text",
    "float_text",
    "parse_boolean",
    "parse_double",
    "parse_float",
    "parse_integer",
    "round_to_float32",
]

_FLOAT = struct.Struct(">f")
_DOUBLE = struct.Struct(">d")
_DOUBLE_BITS = struct.Struct(">Q")
_TAIL = (1 << 28) - 1
"""The bits of a double that are zero if it is halfway between two 32-bit floats."""
_PLAIN_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")
_DECIMAL = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[fFdD]?")
_HEXADECIMAL = re.compile(r"([+-]?)0[xX](?:([0-9a-fA-F]+)\.?|([0-9a-fA-F]*)\.([0-9a-fA-F]+))[pP]([+-]?[0-9]+)[fFdD]?")
_SPECIAL = {
    sign + name: copysign(value, -1.0 if sign == "-" else 1.0)
    for sign in ("", "+", "-")
    for name, value in (("NaN", nan), ("Infinity", inf))
}
# Java's String.trim() removes every character up to U+0020, and no other white space.
_TRIMMED = "".join(map(chr, range(0x21)))


def boolean_text(value: bool) -> str:
    """``true`` or ``false``."""
    return "true" if value else "false"


def parse_boolean(text: str) -> bool:
    """Whether the text is "true" in any case; never an error (``Boolean.valueOf``)."""
    return text.lower() == "true"


def double_text(value: float) -> str:
    """The text of ``Double.toString``: ``1.0``, ``6.02E23``, ``NaN``; the fewest digits that identify the value."""
    if 1e-3 <= abs(value) < 1e7:  # where both languages write the same digits without an exponent
        return float.__repr__(value)
    return _java_form(value, float.__repr__(value), f"{value:.1e}")


def float_text(value: float) -> str:
    """The text of ``Float.toString`` for a value that is a 32-bit float, with the fewest digits that identify it."""
    return _java_form(value, _shortest_float32(value), f"{value:.1e}")


def _shortest_float32(value: float) -> str:
    if not isfinite(value):
        return repr(float(value))
    for precision in range(9):
        text = f"{value:.{precision}e}"
        if round_to_float32(float(text)) == value:
            return text
        # Above a power of two the next float is farther away: the next decimal away from zero may still round to it.
        digits, exponent = text.split("e")
        away = f"{Decimal(digits) + Decimal((0 if value > 0 else 1, (1,), -precision))}e{exponent}"
        if round_to_float32(float(away)) == value:
            return away
    return repr(float(value))


def _java_form(value: float, shortest: str, two_digits: str) -> str:
    """Lay out decimal digits as Java does: plain between 1E-3 and 1E7, scientific elsewhere."""
    if value != value:
        return "NaN"
    if isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    sign, digits, exponent = Decimal(shortest).as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits)).lstrip("0")
    if not text:
        return "-0.0" if sign else "0.0"
    point = len(text) + exponent  # value = 0.text * 10**point
    text = text.rstrip("0")
    if len(text) == 1:
        # Java prints at least two digits, the two nearest to the value: 4.9E-324, not 5.0E-324.
        mantissa, _, power = two_digits.lstrip("-").partition("e")
        text, point = mantissa.replace(".", "").rstrip("0"), int(power) + 1
    minus = "-" if sign else ""
    if -3 < point <= 0:
        return f"{minus}0.{'0' * -point}{text}"
    if 0 < point <= 7:
        return f"{minus}{text[:point].ljust(point, '0')}.{text[point:] or '0'}"
    return f"{minus}{text[0]}.{text[1:] or '0'}E{point - 1}"


def round_to_float32(value: float) -> float:
    """The nearest 32-bit float, infinite if the value is too large (a Java cast)."""
    try:
        rounded: float = _FLOAT.unpack(_FLOAT.pack(value))[0]
    except OverflowError:
        return copysign(inf, value)
    return rounded


def parse_integer(text: str, bits: int) -> int:
    """Read a signed decimal of at most ``bits`` bits as ``Integer.parseInt`` and its siblings do.

    A leading ``+`` and the decimal digits of any script in the basic plane are accepted; spaces and underscores are
    not.
    """
    limit = 1 << (bits - 1)
    value = int(text) if _PLAIN_INTEGER.fullmatch(text) else _parse_digits(text, limit)
    if -limit <= value < limit:
        return value
    raise NumberFormatError(f"{_shown(text)} is out of range for {bits} bits")


def _parse_digits(text: str, limit: int) -> int:
    negative = text[:1] == "-"
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not digits:
        raise NumberFormatError(f"not a decimal integer: {_shown(text)}")
    value = 0
    for character in digits:
        digit = unicodedata.decimal(character, None)
        if digit is None or character > "\uffff":
            raise NumberFormatError(f"not a decimal integer: {_shown(text)}")
        # Out of range, the number stops growing (so the cost stays linear), but a later letter is still reported.
        value = min(value * 10 + digit, 2 * limit)
    return -value if negative else value


def parse_double(text: str) -> float:
    """Read a number by the grammar of ``Double.parseDouble``: trimmed, with suffix, hexadecimal, NaN and Infinity."""
    return _parse_floating(text)[0]


def parse_float(text: str) -> float:
    """Read a number by ``Float.parseFloat``; the result is a 32-bit float, rounded once, from the text."""
    value, trimmed = _parse_floating(text)
    bits: int = _DOUBLE_BITS.unpack(_DOUBLE.pack(value))[0]
    # Halfway between two 32-bit floats, only the text tells on which side the number is. Such a double ends with zeros,
    # as do a few others, for which the step towards the number changes nothing.
    if value and isfinite(value) and not bits & _TAIL:
        rest = _exact(trimmed) - Fraction(value)
        if rest:
            value = nextafter(value, inf if rest > 0 else -inf)
    return round_to_float32(value)


def _parse_floating(text: str) -> tuple[float, str]:
    trimmed = text.strip(_TRIMMED)
    match = _DECIMAL.fullmatch(trimmed)
    if match is not None:
        return float(match[1]), trimmed
    if trimmed in _SPECIAL:
        return _SPECIAL[trimmed], trimmed
    if _HEXADECIMAL.fullmatch(trimmed) is None:
        raise NumberFormatError(f"not a floating-point number: {_shown(text)}")
    try:
        return float.fromhex(trimmed.rstrip("fFdD")), trimmed
    except OverflowError:
        return (-inf if trimmed[0] == "-" else inf), trimmed


def _exact(trimmed: str) -> Fraction:
    """The exact number; it is a finite, non-zero double, so its exponent is bounded by the length of the text."""
    match = _DECIMAL.fullmatch(trimmed)
    if match is not None:
        return Fraction(Decimal(match[1]))
    parts = _HEXADECIMAL.fullmatch(trimmed)
    assert parts is not None
    sign, whole, before, after, power = parts.groups()
    mantissa = int(whole or before + after, 16)
    sign_of_power, digits = ("-", power[1:]) if power[0] == "-" else ("", power.lstrip("+"))
    exponent = int(sign_of_power + (digits.lstrip("0") or "0")) - 4 * len(after or "")
    exact = Fraction(mantissa) * Fraction(2) ** exponent
    return -exact if sign == "-" else exact


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:40] + "…")

"""Number literals: Java's own syntax, in the range of long and of double (section 3.8.1.1)."""

import re
from math import isinf
from typing import Final

from lark import Token

from jmsbridge.codecs.javatext import parse_double, parse_float
from jmsbridge.selectors.errors import Misfit
from jmsbridge.values import Float, Long

__all__ = ["LONG_MIN_MAGNITUDE", "approximate_value", "exact_magnitude", "exact_value"]

LONG_MIN_MAGNITUDE: Final = 1 << 63
_INT_LIMIT: Final = 1 << 31
_MOST_DIGITS: Final = 64  # of a long in any base; more must be leading zeros

_MISPLACED: Final = re.compile("_(?![0-9a-fA-F])|(?<![0-9a-fA-F])_")
_NOT_ZERO: Final = re.compile("[1-9a-fA-F]")


def exact_magnitude(token: Token) -> int:
    """The value of an integer literal without sign, at most 2**63; ``Misfit`` if it is malformed or larger."""
    text = token.rstrip("lL").lower()
    if text.startswith("0x"):
        base, digits = 16, text[2:]
    elif text.startswith("0b"):
        base, digits = 2, text[2:]
    else:
        base, digits = (8, text) if text.startswith("0") else (10, text)
    significant = digits.replace("_", "").lstrip("0") or "0"
    if _MISPLACED.search(digits) or (base == 8 and ("8" in digits or "9" in digits)):
        raise _misfit("malformed number", token)
    if len(significant) > _MOST_DIGITS or (value := int(significant, base)) > LONG_MIN_MAGNITUDE:
        raise _misfit("the number is out of the range of long", token)
    return value


def exact_value(token: Token, negative: bool = False) -> int:
    """The value of an integer literal with its sign: an int, or a ``Long`` if it has the suffix or over 32 bits."""
    magnitude = exact_magnitude(token)
    value = -magnitude if negative else magnitude
    if token[-1] in "lL" or not -_INT_LIMIT <= value < _INT_LIMIT:
        return Long(value)
    return value


def approximate_value(token: Token, negative: bool = False) -> float:
    """The value of a floating literal with its sign: a double, or a ``Float`` if it has the suffix f."""
    if _MISPLACED.search(token):
        raise _misfit("malformed number", token)
    text = token.replace("_", "")
    hexadecimal = text[:2].lower() == "0x"
    mantissa = re.split("[pP]" if hexadecimal else "[eEfFdD]", text.removeprefix(text[:2] if hexadecimal else ""))[0]
    single = text[-1] in "fF"
    value = parse_float(text) if single else parse_double(text)
    if isinf(value) or (value == 0.0 and _NOT_ZERO.search(mantissa)):
        raise _misfit(f"the number is out of the range of {'float' if single else 'double'}", token)
    value = -value if negative else value
    return Float(value) if single else value


def _misfit(reason: str, token: Token) -> Misfit:
    start = token.start_pos or 0
    return Misfit(reason, start, start + len(token))

"""Texts of Java configuration: placeholders, lists in parentheses, numbers and durations.

A placeholder whose value is known only when the program runs is kept between two private characters, so that its colon
and braces are not taken for parts of a URL; ``opened`` writes it as our own reference.
"""

from collections.abc import Callable, Mapping
from datetime import timedelta

import msgspec

from jmsbridge.config.masking import is_secret

__all__ = [
    "AT_RUN_TIME",
    "UNLIMITED",
    "Unlike",
    "attempts",
    "closed",
    "count",
    "deadline",
    "expanded",
    "flag",
    "limit",
    "milliseconds",
    "not_flag",
    "opened",
    "split_outside",
    "spring_duration",
    "unresolved",
    "whole",
]

_OPEN, _CLOSE = "\ue000", "\ue001"
_DEPTH = 20


def closed(variable: str) -> str:
    """A reference to an environment variable in its hidden form."""
    return f"{_OPEN}{variable}{_CLOSE}"


def opened(text: str) -> str:
    """The text with its references in the form of profiles."""
    return text.replace(_OPEN, "${env:").replace(_CLOSE, "}")


def unresolved(text: str) -> bool:
    """Whether the text holds a reference."""
    return _OPEN in text


def expanded(
    text: str,
    lookup: Mapping[str, str],
    separator: str,
    said: Callable[[str, str | None], None],
    *,
    secret: bool = False,
    depth: int = 0,
) -> str:
    """The text with ``${name}`` and ``${name<separator>default}`` replaced.

    With the file's own value; else the default, unless it is a secret; else a reference to the environment. So is what
    names a secret, unless the text is that of a secret (``secret``), of which the value is not shown. ``said`` is
    called with the variable and the default that was used (None for a reference).
    """
    parts: list[str] = []
    at = 0
    while (start := text.find("${", at)) >= 0 and depth < _DEPTH:
        end = _closing(text, start + 2)
        if end < 0:
            break
        parts.append(text[at:start])
        name, has_default, default = text[start + 2 : end].partition(separator)
        name = name.strip()
        is_hidden = is_secret(name) and not secret  # a secret in a setting that would be shown
        if name in lookup and not is_hidden:
            value = expanded(lookup[name], lookup, separator, said, secret=secret, depth=depth + 1)
        elif has_default and not secret and not is_hidden:
            value = expanded(default, lookup, separator, said, depth=depth + 1)
            said(_variable(name), value)
        else:
            value = closed(_variable(name))
            said(_variable(name), None)
        parts.append(value)
        at = end + 1
    parts.append(text[at:])
    return "".join(parts)


def _closing(text: str, at: int) -> int:
    """The position of the brace that closes the one at ``at``, or -1."""
    level = 1
    for place in range(at, len(text)):
        if text.startswith("${", place):
            level += 1
        elif text[place] == "}":
            level -= 1
            if not level:
                return place
    return -1


def _variable(name: str) -> str:
    """The environment variable of a property, as in Spring and SmallRye."""
    name = name.removeprefix("env.")
    return name if name.isidentifier() else "".join(c if c.isalnum() else "_" for c in name).upper()


def split_outside(text: str) -> list[str]:
    """The parts of a list with commas; those inside parentheses do not separate."""
    parts = [""]
    level = 0
    for letter in text:
        level += {"(": 1, ")": -1}.get(letter, 0)
        if letter == "," and level <= 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


class Unlike(ValueError):
    """A value without an equivalent here; the text is the reason, for a note."""


_ENDLESS = "waits always have a deadline here; the default is used"
AT_RUN_TIME = "its value is known only when the program runs: put it into the profile by hand, in seconds"
UNLIMITED = "there is always a limit here; the default is used"


def milliseconds(text: str) -> float | int | str:
    """A duration in milliseconds as seconds; Unlike if it means "for ever"."""
    if unresolved(text):
        return f"{text}ms"
    value = float(text)
    if value < 0:
        raise Unlike(_ENDLESS)
    return whole(value / 1000)


def deadline(text: str, seconds: Callable[[str], float | int | str] = milliseconds) -> float | int | str:
    """``milliseconds`` for options where 0 also means "for ever"."""
    value = seconds(text)
    if value == 0:
        raise Unlike(_ENDLESS)
    return value


def whole(value: float) -> float | int:
    """The number, as an int if it is whole."""
    return int(value) if float(value).is_integer() else value


def count(text: str) -> int | str:
    """A number; Unlike if it is negative, which means "unlimited"."""
    if unresolved(text):
        return text
    value = int(text)
    if value < 0:
        raise Unlike(UNLIMITED)
    return value


def limit(text: str) -> int | str:
    """A number, or -1 for unlimited."""
    return text if unresolved(text) else max(int(text), -1)


def attempts(text: str) -> int | str | None:
    """A number of attempts; None for unlimited, the default here."""
    return None if text.strip() == "-1" else count(text)


def flag(text: str) -> bool | str:
    """A truth value."""
    if unresolved(text):
        return text
    words = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
    if text.strip().lower() not in words:
        raise ValueError("neither true nor false")
    return words[text.strip().lower()]


def not_flag(text: str) -> bool:
    """The opposite of a truth value."""
    value = flag(text)
    if isinstance(value, str):
        raise Unlike("its value is known only when the program runs, and our option means the opposite")
    return not value


def spring_duration(text: str) -> float | int | str:
    """Seconds from Spring's forms: ``15s``, ``500ms``, ``PT1M30S``, or a number of milliseconds."""
    text = text.strip()
    if unresolved(text):
        raise Unlike(AT_RUN_TIME)
    if text.upper().startswith(("PT", "P")):
        return whole(_iso(text.upper()))
    for unit, factor in (("ms", 0.001), ("us", 1e-6), ("ns", 1e-9), ("s", 1), ("m", 60), ("h", 3600), ("d", 86400)):
        if text.lower().endswith(unit):
            return whole(round(float(text[: -len(unit)]) * factor, 9))
    return milliseconds(text)


def _iso(text: str) -> float:
    """``P1DT2H3M4.5S`` in seconds."""
    try:
        return msgspec.convert(text, timedelta).total_seconds()
    except msgspec.ValidationError as error:
        raise ValueError("not a duration") from error

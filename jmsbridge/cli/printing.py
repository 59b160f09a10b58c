"""Prints untrusted text: names, bodies, messages of brokers, words of the command line.

Such text is never interpreted as markup, emoji names or highlighting; control characters are escaped; what may be a
password is masked.
"""

import json
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console
from rich.text import Text

from jmsbridge.config import mask_url

__all__ = ["counted", "json_text", "keep_secret", "moving", "plain", "print_json", "screen", "shown"]

# Control characters, line separators, changes of the direction of writing, and halves of surrogate pairs.
_UNSEEN = "\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff"
_CONTROL = re.compile(f"[{_UNSEEN}]")
_CONTROL_IN_LINES = re.compile(f"(?![\n\t])[{_UNSEEN}]")
_NOT_IN_JSON = re.compile(f"(?![\\x00-\\x1f])[{_UNSEEN}]")  # JSON escapes the others
_OPTION = re.compile(r"-{0,2}[\w.-]+")
_CREDENTIALS = re.compile(r"[^@]*:[^@]*@", re.DOTALL)

_hidden: dict[str, str] = {}
_moving: list[Console] = []


def keep_secret(words: Sequence[str]) -> None:
    """Register the words of a command line: passwords in them are masked from now on."""
    _hidden.clear()
    for word in words:
        name, equals, value = word.partition("=")
        for text in (word, value if equals and _OPTION.fullmatch(name) else ""):
            if _CREDENTIALS.match(text):
                _hidden[text] = _hidden[str(Path(text))] = mask_url(text)


def shown(value: object, *, lines: bool = False) -> str:
    """A value as text that is safe to print: on one line, or, with ``lines``, on several."""
    text = str(value)
    for secret, masked in _hidden.items():
        text = text.replace(secret, masked).replace(repr(secret)[1:-1], masked)
    return (_CONTROL_IN_LINES if lines else _CONTROL).sub(lambda match: _escaped(match[0]), text)


def _escaped(character: str) -> str:
    return repr(character)[1:-1] if not 0xD800 <= ord(character) <= 0xDFFF else f"\\u{ord(character):04x}"


def plain(value: object, style: str = "") -> Text:
    """``shown`` as a text of rich, for a table or a line."""
    return Text(shown(value), style=style)


@contextmanager
def moving(console: Console) -> Iterator[None]:
    """While this console shows progress, all lines for standard error go through it."""
    _moving.append(console)
    try:
        yield
    finally:
        _moving.remove(console)


def json_text(document: Any, **how: Any) -> str:
    """A document as JSON that is safe to print; halves of surrogate pairs are escaped, since they are not UTF-8."""
    text = json.dumps(document, ensure_ascii=False, **how)
    return _NOT_IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def print_json(document: Any, *, indent: int | None = None) -> None:
    """Print a document to standard output."""
    sys.stdout.write(json_text(document, indent=indent, default=str) + "\n")


def counted(count: int, noun: str) -> str:
    """``1 message``, ``2 messages``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


class _Output(Console):
    """Standard output: the command ends with its own exit code if the reader has closed it, not with rich's."""

    def on_broken_pipe(self) -> None:
        """Called while the error is handled."""
        raise BrokenPipeError


def screen(file: TextIO | None = None) -> Console:
    """A console without markup, by default on standard error; created at each use, to follow redirections."""
    if file is None and _moving:
        return _moving[-1]  # which prints a line above its progress display
    kind = Console if file is None else _Output
    return kind(file=file or sys.stderr, markup=False, emoji=False, highlight=False, soft_wrap=True)

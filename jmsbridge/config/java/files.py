"""Reads a file of Java configuration, and tells its kind."""

import re
from pathlib import Path

from jmsbridge.config.java.reading import Kind
from jmsbridge.errors import ConfigurationError

__all__ = ["LARGEST", "decoded", "kind_of", "read_file"]

LARGEST = 1 << 20
"""The size in bytes up to which something is taken for configuration."""

_URL = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*:|\()[^\s=]*(?:\?\S*)?$")
_ASSIGNED = re.compile(r"\s*[^\s:=]+\s*=")
_KINDS: dict[str, Kind] = {".properties": "properties", ".yml": "yaml", ".yaml": "yaml"}


def read_file(path: Path) -> tuple[str, Kind, str]:
    """The text of a file, its kind, and a name for its profile; ConfigurationError if it cannot be read."""
    try:
        with path.open("rb") as stream:
            data = decoded(stream.read(LARGEST + 1), repr(str(path)))
    except OSError as error:
        raise ConfigurationError(f"cannot read {str(path)!r}: {error.strerror}") from error
    kind = _KINDS.get(path.suffix.lower()) or kind_of(data)
    return data, kind, "".join(letter if letter.isalnum() else "-" for letter in path.stem)


def kind_of(text: str) -> Kind:
    """The kind of a text without a file name: one line with a URL, YAML, or else properties."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    if len(lines) == 1 and _URL.match(lines[0].strip()):
        return "url"
    return "properties" if any(_ASSIGNED.match(line) for line in lines) or not lines else "yaml"


def decoded(data: bytes, what: str) -> str:
    """The text of a file; ConfigurationError if it is too large."""
    if len(data) > LARGEST:
        raise ConfigurationError(f"{what} is too large for a configuration file")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")  # the encoding of properties files up to Java 8

"""Writes profiles into ``jmsbridge.toml`` without changing anything else in it."""

import json
import os
import stat
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from jmsbridge.errors import ConfigurationError

__all__ = ["profile_text", "replacing", "with_profile", "write_profile"]

_OWNER_ONLY = 0o600  # a profile may hold a password
_BARE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")


def profile_text(name: str, profile: Mapping[str, Any]) -> str:
    """The table ``[profiles.NAME]`` as TOML."""
    lines = [f"[profiles.{_key(name)}]", *(f"{_key(key)} = {_value(value)}" for key, value in profile.items())]
    return "\n".join(lines) + "\n"


def with_profile(text: str, name: str, profile: Mapping[str, Any], *, force: bool = False) -> str:
    """The text of a configuration file with the profile in it.

    ConfigurationError if there is a profile of that name, unless ``force`` replaces it, or if the layout of the file
    does not allow to replace one table. Comments and all other tables are unchanged.
    """
    before = _parsed(text)
    expected: dict[str, Any] = {**before, "profiles": {**before.get("profiles", {}), name: dict(profile)}}
    kept = text
    if name in before.get("profiles", {}):
        if not force:
            raise ConfigurationError(f"profile {name!r} exists already; --force replaces it")
        kept = _without(text, name)
    made = (kept.rstrip() + "\n\n" if kept.strip() else "") + profile_text(name, profile)
    try:
        same = tomllib.loads(made) == expected
    except tomllib.TOMLDecodeError:
        same = False
    if not same:
        raise ConfigurationError(f"the layout of the file cannot be changed automatically: add {name!r} by hand")
    return made


def write_profile(path: Path, name: str, profile: Mapping[str, Any], *, force: bool = False) -> None:
    """Write the profile into the file, atomically; a new file is readable by its owner only."""
    try:
        text = path.read_text(encoding="utf-8") if path.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"cannot read {str(path)!r}: {error}") from error
    made = with_profile(text, name, profile, force=force)
    path = path.resolve()
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else _OWNER_ONLY
    with replacing(path, mode) as file:
        file.write(made.encode("utf-8"))


@contextmanager
def replacing(path: Path, mode: int = _OWNER_ONLY) -> Iterator[BinaryIO]:
    """A file that gets its name, and replaces another of that name, once it is complete and on disk."""
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise ConfigurationError(f"cannot write {str(path)!r}: {error.strerror}") from None
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _parsed(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"the configuration file is not valid TOML: {error}") from None


def _without(text: str, name: str) -> str:
    """The text without the lines of one profile's tables; ``with_profile`` checks that nothing else was removed."""
    kept: list[str] = []
    inside = False
    for line in text.splitlines(keepends=True):
        if line.lstrip().startswith("["):
            header = _header(line)
            inside = header is not None and header[:2] == ["profiles", name]
        if not inside:
            kept.append(line)
    return "".join(kept)


def _header(line: str) -> list[str] | None:
    """The names in a line such as ``[profiles.orders.emulation]``; None if the line is not a header."""
    try:
        table: Any = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return None  # a line of an array, which also begins with a bracket
    path = []
    while isinstance(table, dict) and table:
        key, table = next(iter(table.items()))
        path.append(key)
    return path


def _key(name: str) -> str:
    return name if name and set(name) <= _BARE else _text(name)


def _text(value: str) -> str:
    # JSON's escapes are valid in TOML; only DEL must be escaped in addition.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {_value(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(inner) for inner in value) + "]"
    return _text(str(value))

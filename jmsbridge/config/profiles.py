"""Profiles: named targets in ``jmsbridge.toml``.

The file is searched for at ``$JMSBRIDGE_CONFIG``, in the working directory, and in the user's configuration folder; the
first file that has the profile wins.
"""

import os
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import platformdirs

from jmsbridge.config.masking import mask_url
from jmsbridge.config.secrets import expand, expand_url, has_reference
from jmsbridge.config.suggest import nearest
from jmsbridge.errors import ConfigurationError

__all__ = ["CONFIG_NAME", "Profile", "candidate_files", "config_files", "find_profile", "profile_names"]

CONFIG_NAME = "jmsbridge.toml"


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """One profile with its references replaced. ``secret`` names the options whose value came from a reference."""

    name: str
    file: Path
    urls: tuple[str, ...]
    options: dict[str, Any]
    secret: frozenset[str]

    def __repr__(self) -> str:
        return f"Profile({self.name!r}, {str(self.file)!r})"


def config_files() -> list[Path]:
    """The configuration files that exist, in the order in which they are searched."""
    named = os.environ.get("JMSBRIDGE_CONFIG")
    if named and not Path(named).is_file():
        raise ConfigurationError(f"$JMSBRIDGE_CONFIG is {named!r}, which is not a file")
    return [path for path in candidate_files() if path.is_file()]


def candidate_files() -> list[Path]:
    """Where configuration files are searched for, in order, whether they exist or not."""
    named = os.environ.get("JMSBRIDGE_CONFIG")
    folders = [Path.cwd(), platformdirs.user_config_path("jmsbridge", appauthor=False)]
    candidates = ([Path(named)] if named else []) + [folder / CONFIG_NAME for folder in folders]
    return list(dict.fromkeys(candidates))


def profile_names() -> list[str]:
    """The names of all profiles, sorted."""
    return sorted({name for path in config_files() for name in _read(path)})


def find_profile(name: str) -> Profile:
    """The profile of that name; ConfigurationError names the nearest one."""
    known: list[str] = []
    for path in config_files():
        profiles = _read(path)
        if name in profiles:
            return _profile(name, path, profiles[name])
        known += profiles
    hint = nearest(name, known, f"profiles; they live in {CONFIG_NAME}" if not known else "profiles")
    form = "a URL starts with a scheme, such as 'embedded:'"
    raise ConfigurationError(f"unknown profile {mask_url(name)!r}: {hint} ({form})")


def _read(path: Path) -> dict[str, Any]:
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"cannot read {str(path)!r}: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{str(path)!r} is not valid TOML: {error}") from None
    for key in document:
        if key != "profiles":
            raise ConfigurationError(f"{path}: unknown table {key!r}: {nearest(key, ['profiles'], 'tables')}")
    profiles = document.get("profiles", {})
    for name, table in profiles.items() if isinstance(profiles, dict) else [("profiles", profiles)]:
        if not isinstance(table, dict):
            raise ConfigurationError(f"{path}: {name!r} must be a table, such as [profiles.orders]")
    return dict(profiles)


def _profile(name: str, path: Path, table: dict[str, Any]) -> Profile:
    where = f"profile {name!r} in {path}"
    given = table.get("url")
    urls = [given] if isinstance(given, str) else given
    if not isinstance(urls, list) or not urls or not all(isinstance(url, str) for url in urls):
        raise ConfigurationError(f"{where} needs a url: text or a list of texts")
    options: dict[str, Any] = {}
    secret = set()
    for key, value in table.items():
        if key != "url":
            options[key] = _expanded(value, f"{where}, {key}")
            if _refers(value):
                secret.add(key)
    expanded = tuple(expand_url(url, f"{where}, url") for url in urls)
    return Profile(name=name, file=path, urls=expanded, options=options, secret=frozenset(secret))


def _refers(value: Any) -> bool:
    """Whether a value, or one in a table, refers to a secret."""
    if isinstance(value, dict):
        return any(_refers(each) for each in value.values())
    return isinstance(value, str) and has_reference(value)


def _expanded(value: Any, where: str) -> Any:
    if isinstance(value, dict):
        return {name: _expanded(each, f"{where}.{name}") for name, each in value.items()}
    return expand(value, where) if isinstance(value, str) else value

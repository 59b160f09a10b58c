"""References to secrets in profiles: ``${env:NAME}`` and ``${file:PATH}``."""

import os
import re
from pathlib import Path
from urllib.parse import quote

from jmsbridge.errors import ConfigurationError

__all__ = ["expand", "expand_url", "has_reference"]

_REFERENCE = re.compile(r"\$\{(\w*):([^}]*)\}")


def has_reference(text: str) -> bool:
    """Whether the text refers to a secret."""
    return _REFERENCE.search(text) is not None


def expand(text: str, where: str) -> str:
    """The text with every reference replaced; ConfigurationError if one cannot be resolved."""
    return _REFERENCE.sub(lambda match: _value(match[1], match[2], where), text)


def expand_url(text: str, where: str) -> str:
    """``expand`` for a URL: values are quoted, so that a password may contain any character.

    A reference that is the whole text stands for a whole URL and is not quoted.
    """
    whole = _REFERENCE.fullmatch(text.strip())
    if whole is not None:
        return _value(whole[1], whole[2], where)
    return _REFERENCE.sub(lambda match: quote(_value(match[1], match[2], where), safe=""), text)


def _value(kind: str, name: str, where: str) -> str:
    if kind == "env":
        value = os.environ.get(name)
        if value is None:
            raise ConfigurationError(f"{where}: the environment has no variable {name!r}")
        return value
    if kind == "file":
        try:
            # A final line end belongs to the file, not to the secret.
            return Path(name).expanduser().read_text(encoding="utf-8").removesuffix("\n").removesuffix("\r")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigurationError(f"{where}: cannot read the secret in {name!r}: {type(error).__name__}") from None
    raise ConfigurationError(f"{where}: '${{{kind}:…}}' is not a reference; write ${{env:NAME}} or ${{file:PATH}}")

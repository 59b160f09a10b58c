"""Masking of secrets in errors, logs, reprs and the command line's tables."""

import re

import msgspec

__all__ = ["MASK", "is_secret", "mask_url", "masked_fields", "shown_scheme"]

MASK = "***"

_SECRET = re.compile(r"pass(?!i)|pwd|secret|token|credential|api_?key", re.IGNORECASE)
_PREFIX = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*:)?/*")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+-]*")
_PORT = re.compile(r"(?:[0-9]+(?:[/?#,].*)?)?", re.DOTALL)
_PARAMETER = re.compile(r"([?&])([^=&#]*)=([^&]*)")


def is_secret(name: str) -> bool:
    """Whether an option of this name holds a secret, which is never shown."""
    return _SECRET.search(name) is not None


def mask_url(url: str) -> str:
    """The URL, even a malformed one, without anything that may be a password.

    Whatever is mistyped, missing or not quoted: everything between the first colon after the scheme and the last "@"
    is masked, and so is what follows a colon in the place of a port.
    """
    start = _PREFIX.match(url)
    prefix = start[0] if start is not None else ""
    info, at, address = url[len(prefix) :].rpartition("@")
    user, colon, _ = info.partition(":")
    if at and not prefix.endswith("/"):  # without slashes, scheme and user cannot be told apart
        plain = f"{prefix}{MASK}@{address}"
    elif colon:
        plain = f"{prefix}{user}:{MASK}@{address}"
    elif at:
        plain = f"{prefix}{user if prefix.endswith('//') and user.isidentifier() else MASK}@{address}"
    else:
        plain = prefix + _without_port(address)
    return _PARAMETER.sub(lambda m: f"{m[1]}{m[2]}={MASK if is_secret(m[2]) else m[3]}", plain)


def _without_port(address: str) -> str:
    """``host:port`` unchanged, and ``user:password`` without the password."""
    host, colon, port = address.rpartition(":") if address.startswith("[") else address.partition(":")
    if not colon or _PORT.fullmatch(port) or any(mark in host for mark in "/?"):
        return address
    return f"{host}:{MASK}"


def shown_scheme(scheme: str) -> str:
    """A URL's scheme for an error message; text that cannot be a scheme may be part of a password."""
    return repr(scheme) if _SCHEME.fullmatch(scheme) else "(not shown)"


def masked_fields(struct: msgspec.Struct) -> dict[str, object]:
    """The fields of an options struct, with secrets masked."""
    fields = msgspec.structs.asdict(struct)
    return {name: MASK if value and is_secret(name) else value for name, value in fields.items()}

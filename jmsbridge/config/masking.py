"""Keeping secrets out of everything that is printed: errors, logs, reprs, the command line's tables."""

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
    """Whether the value of an option with this name is never shown."""
    return _SECRET.search(name) is not None


def mask_url(url: str) -> str:
    """The URL, or what should have been one, without anything that may be a password.

    Whatever is mistyped, missing or not quoted: what stands between the first colon behind the scheme and the last
    "@" goes, and so does what follows a colon where a port should.
    """
    start = _PREFIX.match(url)
    prefix = start[0] if start is not None else ""
    info, at, address = url[len(prefix) :].rpartition("@")
    user, colon, _ = info.partition(":")
    if at and not prefix.endswith("/"):  # without slashes nobody knows what the scheme is and what the user
        plain = f"{prefix}{MASK}@{address}"
    elif colon:
        plain = f"{prefix}{user}:{MASK}@{address}"
    elif at:
        plain = f"{prefix}{user if prefix.endswith('//') and user.isidentifier() else MASK}@{address}"
    else:
        plain = prefix + _without_port(address)
    return _PARAMETER.sub(lambda m: f"{m[1]}{m[2]}={MASK if is_secret(m[2]) else m[3]}", plain)


def _without_port(address: str) -> str:
    """``host:port`` as it is, and ``user:password`` without its password."""
    host, colon, port = address.rpartition(":") if address.startswith("[") else address.partition(":")
    if not colon or _PORT.fullmatch(port) or any(mark in host for mark in "/?"):
        return address
    return f"{host}:{MASK}"


def shown_scheme(scheme: str) -> str:
    """A URL's scheme for an error message; what cannot be one may be a piece of a password."""
    return repr(scheme) if _SCHEME.fullmatch(scheme) else "what stands there"


def masked_fields(struct: msgspec.Struct) -> dict[str, object]:
    """The fields of an options struct, ready to print."""
    fields = msgspec.structs.asdict(struct)
    return {name: MASK if value and is_secret(name) else value for name, value in fields.items()}

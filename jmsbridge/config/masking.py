"""Keeping secrets out of everything that is printed: errors, logs, reprs, the command line's tables."""

import re

import msgspec

__all__ = ["MASK", "is_secret", "mask_url", "masked_fields"]

MASK = "***"

_SECRET = re.compile(r"password|passphrase|passwd|secret|token|credential|api_?key", re.IGNORECASE)
# From the first colon of the authority to the last "@": a password may hold "/", "?", "#" or "@", unquoted by mistake.
_USERINFO = re.compile(r"(?<=//)([^:@/?#]*):.*@", re.DOTALL)
_AUTHORITY_PORT = re.compile(r"(?<=//)([^:@/?#\[\]]*):(?![0-9]*(?:[/?#]|$)).*", re.DOTALL)
_PARAMETER = re.compile(r"([?&])([^=&#]*)=([^&]*)")


def is_secret(name: str) -> bool:
    """Whether the value of an option with this name is never shown."""
    return _SECRET.search(name) is not None


def mask_url(url: str) -> str:
    """The URL, or what should have been one, without anything that may be a password."""
    plain = _USERINFO.sub(rf"\1:{MASK}@", url)
    if "@" not in plain:
        plain = _AUTHORITY_PORT.sub(rf"\1:{MASK}", plain)
    return _PARAMETER.sub(lambda m: f"{m[1]}{m[2]}={MASK if is_secret(m[2]) else m[3]}", plain)


def masked_fields(struct: msgspec.Struct) -> dict[str, object]:
    """The fields of an options struct, ready to print."""
    fields = msgspec.structs.asdict(struct)
    return {name: MASK if value and is_secret(name) else value for name, value in fields.items()}

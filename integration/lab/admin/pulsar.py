"""Logins of a Pulsar that requires them: tokens for any role, and the file with the user's password."""

import base64
import hashlib
import hmac
import json
import time

from integration.lab.table import USER

__all__ = ["password_file", "token", "token_key"]

_KEY = b"jmsbridge tests sign their tokens with this key"
_HASH = "$apr1$jmsbridg$K4g3FHqShpZzZPzsTIVcW."  # of the password that all brokers use


def token(role: str, *, seconds: float | None = None) -> str:
    """A token that expires in so many seconds, or never; only the user's role may do anything with it."""
    claims: dict[str, object] = {"sub": role}
    if seconds is not None:
        claims["exp"] = int(time.time() + seconds)
    head = _encoded(json.dumps({"alg": "HS256"}).encode())
    signed = f"{head}.{_encoded(json.dumps(claims).encode())}"
    return f"{signed}.{_encoded(hmac.digest(_KEY, signed.encode(), hashlib.sha256))}"


def token_key() -> str:
    """The key with which the server checks tokens, as a URL."""
    return _url(_KEY)


def password_file() -> str:
    """Users and the hashes of their passwords, as a URL."""
    return _url(f"{USER}:{_HASH}".encode())


def _url(content: bytes) -> str:
    return "data:;base64," + base64.b64encode(content).decode()


def _encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()

"""Bodies of messages, each kind as Starlight for JMS has it. Pure.

A body without bytes is either empty or Pulsar's null, which is written here as None. Java fails on the wrong one of the
two, and then never acknowledges the message: bytes and streams must not be null, maps and objects not empty.
"""

from collections.abc import Callable
from typing import Any, Final

from jmsbridge.codecs.mutf8 import ModifiedUtf8Error
from jmsbridge.spi import BodyKind, SendRefused
from jmsbridge_pulsar.messages import java_maps, java_streams
from jmsbridge_pulsar.messages.conventions import KIND_NAMES

__all__ = ["decode", "encode"]


def encode(kind: BodyKind, body: Any) -> bytes | None:
    """The body; SendRefused if it has a text that Java's format has no room for."""
    if kind is BodyKind.TEXT:
        return None if body is None else _utf8(body)
    if kind is BodyKind.BYTES:
        return body or b""
    if kind is BodyKind.OBJECT:
        return body or None
    if kind is BodyKind.NONE:
        return None
    try:
        if kind is BodyKind.STREAM:
            return java_streams.encode(body)
        return java_maps.encode(body) if body else None
    except ModifiedUtf8Error as error:
        what = "a text in a stream message" if kind is BodyKind.STREAM else "the name of a field of a map message"
        raise SendRefused(f"{what} is too long for Starlight for JMS: {error}") from error


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:  # lone surrogates, which only jmsbridge can read
        return text.encode("utf-8", "surrogatepass")


def decode(name: str | None, body: bytes, is_null: bool) -> tuple[BodyKind, Any, str | None]:
    """Kind and body for the type's ``name`` in the message; and if it cannot be decoded, the body as bytes and why."""
    if name is None:  # of another program than a JMS client
        return BodyKind.BYTES, body, None
    kind = KIND_NAMES.get(name)
    if kind is None:
        return BodyKind.BYTES, body, f"the unknown type of message {name[:80]!r}"
    if is_null or not body:
        return kind, _ABSENT[kind] if is_null else _EMPTY[kind], None
    try:
        return kind, _DECODE[kind](body), None
    except ValueError as error:
        return BodyKind.BYTES, body, str(error)


_ABSENT: Final[dict[BodyKind, Any]] = {
    BodyKind.NONE: None,
    BodyKind.TEXT: None,
    BodyKind.BYTES: b"",
    BodyKind.MAP: {},
    BodyKind.STREAM: [],
    BodyKind.OBJECT: None,
}
_EMPTY: Final = _ABSENT | {BodyKind.TEXT: ""}


def _text(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError:
        try:
            return body.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            raise ValueError("a text that is not in UTF-8") from error


def _nothing(body: bytes) -> None:
    raise ValueError(f"a message of a kind without body has a body of {len(body)} bytes")


_DECODE: Final[dict[BodyKind, Callable[[bytes], Any]]] = {
    BodyKind.NONE: _nothing,
    BodyKind.TEXT: _text,
    BodyKind.BYTES: bytes,
    BodyKind.MAP: java_maps.decode,
    BodyKind.STREAM: java_streams.decode,
    BodyKind.OBJECT: bytes,
}

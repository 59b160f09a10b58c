"""Bodies in dialect ``amqp``: each message kind under a content type that other AMQP programs understand.

Texts and bytes are written as they are, map and stream messages as JSON (``jmsbridge.transport.typed_values``): other
programs would need a library and a convention for msgpack with extension types, and cannot decode field tables.
"""

from typing import Any, Final

from jmsbridge.spi import BodyKind
from jmsbridge.transport.typed_values import decode_map, decode_stream, encode_map, encode_stream
from jmsbridge_rabbitmq.protocol.fields import Malformed, strict_text
from jmsbridge_rabbitmq.protocol.properties import shortstr

__all__ = ["CONTENT_TYPES", "PLAIN_TEXTS", "decode", "encode"]

_TYPES: Final = {
    BodyKind.NONE: "application/vnd.jmsbridge.message",
    BodyKind.TEXT: "text/plain;charset=utf-8",
    BodyKind.BYTES: "application/octet-stream",
    BodyKind.MAP: "application/vnd.jmsbridge.map+json",
    BodyKind.STREAM: "application/vnd.jmsbridge.stream+json",
    BodyKind.OBJECT: "application/x-java-serialized-object",
}
PLAIN_TEXTS: Final = frozenset({_TYPES[BodyKind.TEXT], "text/plain", "application/json"})
"""Content types of texts in UTF-8."""
CONTENT_TYPES: Final = tuple(shortstr(_TYPES[kind], "content type") for kind in BodyKind)
"""The encoded content type of each kind."""

_KINDS: Final = {name: kind for kind, name in _TYPES.items()} | {"text/plain": BodyKind.TEXT}
_TEXT_TYPES: Final = ("application/json", "application/xml", "application/javascript")
_CHARSETS: Final = (
    "iso-8859-",
    "windows-",
    "utf-16",
    "utf-32",
    "latin1",
    "gb18030",
    "gbk",
    "big5",
    "shift_jis",
    "euc-",
)
_PLAIN_ENCODINGS: Final = frozenset({"", "binary", "identity", "utf-8", "utf8", "us-ascii", "7bit", "8bit"})


def encode(kind: BodyKind, body: Any) -> bytes:
    """The body of a message; empty for a missing text or object."""
    if kind is BodyKind.TEXT:
        if body is None:
            return b""
        try:
            data: bytes = body.encode()
        except UnicodeEncodeError:  # lone surrogates, which only jmsbridge can read
            data = body.encode("utf-8", "surrogatepass")
        return data
    if kind is BodyKind.MAP:
        return encode_map(body)
    if kind is BodyKind.STREAM:
        return encode_stream(body)
    return body or b""


def decode(
    content_type: str | None, encoding: str | None, marked: bool, absent: bool, body: bytes
) -> tuple[BodyKind, Any]:
    """The kind and the canonical body; Malformed if the body does not match its content type.

    ``marked`` says that the sender marked it as a TextMessage, ``absent`` that its text is None; ``absent`` is ignored
    if there is a body, because a replying program may have copied that header.
    """
    if absent and not body:
        return BodyKind.TEXT, None
    kind = _KINDS.get(content_type or "")
    if kind is None:
        kind = _foreign_kind(content_type)
    if kind is BodyKind.BYTES and marked:
        kind = BodyKind.TEXT
    if encoding is not None and encoding.lower() not in _PLAIN_ENCODINGS:
        return BodyKind.BYTES, body  # for example compressed: left to the application
    if kind is BodyKind.TEXT:
        return kind, _text(content_type, body)
    if kind is BodyKind.BYTES:
        return kind, body
    if kind is BodyKind.OBJECT:
        return kind, body or None
    if kind is BodyKind.NONE:
        if body:
            raise Malformed(f"a message of a kind without body has a body of {len(body)} bytes")
        return kind, None
    return kind, _read_structure(body, kind)


def _foreign_kind(content_type: str | None) -> BodyKind:
    plain = (content_type or "").partition(";")[0].strip().lower()
    if plain.startswith("text/") or plain in _TEXT_TYPES or plain.endswith(("+json", "+xml")):
        return _KINDS.get(plain, BodyKind.TEXT)
    return _KINDS.get(plain, BodyKind.BYTES)


def _text(content_type: str | None, body: bytes) -> str:
    parameters = (content_type or "").lower().partition("charset=")[2]
    charset = parameters.partition(";")[0].strip(" \"'")
    if charset in ("", "utf-8", "utf8", "us-ascii"):
        return strict_text(body)
    try:
        if charset.startswith(_CHARSETS):
            return body.decode(charset)
    except (LookupError, ValueError) as error:
        raise Malformed(f"a text is not in its character set {charset[:40]!r}") from error
    raise Malformed(f"a text has the unknown character set {charset[:40]!r}")


def _read_structure(body: bytes, kind: BodyKind) -> Any:
    try:
        return decode_map(body) if kind is BodyKind.MAP else decode_stream(body)
    except ValueError as error:
        raise Malformed(str(error)) from error

"""Bodies in dialect ``amqp``: each message kind under a content type that other AMQP programs understand.

Text is text and bytes are bytes. A map or stream message is JSON, because every AMQP reader has a parser for it, while
msgpack with extension types needs a library and a convention, and field tables are nothing that an application can
decode: ``{"map": {"qty": 5, "blob": "AAE="}, "types": {"blob": "bytes"}}``. Values whose Java type the JSON form does
not show have it in ``types``; numbers without one are a Java int (a long where it is too small) or a double.
"""

import base64
import binascii
import json
import math
from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec

from jmsbridge.spi import BodyKind, Byte, Char, Float, Long, Short
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
PLAIN_TEXTS: Final = frozenset({_TYPES[BodyKind.TEXT], "text/plain"})
"""Content types of what is text in UTF-8."""
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
_INT_MIN, _INT_MAX = -(1 << 31), (1 << 31) - 1
_LONG_MIN, _LONG_MAX = -(1 << 63), (1 << 63) - 1

_encode_json: Final = msgspec.json.Encoder().encode
_decode_json: Final = msgspec.json.Decoder().decode


def encode(kind: BodyKind, body: Any) -> bytes:
    """The body of a message; a missing text or object is empty."""
    if kind is BodyKind.TEXT:
        if body is None:
            return b""
        try:
            data: bytes = body.encode()
        except UnicodeEncodeError:  # lone surrogates: nobody but us will read them again
            data = body.encode("utf-8", "surrogatepass")
        return data
    if kind is BodyKind.MAP:
        return _structure("map", body.items(), dict)
    if kind is BodyKind.STREAM:
        return _structure("stream", enumerate(body), lambda fields: [value for _, value in fields])
    return body or b""


def _structure(name: str, fields: Iterable[tuple[Any, Any]], gather: Callable[[Iterable[Any]], Any]) -> bytes:
    types: dict[str, str] = {}
    shown = []
    for key, value in fields:
        form = _FORMS.get(type(value))
        if form is not None and (type(value) is not float or not math.isfinite(value)):
            types[str(key)] = form[0]
            value = form[1](value)
        shown.append((key, value))
    whole = {name: gather(shown), "types": types} if types else {name: gather(shown)}
    try:
        return _encode_json(whole)
    except UnicodeEncodeError:  # lone surrogates, which JSON has escapes for
        return json.dumps(whole).encode()


def _float_text(value: float) -> float | str:
    """JSON has no NaN and no infinities."""
    return float(value) if math.isfinite(value) else repr(float(value))


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


_FORMS: Final[dict[type, tuple[str, Callable[[Any], Any]]]] = {
    Byte: ("byte", int),
    Short: ("short", int),
    Long: ("long", int),
    Float: ("float", _float_text),
    float: ("double", _float_text),  # only where it is not finite
    Char: ("char", str.__str__),
    bytes: ("bytes", _base64),
}
_READ: Final[dict[str, Callable[[Any], Any]]] = {
    "byte": Byte,
    "short": Short,
    "long": Long,
    "float": lambda value: Float(float(value)),
    "double": float,
    "char": Char,
    "bytes": lambda value: base64.b64decode(value, validate=True),
}


def decode(
    content_type: str | None, encoding: str | None, marked: bool, absent: bool, body: bytes
) -> tuple[BodyKind, Any]:
    """The kind and the canonical body; Malformed where the body is not what its content type says.

    ``marked`` says that the sender calls it a TextMessage, ``absent`` that it is one without text; where there is a
    body all the same, a program that answers has copied that header.
    """
    if absent and not body:
        return BodyKind.TEXT, None
    kind = _KINDS.get(content_type or "")
    if kind is None:
        kind = _foreign_kind(content_type)
    if kind is BodyKind.BYTES and marked:
        kind = BodyKind.TEXT
    if encoding is not None and encoding.lower() not in _PLAIN_ENCODINGS:
        return BodyKind.BYTES, body  # compressed, say: the application knows
    if kind is BodyKind.TEXT:
        return kind, _text(content_type, body)
    if kind is BodyKind.BYTES:
        return kind, body
    if kind is BodyKind.OBJECT:
        return kind, body or None
    if kind is BodyKind.NONE:
        if body:
            raise Malformed(f"a body of {len(body)} bytes in a message that should have none")
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
    raise Malformed(f"a text in the unknown character set {charset[:40]!r}")


def _read_structure(body: bytes, kind: BodyKind) -> Any:
    is_map = kind is BodyKind.MAP
    try:
        try:
            whole = _decode_json(body)
        except msgspec.DecodeError:
            whole = json.loads(body)  # lone surrogates
        fields = whole["map" if is_map else "stream"]
        types = whole.get("types", {})
        if is_map:
            return {name: _field(value, types.get(name)) for name, value in dict(fields).items()}
        return [_field(value, types.get(str(at))) for at, value in enumerate(list(fields))]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError, binascii.Error) as error:
        raise Malformed(f"the fields of a {'map' if is_map else 'stream'} message cannot be read: {error}") from error


def _field(value: Any, named: str | None) -> Any:
    if named is not None:
        return _READ[named](value)
    kind = type(value)
    if kind is int:
        if _INT_MIN <= value <= _INT_MAX:
            return value
        return Long(value)
    if kind is str or kind is float or kind is bool or value is None:
        return value
    raise Malformed(f"a field holds a JSON {kind.__name__}")

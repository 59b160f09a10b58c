"""Body sections: as Qpid JMS writes them for each kind, and what they mean, also without its annotation. Pure."""

import re
from typing import Any, Final, NamedTuple
from uuid import UUID

from jmsbridge.codecs import javaserial
from jmsbridge.spi import BodyKind, Byte, Char, Float, Long, Short
from jmsbridge_amqp.messages.conventions import KINDS, OBJECT_TYPE
from jmsbridge_amqp.protocol.errors import Malformed, Unencodable
from jmsbridge_amqp.protocol.reading import text as utf8_text
from jmsbridge_amqp.protocol.writing import binary, compound_list, encode_pairs, string
from jmsbridge_amqp.protocol.writing import encode as encode_value

__all__ = ["Body", "decode", "encode", "encode_typed"]

_VALUE: Final = b"\x00\x53\x77"
_DATA: Final = b"\x00\x53\x75"
_SEQUENCE: Final = b"\x00\x53\x76"
_NULL_OBJECT: Final = javaserial.dumps(None)
_BY_BYTE: Final = {byte: kind for kind, byte in KINDS.items()}
_FIELDS: Final = frozenset({bool, Byte, Short, int, Long, Float, float, str, Char, bytes, type(None)})
_TEXT_TYPE: Final = re.compile(r"text/.*|application/(?:(?:.*\+)?(?:xml|json)|xml-dtd|javascript|ecmascript)")
_CHARSET: Final = re.compile(r"""charset\s*=\s*["']?([^"';\s]*)""", re.IGNORECASE)
_CHARSETS: Final = re.compile(
    r"utf-?8|us-ascii|(?:iso-8859-|windows-|utf-?16|utf-?32|latin1|gb18030|gbk|big5|shift_jis|euc-).*", re.IGNORECASE
)


class Body(NamedTuple):
    """The body of a message: at most one of these is not None. ``value`` is a tuple, because it may be a null."""

    data: bytes | None = None
    value: tuple[Any] | None = None
    sequence: list[Any] | None = None


def encode(kind: BodyKind, body: Any) -> bytes:
    """The body section; nothing for a plain message."""
    if kind is BodyKind.TEXT:
        return _VALUE + b"\x40" if body is None else _VALUE + string(body)
    if kind is BodyKind.BYTES:
        return _DATA + binary(body)
    if kind is BodyKind.MAP:
        return _VALUE + encode_pairs(body)
    if kind is BodyKind.STREAM:
        return _SEQUENCE + compound_list(b"".join([encode_value(item) for item in body]), len(body))
    if kind is BodyKind.OBJECT:
        return _DATA + binary(_NULL_OBJECT if body is None else body)
    return b""


def encode_typed(body: bytes | None) -> bytes:
    """The body section of an object in AMQP's own types instead of Java's; Unencodable if it has none."""
    try:
        value = None if body is None else javaserial.loads(body)
    except javaserial.JavaSerialError as error:
        raise Unencodable(f"the object cannot be decoded: {error}") from error
    if isinstance(value, javaserial.JavaObject):
        raise Unencodable(f"an object of {value.class_name} has no AMQP type; unset JMS_AMQP_TYPED_ENCODING")
    return _VALUE + encode_value(value)


def decode(body: Body, kind: int | None, content_type: str | None, structures: bool = False) -> tuple[BodyKind, Any]:
    """The kind and the canonical body; Malformed if the body cannot be read.

    ``kind`` is the annotation, or None. If it does not match the body, the body is read as if it were absent. With
    ``structures``, a map without annotation is a MapMessage and a list a StreamMessage.
    """
    if kind is not None and kind not in _BY_BYTE:
        raise Malformed(f"the annotation x-opt-jms-msg-type has the unknown value {kind}")
    data, value, sequence = body
    wanted = None if kind is None else _BY_BYTE[kind]
    if wanted is not None:
        matched, found = _annotated(wanted, body, content_type)
        if matched:
            return wanted, found
    if sequence is not None:
        return _structure(sequence, BodyKind.STREAM if structures or wanted is BodyKind.STREAM else BodyKind.OBJECT)
    if value is not None:
        return _value(value[0], wanted, structures)
    return _opaque(data, content_type)


def _annotated(kind: BodyKind, body: Body, content_type: str | None) -> tuple[bool, Any]:
    """Whether the body is one of this kind, and its canonical form."""
    data, value, sequence = body
    absent = data is None and value is None and sequence is None
    item = value[0] if value is not None else None
    if absent or (value is not None and item is None and kind is not BodyKind.NONE):
        return True, {BodyKind.BYTES: b"", BodyKind.MAP: {}, BodyKind.STREAM: []}.get(kind)
    if kind is BodyKind.TEXT:
        return (True, item) if type(item) is str else (data is not None, _decode_text(data, content_type))
    if kind is BodyKind.BYTES:
        return (True, data) if data is not None else (type(item) is bytes, item)
    if kind is BodyKind.MAP:
        return _is_map(item), item
    if kind is BodyKind.STREAM:
        found = sequence if sequence is not None else item
        return _is_stream(found), found
    if kind is BodyKind.OBJECT:
        if data is None:
            return True, _typed(item if sequence is None else sequence)
        return True, _object(data, content_type)
    return not data and item is None and sequence is None, None


def _is_map(value: Any) -> bool:
    return type(value) is dict and all(type(name) is str and type(item) in _FIELDS for name, item in value.items())


def _is_stream(value: Any) -> bool:
    return type(value) is list and all(type(item) in _FIELDS for item in value)


def _object(data: bytes, content_type: str | None) -> bytes | None:
    """A serialisation stream; other data in an object message are an object of type byte[]."""
    if not data or data == _NULL_OBJECT:
        return None
    return data if content_type == OBJECT_TYPE or data.startswith(b"\xac\xed") else _typed(data)


def _typed(value: Any) -> bytes | None:
    """An AMQP value as a Java serialisation stream."""
    if value is None:
        return None
    try:
        return javaserial.dumps(_plain(value))
    except javaserial.JavaSerialError as error:
        raise Malformed(f"the value has no form in Java: {error}") from error


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {_plain(name): _plain(item) for name, item in value.items()}
    return str(value) if isinstance(value, UUID) else value


def _structure(value: Any, kind: BodyKind | None) -> tuple[BodyKind, Any]:
    """A map or list as this kind, else, with values that JMS does not allow in it, as an object."""
    if (kind is BodyKind.MAP and _is_map(value)) or (kind is BodyKind.STREAM and _is_stream(value)):
        return kind, value
    return BodyKind.OBJECT, _typed(value)


def _value(value: Any, wanted: BodyKind | None, structures: bool) -> tuple[BodyKind, Any]:
    if value is None or type(value) is str:
        return BodyKind.TEXT, value
    if type(value) is bytes:
        return BodyKind.BYTES, value
    if structures and isinstance(value, dict | list):
        wanted = BodyKind.MAP if isinstance(value, dict) else BodyKind.STREAM
    return _structure(value, wanted)


def _opaque(data: bytes | None, content_type: str | None) -> tuple[BodyKind, Any]:
    """Data sections, or no body at all, by their content type."""
    plain = (content_type or "").partition(";")[0].strip().lower()
    if plain == OBJECT_TYPE:
        return BodyKind.OBJECT, _object(data or b"", OBJECT_TYPE)
    if _TEXT_TYPE.fullmatch(plain):
        return BodyKind.TEXT, None if data is None else _decode_text(data, content_type)
    if data is None and plain not in ("", "application/octet-stream"):
        return BodyKind.NONE, None
    return BodyKind.BYTES, data or b""


def _decode_text(data: bytes | None, content_type: str | None) -> str | None:
    if data is None:
        return None
    match = _CHARSET.search(content_type or "")
    charset = match[1] if match is not None and match[1] else "utf-8"
    if _CHARSETS.fullmatch(charset) is None:  # Python's other codecs are not character sets
        raise Malformed(f"a text has the unknown character set {charset[:40]!r}")
    if charset.lower() in ("utf-8", "utf8"):
        return utf8_text(data)
    try:
        return data.decode(charset)
    except (LookupError, ValueError) as error:
        raise Malformed(f"a text is not in its character set {charset[:40]!r}") from error

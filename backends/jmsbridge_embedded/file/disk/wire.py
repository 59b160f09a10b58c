"""The encoding of messages: msgpack with extension types for Java's types, and a checksum.

It does not contain the address, which is that of the queue or topic.
"""

import struct
from collections.abc import Callable
from typing import Any, Final
from zlib import crc32

from msgspec.msgpack import Decoder, Encoder, Ext

from jmsbridge.spi import Address, BodyKind, Byte, Char, Envelope, Float, Long, Short

__all__ = ["Damaged", "decode", "encode"]


class Damaged(Exception):
    """The bytes are not those that were written: the file is damaged."""


_TEXT: Final = 6  # text with lone surrogates, which UTF-8 cannot encode
_MAP: Final = 7  # a map that has such a text as a name
_PACK: Final = {Byte: (1, ">b"), Short: (2, ">h"), Long: (3, ">q"), Float: (4, ">f")}


def _to_ext(value: Any) -> Ext:
    kind = type(value)
    known = _PACK.get(kind)
    if known is not None:
        return Ext(known[0], struct.pack(known[1], value))
    if kind is Char:
        return Ext(5, str.encode(value, "utf-16-be", "surrogatepass"))
    raise TypeError(f"{kind.__name__} is not a type of a canonical value")


def _from_ext(code: int, data: memoryview) -> Any:
    return _READ[code](bytes(data))


_encoder = Encoder(enc_hook=_to_ext)
_decoder = Decoder(ext_hook=_from_ext)
_READ: Final[dict[int, Callable[[bytes], Any]]] = {
    1: lambda data: Byte(struct.unpack(">b", data)[0]),
    2: lambda data: Short(struct.unpack(">h", data)[0]),
    3: lambda data: Long(struct.unpack(">q", data)[0]),
    4: lambda data: Float(struct.unpack(">f", data)[0]),
    5: lambda data: Char(data.decode("utf-16-be", "surrogatepass")),
    _TEXT: lambda data: data.decode("utf-16-be", "surrogatepass"),
    _MAP: lambda data: dict(_decoder.decode(data)),
}
_KINDS: Final = tuple(BodyKind)


def encode(envelope: Envelope) -> bytes:
    """The message without its address."""
    reply_to = envelope.reply_to
    fields = (
        int(envelope.kind),
        envelope.body,
        envelope.properties,
        envelope.message_id,
        envelope.timestamp,
        envelope.persistent,
        envelope.priority,
        envelope.expiration,
        envelope.delivery_time,
        envelope.correlation_id,
        None if reply_to is None else [reply_to.name, reply_to.topic, reply_to.temporary],
        envelope.jms_type,
        envelope.duplicate_id,
    )
    try:
        data = _encoder.encode(fields)
    except UnicodeEncodeError:
        data = _encoder.encode([_sheltered(field) for field in fields])
    return data + crc32(data).to_bytes(4, "big")


def decode(data: bytes, address: Address) -> Envelope:
    """The message as it was sent; ``Damaged`` if the bytes have changed."""
    try:
        body = memoryview(data)[:-4]
    except TypeError:  # NULL: the row refers to a body that does not exist
        raise Damaged(f"the body of a message in {address} is missing") from None
    if crc32(body) != int.from_bytes(data[-4:], "big"):
        raise Damaged(f"a message in {address} has a wrong checksum")
    fields: list[Any] = _decoder.decode(body)
    reply_to = fields[10]
    if reply_to is not None:
        fields[10] = Address(*reply_to)
    fields[0] = _KINDS[fields[0]]
    return Envelope(address, *fields)


def _sheltered(value: Any) -> Any:
    """The value, with each text that UTF-8 cannot encode as an extension type."""
    kind = type(value)
    if kind is str:
        try:
            value.encode()
        except UnicodeEncodeError:
            return Ext(_TEXT, value.encode("utf-16-be", "surrogatepass"))
    elif kind is dict:
        return Ext(_MAP, _encoder.encode([(_sheltered(name), _sheltered(field)) for name, field in value.items()]))
    elif kind is list:
        return [_sheltered(field) for field in value]
    return value

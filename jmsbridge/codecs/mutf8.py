"""Modified UTF-8, as in Java's ``writeUTF`` and ``readUTF``.

Each UTF-16 unit is encoded by itself, so characters beyond the basic plane take six bytes and lone surrogates are
kept; NUL is ``C0 80``. A wrong byte raises ``ModifiedUtf8Error``, a ``ValueError``. Pure functions.
"""

import re

__all__ = ["MAX_SHORT", "ModifiedUtf8Error", "decode", "encode", "read_utf", "write_utf"]

MAX_SHORT = 65535
"""The largest length that the two-byte prefix of ``writeUTF`` can hold."""

_BEYOND_BASIC_PLANE = re.compile("[\U00010000-\U0010ffff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_NEVER = re.compile(rb"[\xf0-\xff]")


class ModifiedUtf8Error(ValueError):
    """The bytes are not modified UTF-8 or are truncated, or the text is too long for its length prefix."""


def encode(text: str) -> bytes:
    """The bytes of a text, without a length."""
    if text.isascii():
        data = text.encode("ascii")
    else:
        data = _BEYOND_BASIC_PLANE.sub(_as_pair, text).encode("utf-8", "surrogatepass")
    return data.replace(b"\0", b"\xc0\x80") if b"\0" in data else data


def _as_pair(match: re.Match[str]) -> str:
    above = ord(match[0]) - 0x10000
    return chr(0xD800 + (above >> 10)) + chr(0xDC00 + (above & 0x3FF))


def decode(data: bytes | bytearray | memoryview) -> str:
    """The text of the bytes; joins surrogate pairs, keeps lone ones, and accepts overlong forms, as Java does."""
    octets = bytes(data)
    if octets.isascii():
        return octets.decode("ascii")
    if _NEVER.search(octets) is not None:
        raise ModifiedUtf8Error("the bytes F0 to FF do not occur in modified UTF-8")
    try:
        text = octets.replace(b"\xc0\x80", b"\0").decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        text = _decode_slowly(octets)
    if _SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-be", "surrogatepass").decode("utf-16-be", "surrogatepass")


def _decode_slowly(octets: bytes) -> str:
    """Java's loop, for overlong forms, which Python's decoder refuses."""
    units: list[str] = []
    position, end = 0, len(octets)
    while position < end:
        first = octets[position]
        size = 1 if first < 0x80 else 2 if first >> 5 == 0b110 else 3 if first >> 4 == 0b1110 else 0
        rest = octets[position + 1 : position + size]
        if size == 0 or len(rest) != size - 1 or any(octet >> 6 != 0b10 for octet in rest):
            raise ModifiedUtf8Error(f"malformed modified UTF-8 around byte {position}")
        unit = first & (0x7F, 0x1F, 0x0F)[size - 1]
        for octet in rest:
            unit = unit << 6 | octet & 0x3F
        units.append(chr(unit))
        position += size
    return "".join(units)


def write_utf(text: str) -> bytes:
    """A text with its two-byte length (``DataOutput.writeUTF``); ModifiedUtf8Error above 65535 bytes."""
    data = encode(text)
    if len(data) > MAX_SHORT:
        raise ModifiedUtf8Error(f"the text takes {len(data)} bytes, but writeUTF allows at most {MAX_SHORT}")
    return len(data).to_bytes(2, "big") + data


def read_utf(data: bytes | bytearray | memoryview, offset: int = 0) -> tuple[str, int]:
    """Read what ``write_utf`` wrote, at ``offset``; returns the text and the offset after it."""
    start = offset + 2
    end = start + int.from_bytes(data[offset:start], "big")
    if len(data) < start or len(data) < end:
        raise ModifiedUtf8Error(f"the text at byte {offset} is truncated")
    return decode(data[start:end]), end

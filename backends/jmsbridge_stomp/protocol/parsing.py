"""Parses what arrives into frames, wherever the network has cut it. No I/O, no threads."""

import re
from typing import Final

from jmsbridge_stomp.protocol.frames import Frame, unescaped
from jmsbridge_stomp.protocol.known_heads import KnownHeads

__all__ = ["Limits", "Malformed", "Parser"]

_COMMAND: Final = re.compile(rb"[A-Z]{1,20}")
_RECEIPT: Final = re.compile(rb"[\n\r]*RECEIPT\nreceipt-id:(\d{1,20})\n\n\0")
_COMMANDS: Final = (b"MESSAGE\n", b"RECEIPT\n", b"ERROR\n")
_BEGUN: Final = b"|".join(command[:size] for command in _COMMANDS for size in range(len(command)))
_FOLLOWING: Final = re.compile(rb"\n+(?:%b|(?:%b)\Z)" % (b"|".join(_COMMANDS), _BEGUN))
"""The end of a line, and behind it nothing yet, or what the broker writes next."""
_BLANK_LINE: Final = re.compile(rb"\n\r?\n")  # lines may end with CR LF
_DEFINED: Final = re.compile(r"(?:[^\\]|\\[\\cnr])*+")
_HEAD: Final = 1 << 26  # bytes of a command with its headers: properties of other protocols may be long
_BODY: Final = 1 << 30  # bytes of a body


class Malformed(ValueError):
    """The other side does not write STOMP."""


class Limits:
    """The largest parts of a frame that are accepted, in bytes."""

    def __init__(self, head: int = _HEAD, body: int = _BODY) -> None:
        self.head = head
        self.body = body


class Parser:
    """Gets bytes in pieces of any size, and returns the frames that are complete. Heart-beats are skipped.

    Each byte is looked at once, also in a body without ``content-length`` that arrives in many pieces.
    """

    ends_lines = False
    """Whether each frame is followed by the end of a line, and the next one or nothing after that, so that a NUL before
    anything else belongs to the body: ActiveMQ Classic writes a text of Java with NUL as it is, without its length."""

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        self._data = bytearray()
        self._start = 0  # where the frame begins
        self._seen = 0  # up to where it was searched for the end of its head or body
        self._head: tuple[str, dict[str, str], int, int | None] | None = None
        self._known = KnownHeads()

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that these bytes complete; Malformed if they are not frames."""
        buffer = self._data
        buffer += data
        frames: list[Frame] = []
        while (frame := self._next()) is not None:
            frames.append(frame)
        if self._start:
            del buffer[: self._start]
            self._seen -= self._start
            if self._head is not None:
                command, headers, begins, length = self._head
                self._head = command, headers, begins - self._start, length
            self._start = 0
        return frames

    def _next(self) -> Frame | None:
        if self._head is None and not self._read_known():
            receipt = _RECEIPT.match(self._data, self._start)
            if receipt is not None:  # as most are, and faster
                self._start = self._seen = receipt.end()
                return Frame("RECEIPT", {"receipt-id": receipt[1].decode()})
            if not self._read_head():
                return None
        assert self._head is not None
        command, headers, begins, length = self._head
        buffer = self._data
        if length is None:
            end = self._end()
            if (end if end >= 0 else len(buffer)) - begins > self._limits.body:
                raise Malformed(f"a body of more than {self._limits.body:,} bytes")
            if end < 0:
                return None
        else:
            end = begins + length
            if len(buffer) <= end:
                return None
            if buffer[end]:
                if command != "MESSAGE":
                    raise Malformed(f"a body of {command} is longer than its content-length of {length}")
                self._head = command, headers, begins, None  # that of a property, which Classic writes in its place
                self._seen = begins
                return self._next()
        body = bytes(memoryview(buffer)[begins:end])
        self._head = None
        self._start = self._seen = end + 1
        return Frame(command, headers, body)

    def _end(self) -> int:
        """Where the NUL is that ends the frame; -1 if it has not arrived, or what shows that it is one."""
        buffer = self._data
        end = buffer.find(0, self._seen)
        while self.ends_lines and end >= 0 and _FOLLOWING.match(buffer, end + 1) is None:
            if end + 1 == len(buffer):
                self._seen = end
                return -1
            end = buffer.find(0, end + 1)
        self._seen = len(buffer) if end < 0 else end
        return end

    def _read_known(self) -> bool:
        """Whether the next frame is a message with the names of many before it."""
        known, start = self._known.last, self._start
        if known is None or start != self._seen:
            return False
        end = self._data.find(b"\n\n", start)
        headers = None if end < 0 or end - start > self._limits.head else known.read(self._data[start:end])
        if headers is None:
            return False
        self._seen = begins = end + 2
        self._head = "MESSAGE", headers, begins, self._length("MESSAGE", headers)
        return True

    def _read_head(self) -> bool:
        """Whether the head of the next frame is complete."""
        buffer, start = self._data, self._start
        if start == self._seen:
            while start < len(buffer) and buffer[start] in b"\n\r":  # heart-beats, and the ends of frames
                start += 1
            self._start = self._seen = start
        end = _BLANK_LINE.search(buffer, max(start, self._seen - 3))
        if end is None:
            if len(buffer) - start > self._limits.head:
                raise Malformed(f"a head of more than {self._limits.head:,} bytes")
            self._check_begin()
            self._seen = len(buffer)
            return False
        last, begins = end.span()
        if last - start > self._limits.head:
            raise Malformed(f"a head of more than {self._limits.head:,} bytes")
        head = buffer[start:last]
        command, names, headers = _read_lines(head)
        if command == "MESSAGE" and b"\r" not in head:
            self._known.learn(names)
        self._head = command, headers, begins, self._length(command, headers)
        self._seen = begins
        return True

    def _check_begin(self) -> None:
        """Refuse at once what cannot become a command, for example TLS or HTTP."""
        first = bytes(memoryview(self._data)[self._start : self._start + 21]).partition(b"\n")[0].rstrip(b"\r")
        if first and _COMMAND.fullmatch(first[:20]) is None:
            raise Malformed(f"not a STOMP command: {first!r}")

    def _length(self, command: str, headers: dict[str, str]) -> int | None:
        text = headers.get("content-length")
        if text is None:
            return None
        if text.isascii() and text.isdigit() and len(text) <= 15:
            length = int(text)
            if length <= self._limits.body:
                return length
        if command != "MESSAGE":
            raise Malformed(f"a content-length of {text[:40]!r}, and bodies may have {self._limits.body:,} bytes")
        return None  # that of a property, which Classic writes in its place


def _read_lines(head: bytearray) -> tuple[str, list[str], dict[str, str]]:
    """The command, the names of the headers as they are written, and the headers."""
    try:
        text = head.decode()
    except UnicodeDecodeError as error:
        raise Malformed("a head that is not in UTF-8") from error
    first, *lines = text.split("\n")
    command = first.removesuffix("\r")
    if command != "MESSAGE" and _COMMAND.fullmatch(command.encode()) is None:
        raise Malformed(f"not a STOMP command: {command[:40]!r}")
    if "\r" in text:
        lines = [line.removesuffix("\r") for line in lines]
    names: list[str] = []
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        names.append(name)
        if not colon and command != "MESSAGE":  # where it is a part of a property's name with the end of a line in it
            raise Malformed(f"a header line without a colon: {line[:40]!r}")
        if "\\" in line and command == "MESSAGE":
            name = unescaped(name)
        elif "\\" in line and command != "CONNECTED":
            if _DEFINED.fullmatch(line) is None:
                raise Malformed(f"an undefined escape in a header: {line[:40]!r}")
            name, value = unescaped(name), unescaped(value)
        if name not in headers:
            headers[name] = value
    return command, names, headers

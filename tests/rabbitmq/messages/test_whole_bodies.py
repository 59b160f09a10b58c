"""A body is read, or becomes a fault that has all its bytes; it is never dropped."""

import json
from pathlib import Path
from typing import Any

import pytest

from jmsbridge.spi import BodyKind, Envelope
from jmsbridge_rabbitmq.messages import wire
from jmsbridge_rabbitmq.messages.wire import Encoder, Inbound
from jmsbridge_rabbitmq.protocol.fields import encode_table
from jmsbridge_rabbitmq.protocol.properties import Properties, encode
from tests.rabbitmq.messages.envelopes import HERE

GOLDEN = Path(__file__).with_name("golden") / "jms.jsonl"
CAPTURED: list[dict[str, Any]] = [json.loads(line) for line in GOLDEN.read_text(encoding="utf-8").splitlines()]
SIZE = b"\0\0\0\5"
NONE = b"\0\0\0\0"


def made(kind: BodyKind, body: Any) -> tuple[bytes, bytes]:
    """Properties and body in dialect jms."""
    sent = Encoder("jms").encode(Envelope(HERE, kind, body, {}, "ID:1", 1, True, 4, 0, 0, None, None, None), 0)
    return sent.properties, sent.body


def read(body: bytes, headers: dict[str, Any] | None = None, **known: Any) -> Inbound:
    """The envelope of a message from another program."""
    return wire.decode(HERE, encode(Properties(headers=encode_table(headers or {}), **known)), body)


@pytest.mark.parametrize(
    ("content_type", "kind", "body"),
    [
        ("text/plain;charset=utf-8", BodyKind.TEXT, "the real text"),
        ("text/plain", BodyKind.TEXT, "the real text"),
        ("application/octet-stream", BodyKind.BYTES, b"the real text"),
        (None, BodyKind.BYTES, b"the real text"),
    ],
)
def test_a_copied_type_header_hides_no_text(content_type: str | None, kind: BodyKind, body: Any) -> None:
    found = read(b"the real text", {"x-jb-null": True}, content_type=content_type)
    assert (found.envelope.kind, found.envelope.body, found.fault) == (kind, body, None)
    empty = read(b"", {"x-jb-null": True}, content_type=content_type)
    assert (empty.envelope.kind, empty.envelope.body, empty.fault) == (BodyKind.TEXT, None, None)


def test_a_message_that_should_have_no_body() -> None:
    found = read(b"the real text", content_type="application/vnd.jmsbridge.message")
    assert (found.envelope.kind, found.envelope.body) == (BodyKind.BYTES, b"the real text")
    assert "13 bytes" in (found.fault or "")


@pytest.mark.parametrize(
    ("kind", "body", "true", "lie"),
    [
        (BodyKind.MAP, {"a": 1, "b": "two"}, b"\0\0\0\2\0\1a", b"\0\0\0\0\0\1a"),
        (BodyKind.MAP, {"a": 1, "b": "two"}, b"\0\0\0\2\0\1a", b"\0\0\0\1\0\1a"),
        (BodyKind.TEXT, "hello", b"\0" + SIZE + b"hello", b"\0" + NONE + b"hello"),
        (BodyKind.TEXT, "hello", b"\0" + SIZE + b"hello", b"\1" + SIZE + b"hello"),
        (BodyKind.OBJECT, b"bytes", b"\0" + SIZE + b"bytes", b"\0" + NONE + b"bytes"),
        (BodyKind.OBJECT, b"bytes", b"\0" + SIZE + b"bytes", b"\1" + SIZE + b"bytes"),
        (BodyKind.STREAM, [], b"\0\0\0\4\xac\xed\0\5", b"\0\0\0\4\xac\xed\0\5\1"),
    ],
)
def test_a_java_body_with_more_behind_its_content(kind: BodyKind, body: Any, true: bytes, lie: bytes) -> None:
    properties, data = made(kind, body)
    at = data.rindex(true)
    lied = data[:at] + lie + data[at + len(true) :]
    if len(lie) > len(true):  # the last block includes the added bytes
        size = data.rindex(b"\x77", 0, at) + 1
        lied = lied[:size] + bytes((lied[size] + 1,)) + lied[size + 1 :]
    found = wire.decode(HERE, properties, lied)
    assert (found.envelope.kind, found.envelope.body) == (BodyKind.BYTES, lied)
    assert "has bytes after its content" in (found.fault or "")


@pytest.mark.parametrize("number", range(len(CAPTURED)))
def test_one_more_block_after_a_captured_body(number: int) -> None:
    properties, body = (bytes.fromhex(CAPTURED[number][part]) for part in ("properties", "body"))
    whole = wire.decode(HERE, properties, body)
    assert whole.fault is None
    more = wire.decode(HERE, properties, body + b"\x77\1x")
    if whole.envelope.kind is BodyKind.BYTES:  # the bytes after the blocks are its content
        assert (more.envelope.body, more.fault) == (whole.envelope.body + b"\x77\1x", None)
    else:
        assert "has bytes after its content" in (more.fault or "")
    assert wire.decode(HERE, properties, body + b"\x77\0").fault is None  # an empty block adds nothing

"""What RabbitMQ's Java client wrote (``integration/interop/rabbitmq/capture.py``) is read field by field."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from integration.interop.describing import describe
from jmsbridge.messages.arriving import message_from_arrival
from jmsbridge.spi import Address, BodyKind
from jmsbridge_rabbitmq.messages import java_decoding, wire
from jmsbridge_rabbitmq.messages.java_decoding import decode
from jmsbridge_rabbitmq.messages.java_encoding import encode
from jmsbridge_rabbitmq.protocol.fields import Malformed
from tests.rabbitmq.messages.envelopes import typed
from tests.rabbitmq.messages.losses import listed_losses

HERE = Address("orders")
HERE_AS_SENT = Address("jms")
REPLY_TO = "rmq.jms.message.reply.to"
CAPTURED: dict[str, list[dict[str, Any]]] = {
    mode: [
        json.loads(line)
        for line in (Path(__file__).with_name("golden") / f"{mode}.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    for mode in ("jms", "amqp")
}
SAMPLES = [(mode, number) for mode, captured in CAPTURED.items() for number in range(len(captured))]


@pytest.mark.parametrize(("mode", "number"), SAMPLES)
def test_a_captured_message_is_what_java_sent(mode: str, number: int) -> None:
    captured = CAPTURED[mode][number]
    sent = captured["sent"]
    found = wire.decode(HERE, bytes.fromhex(captured["properties"]), bytes.fromhex(captured["body"]))
    assert found.fault is None
    seen = describe(message_from_arrival(found.envelope, False, 1, None))
    if mode == "amqp":
        if sent["kind"] == "TextMessage":
            assert "from Java: TextMessage" in listed_losses("amqp")
            text = "" if sent["body"] is None else sent["body"][1]
            sent = {**sent, "kind": "BytesMessage", "body": ["bytes", text.encode().hex()]}
        if sent["reply_to"] is not None:
            assert "from Java: JMSReplyTo" in listed_losses("amqp")
            sent = {**sent, "reply_to": ["queue", *sent["reply_to"][1:]]}
        if sent["expiration"]:
            assert "from Java: expiration" in listed_losses("amqp")
            assert abs(seen["expiration"] - sent["expiration"]) < 100
            sent = {**sent, "expiration": seen["expiration"]}
    assert {field: seen[field] for field in sent} == sent  # a capture says nothing of its destination


@pytest.mark.parametrize("number", range(len(CAPTURED["jms"])))
def test_every_prefix_of_a_captured_body_is_an_error_or_complete(number: int) -> None:
    body = bytes.fromhex(CAPTURED["jms"][number]["body"])
    whole = decode(body, HERE)
    for size in range(len(body)):
        try:
            read = decode(body[:size], HERE)
        except Malformed:  # refused, as it should be
            continue
        # What follows the last block of a bytes message has no length of its own.
        assert whole.kind is BodyKind.BYTES
        assert whole.body.startswith(read.body)


def entries(body: bytes) -> list[Any]:
    """The parts of a body: class, id, entries of the client and of the user with their types, and the content."""
    stream = java_decoding._Stream(body, 4)
    name = stream.take(stream.number(2))
    found: list[Any] = [name, stream.utf()]
    for _ in range(2):
        found.append({stream.utf(): typed(deepcopy(stream.tagged(objects=True))) for _ in range(stream.count())})
    return [*found, typed(java_decoding._read_content(java_decoding._KINDS[name], stream))]


@pytest.mark.parametrize("number", range(len(CAPTURED["jms"])))
def test_python_writes_what_java_writes(number: int) -> None:
    """The order of the entries and the size of the blocks are free in Java."""
    body = bytes.fromhex(CAPTURED["jms"][number]["body"])
    envelope = decode(body, HERE_AS_SENT)
    again = encode(envelope, envelope.message_id or "")
    assert decode(again, HERE_AS_SENT) == envelope
    theirs, ours = entries(body), entries(again)
    if envelope.reply_to is not None and envelope.reply_to.temporary:
        # the client binds its own temporary queues to an exchange; by the default one all are reached
        exchanges = [each[2][REPLY_TO][1].fields.pop("amqpExchangeName") for each in (theirs, ours)]
        assert exchanges == (["jms.temp.topic"] * 2 if envelope.reply_to.topic else ["jms.temp.queues", ""])
    assert ours == theirs
    start = body.index(b"com.rabbitmq.jms.client.")
    name = body[start - 2 : body.index(b"Message", start + 32) + 7]
    assert name in again
    described = body[body.index(b"\x73\x72\0\x25com.rabbitmq") : body.index(b"\x78\x70") + 2]
    assert described in again

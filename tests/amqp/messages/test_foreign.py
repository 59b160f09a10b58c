"""Messages of programs that do not write the annotations of Qpid JMS, and bodies that do not match theirs."""

from typing import Any
from uuid import UUID

import pytest

from jmsbridge.codecs import javaserial
from jmsbridge.spi import Address, BodyKind, Byte, Char, Envelope, Long, Short
from jmsbridge_amqp.messages.wire import FAULT, Decoder
from jmsbridge_amqp.protocol.writing import binary, compound_list, compound_map, encode, string, symbol
from tests.rabbitmq.messages.envelopes import typed

HERE = Address("orders")
NONE, TEXT, BYTES, MAP, STREAM, OBJECT = BodyKind
JAVA = "application/x-java-serialized-object"
FORTY = javaserial.dumps(40)


def message(body: bytes, content_type: str | None = None, kind: int | None = None) -> bytes:
    annotations = properties = b""
    if kind is not None:
        annotations = b"\x00\x53\x72" + compound_map(symbol("x-opt-jms-msg-type") + encode(Byte(kind)), 1)
    if content_type is not None:
        properties = b"\x00\x53\x73" + compound_list(b"\x40" * 6 + symbol(content_type), 7)
    return annotations + properties + body


def data(value: bytes) -> bytes:
    return b"\x00\x53\x75" + binary(value)


def value(content: Any) -> bytes:
    return b"\x00\x53\x77" + encode(content)


def sequence(*items: Any) -> bytes:
    return b"\x00\x53\x76" + encode(list(items))


def check(raw: bytes, kind: BodyKind, body: Any, **options: Any) -> None:
    found = Decoder(HERE, **options).decode(raw)
    assert found.fault is None
    assert found.envelope.kind is kind
    content = found.envelope.body
    if kind is OBJECT and content is not None and content.startswith(b"\xac\xed"):
        content = javaserial.loads(content)
    assert typed(content) == typed(body)


@pytest.mark.parametrize(
    ("body", "content_type", "kind", "content"),
    [
        (b"", JAVA, OBJECT, None),
        (data(FORTY), JAVA, OBJECT, 40),
        (data(b"x"), JAVA, OBJECT, b"x"),
        (b"", "application/octet-stream", BYTES, b""),
        (b"", None, BYTES, b""),
        (data(b"x"), None, BYTES, b"x"),
        (data(b"x"), "application/octet-stream", BYTES, b"x"),
        (b"", "text/plain", TEXT, None),
        (data(b""), "text/plain", TEXT, ""),
        (data("é".encode()), "text/plain", TEXT, "é"),
        (data(b"\xe9"), "text/html; charset=ISO-8859-1", TEXT, "é"),
        (data("é".encode("utf-16")), 'text/plain;charset="utf-16"', TEXT, "é"),
        (data(b"\xed\xa0\xbd\xed\xb8\x80"), "text/plain", TEXT, "😀"),
        (data(b"{}"), "application/json", TEXT, "{}"),
        (data(b"<a/>"), "application/xml", TEXT, "<a/>"),
        (data(b"x"), "application/xml-dtd", TEXT, "x"),
        (data(b"x"), "application/javascript", TEXT, "x"),
        (data(b"x"), "application/ecmascript", TEXT, "x"),
        (data(b"<a/>"), "application/soap+xml", TEXT, "<a/>"),
        (data(b"{}"), "application/problem+json; a=b", TEXT, "{}"),
        (b"", "image/png", NONE, None),
        (data(b"x"), "image/png", BYTES, b"x"),
        (data(b"x"), "application/jsonx", BYTES, b"x"),
        (value(None), None, TEXT, None),
        (value("x"), "image/png", TEXT, "x"),
        (value(b"x"), None, BYTES, b"x"),
        (value({"a": 1}), None, OBJECT, {"a": 1}),
        (value([1, Byte(2)]), None, OBJECT, [1, Byte(2)]),
        (value(Long(7)), None, OBJECT, Long(7)),
        (b"\x00\x53\x77\x98" + b"\1" * 16, None, OBJECT, str(UUID(bytes=b"\1" * 16))),
        (sequence(1, [2]), None, OBJECT, [1, [2]]),
    ],
)
def test_a_body_without_annotation(body: bytes, content_type: str | None, kind: BodyKind, content: Any) -> None:
    check(message(body, content_type), kind, content)


@pytest.mark.parametrize(
    ("body", "kind", "content"),
    [
        (value({"a": 1}), MAP, {"a": 1}),
        (value([1]), STREAM, [1]),
        (sequence(1), STREAM, [1]),
        (value({"a": [1]}), OBJECT, {"a": [1]}),
        (value({1: "a"}), OBJECT, {1: "a"}),
        (sequence({"a": 1}), OBJECT, [{"a": 1}]),
        (value(Long(7)), OBJECT, Long(7)),
        (value("x"), TEXT, "x"),
    ],
)
def test_structures_on_request(body: bytes, kind: BodyKind, content: Any) -> None:
    check(message(body), kind, content, structures=True)


@pytest.mark.parametrize(
    ("annotation", "body", "kind", "content"),
    [
        (0, b"", NONE, None),
        (0, data(b""), NONE, None),
        (0, data(b"x"), BYTES, b"x"),
        (0, value("x"), TEXT, "x"),
        (1, b"", OBJECT, None),
        (1, value(None), OBJECT, None),
        (1, value("x"), OBJECT, "x"),
        (1, sequence(1), OBJECT, [1]),
        (1, data(FORTY), OBJECT, 40),
        (1, data(javaserial.dumps(None)), OBJECT, None),
        (1, data(b"x"), OBJECT, b"x"),
        (2, b"", MAP, {}),
        (2, value(None), MAP, {}),
        (2, value({}), MAP, {}),
        (2, value({"a": [1]}), OBJECT, {"a": [1]}),
        (2, data(b"x"), BYTES, b"x"),
        (3, b"", BYTES, b""),
        (3, value(b"x"), BYTES, b"x"),
        (3, value("x"), TEXT, "x"),
        (4, b"", STREAM, []),
        (4, value([Char("x")]), STREAM, [Char("x")]),
        (4, sequence(), STREAM, []),
        (4, sequence([1]), OBJECT, [[1]]),
        (4, value("x"), TEXT, "x"),
        (5, b"", TEXT, None),
        (5, data(b"x"), TEXT, "x"),
        (5, value(b"x"), BYTES, b"x"),
        (5, sequence(1), OBJECT, [1]),
    ],
)
def test_an_annotation_that_may_not_match(annotation: int, body: bytes, kind: BodyKind, content: Any) -> None:
    check(message(body, None, annotation), kind, content)


def test_several_sections_are_one_body() -> None:
    check(data(b"one") + data(b"") + data(b"two"), BYTES, b"onetwo")
    check(message(sequence(1) + sequence() + sequence(2, 3), None, 4), STREAM, [1, 2, 3])


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (message(value("x"), None, 6), "x-opt-jms-msg-type has the unknown value 6"),
        (message(b"\x00\x53\x77\xa1\x02a\xff", None, 5), "not valid UTF-8 from its byte 1"),
        (message(data(b"a\xff"), "text/plain"), "not valid UTF-8 from its byte 1"),
        (message(data(b"x"), "text/plain;charset=klingon"), "'klingon'"),
        (message(data(b"x"), "text/plain;charset=rot13"), "unknown character set 'rot13'"),
        (message(data(b"\xff"), "text/plain;charset=utf-16"), "not in its character set 'utf-16'"),
        (message(b"\x00\x53\x77\x84" + b"\1" * 8), "no form in Java"),
        (message(value("x") + value("y")), "does not fit the one before it"),
        (message(data(b"x") + value("y")), "does not fit the one before it"),
        (message(b"\x00\x53\x75\xa1\x01x"), "a value of another type"),
        (message(b"\x00\x53\x79\x40"), "unknown section 0x79"),
        (message(b"\x40"), "no section begins"),
    ],
)
def test_a_message_that_cannot_be_decoded_is_its_bytes(raw: bytes, reason: str) -> None:
    before = b"\x00\x53\x73" + compound_list(string("ID:1"), 1) if b"\x00\x53\x73" not in raw else b""
    whole = before + b"\x00\x53\x74" + compound_map(string("a") + encode(1), 1) + raw
    found = Decoder(HERE).decode(whole)
    assert found.fault is not None
    assert reason in found.fault
    assert (found.envelope.kind, found.envelope.body) == (BYTES, whole)
    assert found.envelope.properties == {"a": 1, FAULT: found.fault}
    assert found.envelope.message_id == ("ID:1" if before else None)


def test_a_message_that_says_nothing() -> None:
    assert Decoder(HERE).decode(b"").envelope == Envelope(HERE, BYTES, b"", {}, None, 0, persistent=False)


def test_sections_described_by_symbols_and_long_numbers() -> None:
    header = b"\x00\x80" + (0x70).to_bytes(8, "big") + encode([True, None])
    body = b"\x00\xa3\x0camqp-value:*"  # no such section: the name needs its prefix
    assert "unknown section" in (Decoder(HERE).decode(header + body + string("x")).fault or "")
    found = Decoder(HERE).decode(header + b"\x00" + symbol("amqp:amqp-value:*") + string("x"))
    assert (found.fault, found.envelope.persistent, found.envelope.body) == (None, True, "x")


ENCODED = {
    "ubyte": b"\x50\xff",
    "ushort": b"\x60\xff\xff",
    "uint": b"\x70\xff\xff\xff\xff",
    "uint0": b"\x43",
    "ulong": b"\x80" + b"\x7f" + b"\xff" * 7,
    "huge": b"\x80" + b"\xff" * 8,
    "time": b"\x83" + (1).to_bytes(8, "big"),
    "symbol": symbol("s"),
    "char": b"\x73\0\0\0x",
    "beyond": b"\x73\0\1\xf6\0",
    "uuid": b"\x98" + b"\1" * 16,
    "bool": b"\x56\1",
    "null": b"\x40",
    "binary": binary(b"x"),
    "decimal": b"\x84" + b"\1" * 8,
    "described": b"\x00\xa1\x01d\x54\x07",
    "list": encode([1]),
    "long text": string("x" * 300),
}


def test_properties_of_every_type() -> None:
    table = compound_map(b"".join(string(name) + raw for name, raw in ENCODED.items()), len(ENCODED))
    found = Decoder(HERE).decode(b"\x00\x53\x74" + table + value(None))
    assert found.fault is None
    assert typed(found.envelope.properties) == typed(
        {
            "ubyte": Short(255),
            "ushort": 65535,
            "uint": Long((1 << 32) - 1),
            "uint0": Long(0),
            "ulong": Long((1 << 63) - 1),
            "huge": str((1 << 64) - 1),
            "time": Long(1),
            "bool": True,
            "null": None,
            "long text": "x" * 300,
            "symbol": "s",
            "char": "x",
            "beyond": "😀",
            "uuid": str(UUID(bytes=b"\1" * 16)),
            "described": 7,
        }
    )


def test_headers_of_another_program() -> None:
    fields = [string("m1"), binary(b"guest"), string(""), string("invoice"), string(""), binary(b"\xff")]
    fields += [symbol("text/plain"), symbol("utf-8"), b"\x40", b"\x83" + (5).to_bytes(8, "big")]
    annotations = compound_map(symbol("x-opt-delivery-time") + b"\x83" + (9).to_bytes(8, "big"), 1)
    header = b"\x00\x53\x70\xc0\x04\x02\x41\x50\xc8"
    properties = b"\x00\x53\x73" + compound_list(b"".join(fields), len(fields))
    footer = b"\x00\x53\x78" + compound_map(symbol("x-hash") + string("h"), 1)
    routing = b"\x00\x53\x71" + compound_map(symbol("x-route") + string("r"), 1)
    raw = header + routing + b"\x00\x53\x72" + annotations + properties + data(b"x") + footer
    found = Decoder(HERE).decode(raw)
    assert found.fault is None
    assert found.envelope == Envelope(
        HERE, TEXT, "x", {"JMSXUserID": "guest"}, "ID:AMQP_NO_PREFIX:m1", 5, True, 9, 0, 9, b"\xff", None, "invoice"
    )


@pytest.mark.parametrize(
    ("index", "raw"),
    [(1, string("user")), (2, encode(5)), (8, string("soon")), (9, encode(5.0)), (11, string("1")), (0, encode(True))],
)
def test_a_property_field_of_a_wrong_type_is_a_fault(index: int, raw: bytes) -> None:
    properties = b"\x00\x53\x73" + compound_list(b"\x40" * index + raw, index + 1)
    assert f"the field {index} of the properties" in (Decoder(HERE).decode(properties).fault or "")

"""Frames: equality with pika's marshalling, reassembly at every cut, and hostile bytes."""

import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pika import frame, spec

from jmsbridge_rabbitmq.protocol.fields import Malformed, Unencodable
from jmsbridge_rabbitmq.protocol.frames import (
    DELIVER,
    GET_OK,
    RETURN,
    Confirm,
    Content,
    Event,
    FrameReader,
    PublishFrames,
    Raw,
    ack,
    nack,
)
from jmsbridge_rabbitmq.protocol.properties import Properties, decode, encode

PLAIN = encode(Properties(content_type="text/plain", delivery_mode=2))


def by_pika(channel: int, method: Any, body: bytes | None = None, frame_max: int = 131072) -> bytes:
    """The frames that pika would write."""
    pieces = [frame.Method(channel, method).marshal()]
    if body is not None:
        properties = spec.BasicProperties(content_type="text/plain", delivery_mode=2)
        pieces.append(frame.Header(channel, len(body), properties).marshal())
        room = frame_max - 8
        pieces += [frame.Body(channel, body[at : at + room]).marshal() for at in range(0, len(body), room)]
    return b"".join(pieces)


def reading(data: bytes, step: int = 1 << 30, **options: int) -> list[Event]:
    reader = FrameReader(**options)
    events: list[Event] = []
    for at in range(0, len(data), step):
        events += reader.feed(data[at : at + step])
    return events


DELIVERED = by_pika(3, spec.Basic.Deliver("ctag1", 7, True, "jms.durable.topic", "news"), b"hello")
CONVERSATION = b"".join(
    (
        by_pika(0, spec.Connection.Blocked("memory")),
        DELIVERED,
        by_pika(3, spec.Basic.GetOk(8, False, "", "orders", 12), b""),
        frame.Heartbeat().marshal(),
        by_pika(4, spec.Basic.Return(312, "NO_ROUTE", "", "nowhere"), b"x" * 5000, 4096),
        by_pika(4, spec.Basic.Ack(9, True)),
        by_pika(4, spec.Basic.Nack(10, False, False)),
        by_pika(3, spec.Basic.Cancel("ctag1")),
    )
)
EVENTS: list[Event] = [
    Raw(by_pika(0, spec.Connection.Blocked("memory"))),
    Content(DELIVER, 3, "ctag1", 7, True, "jms.durable.topic", "news", 0, "", PLAIN, b"hello"),
    Content(GET_OK, 3, "", 8, False, "", "orders", 0, "", PLAIN, b""),
    Raw(frame.Heartbeat().marshal()),
    Content(RETURN, 4, "", 0, False, "", "nowhere", 312, "NO_ROUTE", PLAIN, b"x" * 5000),
    Confirm(4, 9, True, True),
    Confirm(4, 10, False, False),
    Raw(by_pika(3, spec.Basic.Cancel("ctag1"))),
]


@pytest.mark.parametrize("step", [1 << 30, 4096, 1000, 64, 9, 8, 7, 5, 2, 1])
def test_a_conversation_is_read_in_pieces_of_any_size(step: int) -> None:
    assert reading(CONVERSATION, step) == EVENTS


@given(st.lists(st.integers(1, 3000), max_size=12))
def test_a_conversation_is_read_in_random_pieces(cuts: list[int]) -> None:
    reader = FrameReader()
    events: list[Event] = []
    at = 0
    for size in (*cuts, len(CONVERSATION)):
        events += reader.feed(CONVERSATION[at : at + size])
        at += size
    assert events == EVENTS


def test_messages_of_two_channels_may_be_interleaved() -> None:
    first = by_pika(1, spec.Basic.Deliver("a", 1, False, "", "q"), b"x" * 10_000, 4096)
    second = by_pika(2, spec.Basic.Deliver("b", 2, False, "", "q"), b"y" * 10_000, 4096)
    cut = len(first) - len(body(b"x" * (10_000 - 2 * 4088)))  # before the last of three pieces
    events = reading(first[:cut] + second + first[cut:])
    assert [event.body for event in events if isinstance(event, Content)] == [b"y" * 10_000, b"x" * 10_000]


@pytest.mark.parametrize("mandatory", [False, True])
@pytest.mark.parametrize("size", [0, 1, 4088, 4089, 8176, 8177, 20_000])
def test_publishes_are_what_pika_writes(size: int, mandatory: bool) -> None:
    body = bytes(range(256)) * (size // 256) + bytes(size % 256)
    publisher = PublishFrames(5, 4096)
    method = spec.Basic.Publish(exchange="jms.durable.queues", routing_key="größe", mandatory=mandatory)
    for _ in range(2):  # built once, then from the cache
        built = publisher.frames("jms.durable.queues", "größe", mandatory, PLAIN, body)
        assert built == by_pika(5, method, body, 4096)


def test_settlements_are_what_pika_writes() -> None:
    tag = 0x0102030405060708
    assert ack(5, tag, True) == by_pika(5, spec.Basic.Ack(tag, True))
    assert ack(5, tag) == by_pika(5, spec.Basic.Ack(tag, False))
    assert nack(5, tag) == by_pika(5, spec.Basic.Nack(tag, multiple=False, requeue=True))


def test_the_cache_of_publish_frames_is_bounded() -> None:
    publisher = PublishFrames(1, 4096)
    for number in range(3000):
        assert f"q{number}".encode() in publisher.frames("", f"q{number}", False, PLAIN, b"")
    assert len(publisher._methods) <= 1024


def test_headers_that_exceed_a_frame_are_refused() -> None:
    publisher = PublishFrames(1, 4096)
    assert publisher.frames("", "q", False, b"x" * (4088 - 12), b"")
    with pytest.raises(Unencodable, match="4088"):
        publisher.frames("", "q", False, b"x" * (4088 - 11), b"")


def test_names_beyond_255_bytes_are_refused() -> None:
    with pytest.raises(Unencodable, match="destination"):
        PublishFrames(1, 4096).frames("", "é" * 128, False, PLAIN, b"")


def header(size: int, channel: int = 3, family: int = 60) -> bytes:
    payload = struct.pack(">HHQ", family, 0, size) + PLAIN
    return struct.pack(">BHI", 2, channel, len(payload)) + payload + b"\xce"


def body(data: bytes, channel: int = 3) -> bytes:
    return struct.pack(">BHI", 3, channel, len(data)) + data + b"\xce"


METHOD = by_pika(3, spec.Basic.Deliver("c", 1, False, "", "q"))
CUT_METHOD = b"\1\0\3\0\0\0\5\0\x3c\0\x3c\5\xce"


@pytest.mark.parametrize(
    "wrong",
    [
        header(5),
        body(b"x"),
        METHOD + body(b"x"),
        METHOD + METHOD,
        METHOD + header(5, family=50),
        METHOD + header(5) + header(5),
        METHOD + header(5) + body(b"123456"),
        METHOD + header(5) + body(b""),
        METHOD + header(2000),
        METHOD + header(1 << 63),
        METHOD + b"\2\0\3\0\0\0\4\0\x3c\0\0\xce",
        CUT_METHOD + header(0),
        METHOD[:-1] + b"\0",
        struct.pack(">BHI", 1, 0, 1 << 30),
        b"AMQP\0\0\x09\1",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
    ],
)
def test_wrong_frames_are_errors(wrong: bytes) -> None:
    with pytest.raises(Malformed):
        reading(wrong, max_body=1000)
    with pytest.raises(Malformed):
        reading(wrong, 1, max_body=1000)


def outcome(data: bytes, step: int = 1 << 30) -> list[Event] | None:
    """The events, or None where the bytes are refused; any other error fails the test."""
    try:
        return reading(data, step)
    except Malformed:
        return None


@given(st.integers(0, len(CONVERSATION) - 1), st.integers(0, 255))
@settings(max_examples=300)
def test_one_wrong_byte_is_an_error_or_events(at: int, octet: int) -> None:
    assert len(outcome(CONVERSATION[:at] + bytes((octet,)) + CONVERSATION[at + 1 :]) or []) <= len(EVENTS)


@given(st.integers(0, len(DELIVERED) - 1), st.integers(0, 255))
@settings(max_examples=500)
def test_a_delivery_with_a_wrong_byte_is_the_same_whole_and_in_pieces(at: int, octet: int) -> None:
    data = bytearray(DELIVERED)
    data[at] = octet
    follow = by_pika(3, spec.Basic.Deliver("ctag1", 8, False, "", "news"), b"bye")
    assert outcome(bytes(data) + follow) == outcome(bytes(data) + follow, 1)


@given(st.binary(max_size=80), st.sampled_from([b"", b"\1\0\3\0\0\0\x14\0\x3c\0\x3c", METHOD]))
def test_random_bytes_are_an_error_or_events(noise: bytes, start: bytes) -> None:
    assert len(outcome(start + noise) or []) <= len(noise) + 1


class Counting(bytearray):
    """The remainder of a frame, which counts how often it is joined."""

    copies = 0

    def __bytes__(self) -> bytes:
        self.copies += 1
        return bytes(memoryview(self))


def test_an_incomplete_frame_is_copied_once() -> None:
    body_frame = body(b"x" * 100_000)
    data = METHOD + header(100_000) + body_frame
    reader = FrameReader()
    reader._rest = rest = Counting()
    events = [event for at in range(0, len(data), 50) for event in reader.feed(data[at : at + 50])]
    assert [event.body for event in events if isinstance(event, Content)] == [b"x" * 100_000]
    assert reader._rest is rest
    assert rest.copies <= 6  # one for the header of each of the three frames, one for each frame


def test_properties_are_passed_on_as_bytes() -> None:
    (event,) = reading(DELIVERED)
    assert isinstance(event, Content)
    assert decode(event.properties) == Properties(content_type="text/plain", delivery_mode=2)

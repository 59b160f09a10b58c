"""Frames that are cut anywhere, have hostile lengths or are not frames at all (issue 17)."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jmsbridge_pulsar.connection.protocol import (
    AUTH_CHALLENGE,
    CONNECT,
    CONNECTED,
    ERROR,
    LOOKUP_RESPONSE,
    SEND_ERROR,
    Connect,
    Frame,
    Frames,
    Malformed,
    contents,
    encode_auth_response,
    encode_connect,
    encode_flow,
    encode_lookup,
    encode_refusal,
    first_frame,
    kind_of,
    number_of,
    parse_connect,
    parse_lookup,
    parse_size,
    parse_subscribe,
    text_of,
    words_of,
)
from tests.pulsar.server.wire import Command, Fields, Kind, frame, message

WANTED = frozenset({LOOKUP_RESPONSE, ERROR})
LARGEST = 1 << 20


def _frames() -> Frames:
    made = Frames(LARGEST)
    made.wanted = WANTED
    return made


def _stream(seed: int, count: int = 12) -> list[bytes]:
    dice = random.Random(seed)
    kinds = [Kind.MESSAGE, Kind.SEND_RECEIPT, Kind.LOOKUP_RESPONSE, Kind.ERROR, Kind.PONG]
    return [
        frame(dice.choice(kinds), dice.randbytes(dice.choice([0, 1, 30])), f1=dice.randbytes(9), f3=dice.randrange(300))
        for _ in range(count)
    ]


def _joined(pieces: list[bytes | Frame]) -> bytes:
    return b"".join(piece.data if isinstance(piece, Frame) else piece for piece in pieces)


def _wanted(stream: list[bytes]) -> list[bytes]:
    return [data for data in stream if Command(data).kind in WANTED]


@pytest.mark.parametrize("seed", range(5))
def test_a_stream_cut_at_every_byte(seed: int) -> None:
    stream = _stream(seed)
    whole = b"".join(stream)
    for cut in range(len(whole) + 1):
        frames = _frames()
        pieces = [*frames.feed(whole[:cut]), *frames.feed(whole[cut:])]
        assert _joined(pieces) == whole
        assert [piece.data for piece in pieces if isinstance(piece, Frame)] == _wanted(stream)
        assert frames.is_between


def test_a_stream_byte_by_byte_keeps_only_the_begin_of_a_frame() -> None:
    stream = [*_stream(7, 30), frame(Kind.MESSAGE, bytes(5000), f1=1)]
    frames, pieces, passed = _frames(), [], 0
    for at, byte in enumerate(b"".join(stream), 1):
        found = list(frames.feed(bytes((byte,))))
        passed += len(_joined(found))
        assert at - passed <= max(len(data) for data in _wanted(stream))
        pieces += found
    assert _joined(pieces) == b"".join(stream)


def test_is_between_only_where_a_frame_ends() -> None:
    frames = _frames()
    data = frame(Kind.MESSAGE, bytes(100), f1=1)
    list(frames.feed(data[:50]))
    assert not frames.is_between
    rest = frames.feed(data[50:] + data[:50])
    assert next(rest) == data[50:]
    assert frames.is_between
    list(rest)
    assert not frames.is_between


def test_every_frame_is_read_until_it_is_said_which_are_wanted() -> None:
    frames = Frames(LARGEST)
    pieces = []
    for piece in frames.feed(frame(Kind.CONNECTED, f1="x") + frame(Kind.PONG) + frame(Kind.ERROR, f1=1)):
        pieces.append(piece)
        frames.wanted = WANTED
    kinds = [piece.kind if isinstance(piece, Frame) else piece for piece in pieces]
    assert kinds == [CONNECTED, frame(Kind.PONG), ERROR]


@pytest.mark.parametrize(
    "data",
    [
        b"\xff\xff\xff\xff\xff\xff\xff\xff\x08\x09",
        b"\x7f\xff\xff\xff\x00\x00\x00\x02\x08\x09",
        (LARGEST + (1 << 16) + 1).to_bytes(4) + b"\x00\x00\x00\x02\x08\x09",
        b"\x00\x00\x00\x06\x00\x00\x00\x03\x08\x09",
        b"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
        b"\x00\x00\x00\x05\x00\x00\x00\x01\x08\x09",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"\x15\x03\x03\x00\x02\x02\x46\x15\x03\x03",
        b"\x00\x20\x00\x00\x00\x10\x00\x00\x08\x18",
    ],
)
def test_hostile_lengths(data: bytes) -> None:
    with pytest.raises(Malformed):
        list(_frames().feed(data))


def test_a_frame_as_large_as_a_message_may_be_passes() -> None:
    frames = _frames()
    data = frame(Kind.MESSAGE, bytes(LARGEST), f1=1)
    assert _joined(list(frames.feed(data))) == data


@given(st.lists(st.binary(max_size=60), max_size=8))
def test_garbage_is_malformed_or_passes(chunks: list[bytes]) -> None:
    frames, passed = _frames(), b""
    try:
        for chunk in chunks:
            passed += _joined(list(frames.feed(chunk)))
    except Malformed:
        return
    assert b"".join(chunks).startswith(passed)


@given(st.binary(max_size=60))
def test_commands_of_garbage_are_malformed_or_read(data: bytes) -> None:
    command = Frame(LOOKUP_RESPONSE, b"\x08\x18" + data, b"")
    try:
        lookup = parse_lookup(command.command, tls=True)
    except Malformed:
        return
    assert isinstance(lookup.broker, str)


@pytest.mark.parametrize(
    "command",
    [
        b"\x08" + b"\xff" * 70_000,
        b"\x08\x18\xc2\x01\xff\xff\xff\xff\x0f",
        b"\x0a\x03abc",
        b"\x10\x18",
        b"\x08\x18\x0b",
        b"\x08",
    ],
)
def test_commands_that_cannot_be_read(command: bytes) -> None:
    with pytest.raises(Malformed):
        contents(command)


def test_fields_of_another_type_count_as_missing() -> None:
    found = contents(Command(frame(Kind.ERROR, f1="text", f2="text", f3=7)).data[8:])
    assert number_of(found, 2) == 0
    assert text_of(found, 3) == ""
    assert words_of(found, 9) == ""


def test_words_of_a_broker_are_one_line_and_short() -> None:
    found = contents(frame(Kind.ERROR, f3="one\r\n\x1b[31mtwo" + "x" * 5000)[8:])
    assert words_of(found, 3).startswith("one   [31mtwo")
    assert len(words_of(found, 3)) <= 300


def _connect(**fields: Any) -> Connect:
    read = first_frame(frame(Kind.CONNECT, f1="library", f3="secret", f4=19, f5="token", **fields))
    assert read is not None
    return parse_connect(read.command)


def test_connect_gets_another_login_and_keeps_the_rest() -> None:
    asked = _connect(f6="broker:6650", f10=message(f1=1))
    assert (asked.secret, asked.broker) == (b"secret", "broker:6650")
    sent = Command(encode_connect(asked, ("basic", b"user:password"), None))
    assert (sent.kind, sent.fields.text(5), sent.fields.data(3)) == (CONNECT, "basic", b"user:password")
    assert (sent.fields.text(1), sent.fields.number(4), sent.fields.inside(10).number(1)) == ("library", 19, 1)
    assert 6 not in sent.fields
    anonymous = Command(encode_connect(asked, None, "broker:6650"))
    assert (anonymous.fields.text(5), 3 in anonymous.fields, anonymous.fields.text(6)) == ("none", False, "broker:6650")


def test_a_challenge_is_answered_with_the_login() -> None:
    sent = Command(encode_auth_response(_connect(), ("token", b"new")))
    assert (sent.kind, sent.fields.text(1), sent.fields.number(3)) == (Kind.AUTH_RESPONSE, "library", 19)
    assert (sent.fields.inside(2).text(1), sent.fields.inside(2).data(2)) == ("token", b"new")


@pytest.mark.parametrize("data", [frame(Kind.PING), b"\0\0\0\x06\0\0\0\x02\x08\x02", b"GET / HTTP/1.1\r\n\r\n"])
def test_what_does_not_begin_with_connect(data: bytes) -> None:
    with pytest.raises(Malformed):
        read = first_frame(data)
        assert read is None or parse_connect(read.command)


def test_the_first_frame_must_be_small() -> None:
    assert first_frame(frame(Kind.CONNECT, f1="x" * 1000)[:-1]) is None
    with pytest.raises(Malformed):
        first_frame(frame(Kind.CONNECT, f1=bytes(70_000)))


def _lookup(**fields: Any) -> Frame:
    data = frame(Kind.LOOKUP_RESPONSE, f4=9, **fields)
    return Frame(LOOKUP_RESPONSE, data[8:], data)


def test_lookups_lead_back_to_the_relay() -> None:
    asked = _lookup(f1="pulsar://one:6650", f2="pulsar+ssl://two:6651/", f3=1)
    assert parse_lookup(asked.command, tls=False).broker == "one:6650"
    assert parse_lookup(asked.command, tls=True).broker == "two:6651"
    answered = Command(encode_lookup(asked, "pulsar://two:6651", is_redirect=False))
    assert answered.data[8:].count(b"pulsar://two:6651") == 1
    last = Fields(answered.data[8:]).all(LOOKUP_RESPONSE)[-1]  # protobuf joins both
    assert (last.text(1), last.number(8)) == ("pulsar://two:6651", 1)
    redirected = parse_lookup(_lookup(f1="pulsar://one:6650", f3=0).command, tls=False)
    assert redirected.is_redirect
    assert parse_lookup(_lookup(f3=2, f6=11).command, tls=False).broker == ""
    assert parse_lookup(_lookup(f1="pulsar://one:6650", f3=1, f8=1).command, tls=False).is_proxied


def test_a_refusal_keeps_its_producer_and_its_sequence() -> None:
    data = frame(Kind.SEND_ERROR, f1=3, f2=70_000, f3=15, f4="terminated")
    sent = Command(encode_refusal(Frame(SEND_ERROR, data[8:], data)))
    assert (sent.kind, sent.fields.number(1), sent.fields.number(2), sent.fields.number(3)) == (8, 3, 70_000, 9)
    first = frame(Kind.SEND_ERROR, f2=5, f3=15)  # the number 0 may be left out
    assert Command(encode_refusal(Frame(SEND_ERROR, first[8:], first))).fields.number(2) == 5


def test_subscribe_gets_properties_and_durability() -> None:
    data = frame(Kind.SUBSCRIBE, f1="persistent://a/b/c-partition-2", f2="sub", f4=5, f6="name", f8=1)
    asked = parse_subscribe(data[8:])
    assert (asked.number, asked.name, asked.partition) == (5, "name", 2)
    sent = Command(asked.encode({"own": "text"}, {"key": "value"}, (7, -1), durable=False))
    (start,) = sent.fields.all(9)
    assert (start.number(1), start.number(2)) == (7, (1 << 64) - 1)
    assert (sent.fields.number(8), sent.fields.text(2)) == (0, "sub")
    assert [(each.text(1), each.text(2)) for each in sent.fields.all(10)] == [("own", "text")]
    assert [(each.text(1), each.text(2)) for each in sent.fields.all(18)] == [("key", "value")]


def test_flow() -> None:
    sent = Command(encode_flow(300, 1000))
    assert (sent.kind, sent.fields.number(1), sent.fields.number(2)) == (Kind.FLOW, 300, 1000)


def test_the_size_of_an_entry() -> None:
    """Where none is returned, acknowledgements are left to the library: one entry taken for all would lose messages."""
    assert parse_size(message(f1=7, f2=1, f4=2, f6=50)) == 50
    assert parse_size(message(f1=7, f2=1)) == 1
    assert parse_size(message(f1=7, f2=1, f4=0)) == 0
    assert parse_size(message(f1=7, f2=3, f7=message(f1=7, f2=1))) == 0


def test_kinds_of_frames() -> None:
    assert kind_of(frame(Kind.AUTH_CHALLENGE)[8:]) == AUTH_CHALLENGE

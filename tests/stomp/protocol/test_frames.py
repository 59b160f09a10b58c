"""Frames of STOMP as bytes: written, cut anywhere, read again, and compared with those of stomp.py."""

import itertools
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jmsbridge_stomp.protocol.frames import MOST_HEADERS, MOST_LINE, Frame, Unencodable, encode, unescaped
from jmsbridge_stomp.protocol.parsing import Limits, Malformed, Parser

os.environ.setdefault("STOMP_SKIP_HOSTNAME_SCAN", "1")  # importing stomp.py asks the name server otherwise

_texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
_headers = st.dictionaries(_texts.filter(bool).filter(lambda name: name != "content-length"), _texts, max_size=6)


def _split(data: bytes, cuts: list[int]) -> list[bytes]:
    places = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[start:end] for start, end in itertools.pairwise(places)]


def _parse(parser: Parser, pieces: list[bytes]) -> list[Frame]:
    """The frames, without the escapes that the parser leaves in values."""
    frames = [frame for piece in pieces for frame in parser.feed(piece)]
    return [
        Frame(frame.command, {name: unescaped(value) for name, value in frame.headers.items()}, frame.body)
        for frame in frames
    ]


@given(
    st.lists(st.tuples(_headers, st.binary(max_size=40), st.binary(max_size=3)), max_size=4), st.lists(st.integers(0))
)
def test_frames_survive_every_cut(frames: list[tuple[dict[str, str], bytes, bytes]], cuts: list[int]) -> None:
    data = b""
    for headers, body, beats in frames:
        sized = [*headers.items(), ("content-length", str(len(body)))]
        data += encode("MESSAGE", sized, body) + b"\n" * len(beats)
    found = _parse(Parser(), _split(data, cuts))
    assert [(frame.headers, frame.body) for frame in found] == [
        ({**headers, "content-length": str(len(body))}, body) for headers, body, _ in frames
    ]


def test_frames_cut_at_every_byte() -> None:
    data = b"\n\r\n" + b"".join(
        (
            encode("MESSAGE", [("a:b\\", "x\r\n:y\\c"), ("ä", "\N{GRINNING FACE}")], b"text"),
            encode("MESSAGE", [("content-length", "5")], b"\0\xff\0\n\0"),
            b"RECEIPT\r\nreceipt-id:1\r\n\r\n\0\n\n",
        )
    )
    expected = [
        Frame("MESSAGE", {"a:b\\": "x\r\n:y\\c", "ä": "\N{GRINNING FACE}"}, b"text"),
        Frame("MESSAGE", {"content-length": "5"}, b"\0\xff\0\n\0"),
        Frame("RECEIPT", {"receipt-id": "1"}),
    ]
    assert _parse(Parser(), [data[at : at + 1] for at in range(len(data))]) == expected
    for cut in range(len(data)):
        assert _parse(Parser(), [data[:cut], data[cut:]]) == expected


@given(_headers)
def test_headers_keep_order_and_values(headers: dict[str, str]) -> None:
    (frame,) = Parser().feed(encode("SEND", headers.items()))
    assert list(frame.headers.items()) == list(headers.items())


def test_the_first_of_equal_headers_counts() -> None:
    (frame,) = Parser().feed(b"MESSAGE\nb:1\na:2\nb:3\n\n\0")
    assert list(frame.headers.items()) == [("b", "1"), ("a", "2")]


_lines = st.text(st.sampled_from("ab:\\cn\r\xe4"), max_size=5)
_heads = st.lists(st.tuples(st.sampled_from(["a", "b", "a\\cb", "a\r", "content-length"]), _lines), max_size=5)


@given(st.lists(_heads, min_size=1, max_size=3))
def test_heads_like_those_before_are_read_as_alone(heads: list[list[tuple[str, str]]]) -> None:
    """What the parser knows of the names of earlier messages changes nothing."""
    known = Parser()
    for head in (*100 * heads[:1], *heads, *(again for one in heads for again in (one, one[::-1]))):
        data = "".join(f"{name}:{value}\n" for name, value in head)
        frame = f"MESSAGE\n{data}\n{'x' * 20}\0".encode()
        assert known.feed(frame) == Parser().feed(frame)


def test_names_are_known_only_after_many_messages_with_them() -> None:
    """Each expression costs as much as hundreds of messages: senders who change their names get none."""
    parser = Parser()
    for number in range(200):
        frame = b"MESSAGE\nh%d:\\c\n\nx\0" % (number // 2)
        assert [one.headers for one in parser.feed(frame)] == [{f"h{number // 2}": "\\c"}]
    assert parser._known.last is None
    assert len(parser.feed(100 * frame)) == 100
    assert parser._known.last is not None


def test_long_names_are_never_known() -> None:
    """An expression of them would take long to make."""
    parser = Parser()
    for names in (b"x" * 10_000 + b":1\n", b"".join(b"%d:\n" % number for number in range(100)), b"a\r:1\n"):
        assert len(parser.feed(200 * (b"MESSAGE\n" + names + b"\nx\0"))) == 200
    assert parser._known.last is None
    assert sum(map(len, parser._known._names)) < 1000


def test_connected_is_not_unescaped() -> None:
    (frame,) = Parser().feed(b"CONNECTED\nserver:a\\cb:c\n\n\0")
    assert frame.headers == {"server": "a\\cb:c"}


def test_connect_is_not_escaped() -> None:
    assert encode("CONNECT", [("passcode", "a:b\\")]) == b"CONNECT\npasscode:a:b\\\n\n\0"


@pytest.mark.parametrize(
    ("command", "name", "value"),
    [
        ("SEND", "", "x"),
        ("SEND", "a", "\0"),
        ("SEND", "a\0", "x"),
        ("SEND", "a", "\ud800"),
        ("SEND", "a", "x" * MOST_LINE),
        ("CONNECT", "a", "\r"),
        ("CONNECT", "a", "\n"),
        ("CONNECT", "a:b", "x"),
    ],
)
def test_what_cannot_be_a_header_is_refused(command: str, name: str, value: str) -> None:
    with pytest.raises(Unencodable):
        encode(command, [(name, value)])


@pytest.mark.parametrize("password", ["x\nlogin:root", "x\0", "x\r"])
def test_a_login_injects_no_header(password: str) -> None:
    with pytest.raises(Unencodable):
        encode("CONNECT", [("passcode", password)])


def test_more_headers_than_brokers_accept_are_refused() -> None:
    with pytest.raises(Unencodable, match="headers"):
        encode("SEND", [(f"h{number}", "x") for number in range(MOST_HEADERS + 1)])


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 400 Bad Request\r\n",
        b"\x16\x03\x01\x02\x00",
        b"RECEIPT\nno colon\n\n\0",
        b"RECEIPT\na:\\x\n\n\0",
        b"RECEIPT\na:\\\n\n\0",
        b"MESSAGE\na:\xff\n\n\0",
        b"ERROR\ncontent-length:-1\n\n\0",
        b"ERROR\ncontent-length:\xd9\xa3\n\nabc\0",
        b"ERROR\ncontent-length:1\n\nab\0",
        b"ERROR\ncontent-length:9999999999\n\n",
        b"MESSAGE\n" + b"a:b\n" * 300,
        b"MESSAGE\n\n" + b"x" * 3000,
    ],
)
def test_what_is_no_frame_is_malformed(data: bytes) -> None:
    with pytest.raises(Malformed):
        Parser(limits=Limits(1000, 2000)).feed(data)


@pytest.mark.parametrize("length", ["abc", "-1", "9999999999", "\u0663"])
def test_a_property_called_content_length_is_none(length: str) -> None:
    """Classic writes it in place of its own."""
    [frame] = Parser(limits=Limits(1000, 2000)).feed(f"MESSAGE\ncontent-length:{length}\n\nabc\0".encode())
    assert (frame.headers, frame.body) == ({"content-length": length}, b"abc")


def test_names_of_properties_that_classic_does_not_escape() -> None:
    [frame] = Parser().feed(b"MESSAGE\na\\x:1\nb\\:2\nc\\cd:3\n\n\0")
    assert frame.headers == {"a\\x": "1", "b\\": "2", "c:d": "3"}


@given(st.binary(max_size=200), st.lists(st.integers(0), max_size=3))
def test_garbage_is_malformed_or_frames(data: bytes, cuts: list[int]) -> None:
    parser = Parser(limits=Limits(100, 100))
    try:
        found = _parse(parser, _split(b"MESSAGE\n" + data, cuts))
    except Malformed:
        return
    assert all(frame.command.isupper() for frame in found)


def test_large_body_of_nulls_in_many_pieces() -> None:
    """Each byte is looked at once: stomp.py takes seconds for 20 MiB."""
    body = b"\0\xff" * (5 << 20)
    data = encode("MESSAGE", [("content-length", str(len(body)))], body)
    found = _parse(Parser(), [data[at : at + 65536] for at in range(0, len(data), 65536)])
    assert [frame.body == body for frame in found] == [True]


@given(_headers, st.binary(min_size=1, max_size=30))
def test_frames_equal_those_of_stomp_py(headers: dict[str, str], body: bytes) -> None:
    """stomp.py writes headers sorted, and cannot escape names: with such headers both write and read the same."""
    utils = pytest.importorskip("stomp.utils", reason="stomp.py is not installed: pip install stomp.py")
    protocol = pytest.importorskip("stomp.protocol")
    plain = {name: value for name, value in headers.items() if not set(name) & set(":\\\r\n")}
    sized = {**plain, "content-length": str(len(body))}
    escaped = dict(sized)
    protocol.Protocol12._escape_headers(None, escaped)
    theirs = b"".join(utils.convert_frame(utils.Frame("SEND", escaped, body)))
    ours = encode("SEND", sorted(sized.items()), body)
    assert ours == theirs
    read = utils.parse_frame(ours[:-1])
    (frame,) = Parser().feed(ours)
    assert (frame.command, frame.headers, frame.body) == (read.cmd, read.headers, read.body)


@given(st.binary(max_size=40).filter(lambda body: b"\0\n" not in body + b"\n"), st.lists(st.integers(0), max_size=4))
def test_a_nul_in_a_body_ends_no_frame_of_a_broker_that_ends_frames_with_lines(body: bytes, cuts: list[int]) -> None:
    """ActiveMQ Classic writes a text of Java with NUL as it is, without its length."""
    parser = Parser()
    parser.ends_lines = True
    data = b"MESSAGE\na:b\n\n%b\0\nRECEIPT\nreceipt-id:1\n\n\0\n" % body
    message, receipt = _parse(parser, _split(data, cuts))
    assert (message.body, receipt.command) == (body, "RECEIPT")


@pytest.mark.parametrize("body", [b"a\0\nb", b"\0\n\n\0\nMESS", b"\0\nERRORS\n", b"a\0\n \0\0\nRECEIPT"])
def test_a_nul_before_the_end_of_a_line_in_a_body_ends_no_frame_either(body: bytes) -> None:
    """Only the next frame, or a heart-beat and that, can follow."""
    parser = Parser()
    parser.ends_lines = True
    data = b"MESSAGE\na:b\n\n%b\0\nRECEIPT\nreceipt-id:1\n\n\0\n\n\nERROR\n\nno\0\n" % body
    message, receipt, error = parser.feed(data)
    assert (message.body, receipt.command, error.body) == (body, "RECEIPT", b"no")


def test_properties_of_foreign_messages_that_look_like_frames_are_no_reason_to_stop() -> None:
    """Classic writes the end of a line in a name as it is, and a property ``content-length`` in place of its own."""
    data = b"MESSAGE\na\nb:v\n\nbody\0\nMESSAGE\ncontent-length:1\n\nab\0\nMESSAGE\n\nlast\0\n"
    for size in (1, 7, len(data)):
        parser = Parser()
        frames = [frame for at in range(0, len(data), size) for frame in parser.feed(data[at : at + size])]
        assert [frame.body for frame in frames] == [b"body", b"ab", b"last"]
        assert frames[0].headers == {"a": "", "b": "v"}

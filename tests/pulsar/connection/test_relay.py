"""The relay: who may use it, how much it holds, and what is left when it ends (issue 17)."""

import contextlib
import itertools
import os
import random
import socket
import threading
from collections.abc import Callable

import pytest

from jmsbridge.testing.suite.support import eventually
from jmsbridge_pulsar.connection.errors import LibraryLeft
from jmsbridge_pulsar.connection.protocol import Malformed
from tests.pulsar.connection.support import Relayed, Socket
from tests.pulsar.server.answering import answer
from tests.pulsar.server.server import Line, Server
from tests.pulsar.server.wire import Command, Kind, frame, message

Start = Callable[..., Relayed]

HELD = 24 << 20
"""Bytes that may be on their way: the relay's, and those of the kernel for four sockets."""
MUCH = 80 << 20


def test_the_secret_never_reaches_the_broker(server: Server, start: Start) -> None:
    relayed = start(token="the-token")
    relayed.connect()
    (sent,) = server.heard_of(Kind.CONNECT)
    assert (sent.fields.text(5), sent.fields.text(3)) == ("token", "the-token")
    assert relayed.relay.secret.encode() not in sent.data


@pytest.mark.parametrize(
    "first",
    [
        frame(Kind.CONNECT, f1="library", f3="wrong", f5="token"),
        frame(Kind.CONNECT, f1="library"),
        frame(Kind.CONNECT, f1="library", f3="", f5="token"),
        frame(Kind.PING),
        b"GET / HTTP/1.1\r\n\r\n",
        b"\0" * 64,
        b"\xff" * 64,
        os.urandom(1 << 17),
        frame(Kind.CONNECT, f1="library", f3=b"\xff\xfe", f6=b"\xff\xff"),
        frame(Kind.CONNECT)[:8] + b"\x0a\x02",
    ],
)
def test_strangers_are_refused_without_a_connection_to_the_broker(
    server: Server, relayed: Relayed, first: bytes
) -> None:
    stranger = relayed.socket()
    with contextlib.suppress(OSError):  # the relay may end it before all is sent
        stranger.socket.sendall(first)
        stranger.socket.shutdown(socket.SHUT_WR)
    assert stranger.ended()
    assert server.lines == []
    assert relayed.broken == []
    relayed.connect()


def test_strangers_that_say_nothing_are_closed(server: Server, start: Start) -> None:
    relayed = start(connect_timeout=0.5)
    quiet, slow = relayed.socket(), relayed.socket()
    slow.socket.sendall(frame(Kind.CONNECT)[:9])
    assert quiet.ended()
    assert slow.ended()
    assert (server.lines, relayed.broken) == ([], [])


def test_many_strangers_take_no_more_than_some_sockets(server: Server, relayed: Relayed) -> None:
    strangers = [relayed.socket() for _ in range(150)]
    assert all(stranger.ended() for stranger in strangers[:80])
    assert relayed.broken == []
    relayed.connect()


@pytest.mark.parametrize("splits", [False, True])
def test_frames_split_at_every_byte(server: Server, relayed: Relayed, splits: bool) -> None:
    server.splits = splits
    made = relayed.socket()
    connect = frame(Kind.CONNECT, f1="library", f3=relayed.relay.secret, f4=19, f5="token")
    for byte in connect + frame(Kind.PING) + frame(Kind.LOOKUP, f1="persistent://a/b/c", f2=7):
        made.socket.sendall(bytes((byte,)))
    kinds = [Kind.CONNECTED, Kind.PONG, Kind.LOOKUP_RESPONSE]
    answers = [made.read() for _ in kinds]
    assert [each and each.kind for each in answers] == kinds


def test_what_comes_with_connect_is_passed_on(server: Server, relayed: Relayed) -> None:
    made = relayed.socket()
    made.socket.sendall(
        frame(Kind.CONNECT, f1="library", f3=relayed.relay.secret, f4=19, f5="token")
        + frame(Kind.PING) * 10_000
        + frame(Kind.PARTITIONS, f1="persistent://a/b/c", f2=7)
    )
    answers = list(itertools.takewhile(lambda each: each.kind != Kind.PARTITIONS_RESPONSE, iter(made.read, None)))
    assert len(answers) == 10_001


def _sent_until_full(made: Socket, data: bytes) -> int:
    """How many bytes are taken before nothing has been taken for a second."""
    made.socket.settimeout(1.0)
    sent = 0
    try:
        while sent < MUCH:
            sent += made.socket.send(data[sent % len(data) :])
    except TimeoutError:
        return sent
    return sent


def test_a_broker_that_reads_nothing_makes_the_relay_read_no_more(server: Server, relayed: Relayed) -> None:
    made = relayed.connect(small=True)
    server.lines[0].reading.clear()
    data = frame(Kind.SEND, random.Random(1).randbytes(1 << 20), f1=1)
    sent = _sent_until_full(made, data)
    assert sent < HELD
    made.socket.settimeout(30)
    server.heard = lambda line, heard: None
    server.lines[0].reading.set()
    rest = -sent % len(data)
    made.socket.sendall(data[len(data) - rest :] if rest else b"")
    eventually(lambda: len(server.heard_of(Kind.SEND)) == (sent + rest) // len(data), 30)
    assert {each.data for each in server.heard_of(Kind.SEND)} == {data}


def test_a_library_that_reads_nothing_makes_the_relay_read_no_more(server: Server, relayed: Relayed) -> None:
    made = relayed.connect(small=True)
    data, sent = frame(Kind.MESSAGE, random.Random(2).randbytes(1 << 20), f1=1), 0

    def flood() -> None:
        nonlocal sent
        while sent < MUCH:
            server.lines[0].raw(data)
            sent += len(data)

    thread = threading.Thread(target=flood, daemon=True)
    thread.start()
    thread.join(3)
    assert sent < HELD
    got = 0
    for each in iter(made.read, None):
        assert each.data == data
        got += 1
        if got * len(data) >= MUCH:
            break
    thread.join(10)
    assert got == sent // len(data)


def test_much_in_both_directions_at_once(server: Server, relayed: Relayed) -> None:
    made = relayed.connect(small=True)

    def echo(line: Line, heard: Command) -> None:
        line.write(Kind.MESSAGE, heard.payload, f1=heard.fields.number(1))

    server.heard = echo
    bodies = [random.Random(number).randbytes(300_000) for number in range(60)]

    def send() -> None:
        for number, body in enumerate(bodies):
            made.send(Kind.SEND, body, f1=number)

    threading.Thread(target=send, daemon=True).start()
    for number, body in enumerate(bodies):
        got = made.read()
        assert got is not None
        assert (got.fields.number(1), got.payload == body) == (number, True)


def test_a_library_that_closes_a_connection_ends_the_relay(server: Server, relayed: Relayed) -> None:
    one, two = relayed.connect(), relayed.connect()
    one.close()
    assert isinstance(relayed.wait_broken(), LibraryLeft)
    two.send(Kind.PING)
    assert two.read() is not None


def test_a_broker_that_cuts_a_connection_is_reported_at_once(server: Server, relayed: Relayed) -> None:
    made = relayed.connect()
    server.lines[0].cut()
    assert made.ended()
    assert isinstance(relayed.wait_broken(), ConnectionResetError)


def test_many_connections(server: Server, relayed: Relayed) -> None:
    made = [relayed.connect(f"127.0.0.1:{server.port}" if number % 2 else None) for number in range(60)]
    for each in made:
        each.send(Kind.PING)
    answers = [each.read() for each in made]
    assert [each and each.kind for each in answers] == [Kind.PONG] * 60
    assert len(server.lines) == 60


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts file descriptors as Linux shows them")
def test_close_leaves_nothing(server: Server, start: Start) -> None:
    def count() -> tuple[int, int]:
        return len(os.listdir("/proc/self/fd")), threading.active_count()

    relayed = start()
    relayed.connect()
    before = count()
    for _ in range(3):
        other = start()
        sockets = [other.connect() for _ in range(10)] + [other.socket() for _ in range(10)]
        other.close()
        for each in sockets:
            each.close()
    eventually(lambda: count() <= before)


def test_lookups_lead_to_the_relay_and_name_the_broker(server: Server, relayed: Relayed) -> None:
    asking = relayed.connect()
    asking.send(Kind.LOOKUP, f1="persistent://a/b/c", f2=7)
    answered = asking.read()
    assert answered is not None
    last = answered.data[answered.data.rindex(b"pulsar://") :]
    assert last.startswith(f"pulsar://127.0.0.1:{server.port}".encode())
    relayed.connect(f"127.0.0.1:{server.port}")
    assert [6 in each.fields for each in server.heard_of(Kind.CONNECT)] == [False, False]


@pytest.mark.parametrize("broker", ["nonsense", "host:port", ":", "[::1", "host:99999999", "\n", "a" * 5000])
def test_a_broker_without_an_address(server: Server, relayed: Relayed, broker: str) -> None:
    relayed.connect()
    made = relayed.socket()
    made.send(Kind.CONNECT, f1="library", f3=relayed.relay.secret, f4=19, f6=broker)
    assert made.ended()
    assert len(str(relayed.wait_broken())) < 300


def test_a_broker_that_does_not_answer_connect(server: Server, start: Start) -> None:
    server.heard = lambda line, heard: None
    relayed = start(connect_timeout=0.5)
    made = relayed.socket()
    made.send(Kind.CONNECT, f1="library", f3=relayed.relay.secret, f4=19)
    assert made.ended()
    assert isinstance(relayed.wait_broken(), TimeoutError)


def test_a_broker_that_refuses_says_why(server: Server, relayed: Relayed) -> None:
    server.heard = lambda line, heard: line.write(Kind.ERROR, f1=(1 << 64) - 1, f2=3, f3="token expired")
    made = relayed.socket()
    made.send(Kind.CONNECT, f1="library", f3=relayed.relay.secret, f4=19)
    assert made.ended()
    assert str(relayed.wait_broken()) == "token expired"


@pytest.mark.parametrize(
    "data", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\xff" * 20, b"AMQP\0\x01\0\0", frame(Kind.PONG), b"\0" * 20]
)
def test_a_server_of_another_protocol(server: Server, relayed: Relayed, data: bytes) -> None:
    def speak(line: Line, heard: Command) -> None:
        line.raw(data)
        line.cut()

    server.heard = speak
    made = relayed.socket()
    made.send(Kind.CONNECT, f1="library", f3=relayed.relay.secret, f4=19)
    assert made.ended()
    assert relayed.wait_broken()


def test_a_length_that_would_cost_the_library_its_memory(server: Server, relayed: Relayed) -> None:
    """It gets memory for as much as a frame says, and the process ends if there is none."""
    made = relayed.connect()
    server.lines[0].raw(b"\xff\xff\xff\xf0\0\0\0\x08\x08\x09")
    assert made.ended()
    assert "4294967280" in str(relayed.wait_broken())


def _fail_again(line: Line, heard: Command) -> None:
    if heard.kind in (Kind.PRODUCER, Kind.SUBSCRIBE) and len(line.heard(heard.kind)) > 1:
        request = heard.fields.number(3 if heard.kind == Kind.PRODUCER else 5)
        line.write(Kind.ERROR, f1=request, f2=11, f3="gone")
    else:
        answer(line, heard)


def test_what_a_broker_does_not_let_in_again(server: Server, relayed: Relayed) -> None:
    server.heard = _fail_again
    made = relayed.connect()
    made.send(Kind.PRODUCER, f1="persistent://a/b/c", f2=0, f3=1)
    made.send(Kind.SUBSCRIBE, f1="persistent://a/b/c", f2="sub", f4=0, f5=2, f6="name")
    assert [answer and answer.kind for answer in (made.read(), made.read())] == [Kind.PRODUCER_SUCCESS, Kind.SUCCESS]
    server.lines[0].write(Kind.CLOSE_PRODUCER, f1=0, f2=0)
    server.lines[0].write(Kind.CLOSE_CONSUMER, f1=0, f2=0)
    made.send(Kind.PRODUCER, f1="persistent://a/b/c", f2=0, f3=3)
    made.send(Kind.SUBSCRIBE, f1="persistent://a/b/c", f2="sub", f4=0, f5=4, f6="name")
    eventually(lambda: len(relayed.refused) == 2)
    found = [(each.topic, each.name, code, said) for each, code, said in relayed.refused]
    assert found == [("persistent://a/b/c", None, 11, "gone"), ("persistent://a/b/c", "name", 11, "gone")]


def test_a_first_refusal_is_the_librarys_to_report(server: Server, relayed: Relayed) -> None:
    server.heard = lambda line, heard: (
        line.write(Kind.ERROR, f1=heard.fields.number(3), f2=11, f3="none")
        if heard.kind == Kind.PRODUCER
        else answer(line, heard)
    )
    made = relayed.connect()
    for request in (1, 2):
        made.send(Kind.PRODUCER, f1="persistent://a/b/c", f2=0, f3=request)
        refused = made.read()
        assert refused is not None
        assert refused.kind == Kind.ERROR
    assert relayed.refused == []


def test_a_failed_lookup_of_what_was_closed(server: Server, relayed: Relayed) -> None:
    def refuse(line: Line, heard: Command) -> None:
        if heard.kind == Kind.LOOKUP:
            line.write(Kind.LOOKUP_RESPONSE, f3=2, f4=heard.fields.number(2), f6=4, f7="not any more")
        else:
            answer(line, heard)

    server.heard = refuse
    made = relayed.connect()
    made.send(Kind.SUBSCRIBE, f1="persistent://a/b/c", f2="sub", f4=0, f5=2, f6="name")
    made.send(Kind.SUBSCRIBE, f1="persistent://a/b/d", f2="sub", f4=1, f5=3, f6="other")
    made.read()
    made.read()
    server.lines[0].write(Kind.CLOSE_CONSUMER, f1=0, f2=0)
    made.read()
    made.send(Kind.LOOKUP, f1="persistent://a/b/c", f2=9)
    made.send(Kind.LOOKUP, f1="persistent://a/b/d", f2=10)
    answers = [made.read(), made.read()]
    assert [each and each.kind for each in answers] == [Kind.LOOKUP_RESPONSE] * 2
    assert [(each.name, code) for each, code, _ in relayed.refused] == [("name", 4)]


def test_a_refused_message_costs_no_connection(server: Server, relayed: Relayed) -> None:
    """The library ends the connection for every other code than a wrong checksum."""
    made = relayed.connect()
    server.lines[0].write(Kind.SEND_ERROR, f1=1, f2=2, f3=15, f4="terminated")
    server.lines[0].write(Kind.SEND_ERROR, f1=1, f2=3, f3=2, f4="no disk")
    codes = []
    for _ in range(2):
        refused = made.read()
        assert refused is not None
        codes.append((refused.fields.number(2), refused.fields.number(3)))
    assert codes == [(2, 9), (3, 2)]
    assert relayed.relay.words.lately() == "no disk"


def test_what_is_lost_is_not_the_answer_that_came_before(server: Server, relayed: Relayed) -> None:
    made = relayed.connect()
    place = message(f1=1, f2=2)
    server.lines[0].raw(frame(Kind.SEND_RECEIPT, f1=1, f2=2, f3=place) * 1000 + b"\xff" * 20)
    assert [each.kind for each in iter(made.read, None)] in ([], [Kind.SEND_RECEIPT] * 1000)
    assert isinstance(relayed.wait_broken(), Malformed)

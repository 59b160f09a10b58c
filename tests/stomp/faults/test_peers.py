"""What a broker may do on a socket: refuse, cut frames anywhere, stop reading, and say nothing (issue 16)."""

import errno
import socket
import threading
import time

import pytest

from jmsbridge.spi import (
    Address,
    AddressRefused,
    AuthenticationFailed,
    BackendError,
    BodyKind,
    Channel,
    ConnectFailed,
    LinkLost,
    Native,
    Outcome,
    SendRefused,
)
from jmsbridge.testing.harness import LinkLog
from jmsbridge.testing.suite.contract.support import Answer, envelope, send, settle, subscribe
from jmsbridge.testing.suite.support import eventually
from jmsbridge_stomp.connection import scheduling
from jmsbridge_stomp.protocol.frames import Frame
from tests.stomp.faults.conftest import Connect, Start
from tests.stomp.faults.peer import ARTEMIS, CLASSIC, RABBITMQ, Line, answer

QUEUE = Address("queue")


def _deliver(line: Line, frame: Frame, *bodies: bytes) -> None:
    """Messages for the subscription that this frame makes."""
    for number, body in enumerate(bodies, 1):
        headers = {"subscription": frame.headers["id"], "message-id": f"1,{number}", "ack": str(number)}
        line.write("MESSAGE", {**headers, "content-length": str(len(body))}, body)


def _has_messages(line: Line, frame: Frame) -> None:
    answer(line, frame)
    if frame.command == "SUBSCRIBE" and frame.headers["destination"].endswith("queue"):
        _deliver(line, frame, b"one", b"\0\xff\n\n")


@pytest.mark.parametrize("server", [ARTEMIS, CLASSIC])
def test_frames_split_at_every_byte(start: Start, connect: Connect, server: str) -> None:
    link = connect(start(_has_messages, server, splits=True))
    send(link.channel(False), envelope(QUEUE, "text"))
    _, box = subscribe(link.channel(False), QUEUE, 2)
    assert len(box.wait(2)) == 2


def test_50_mb_with_nul_and_0xff_both_ways(start: Start, connect: Connect) -> None:
    body = b"\0\xff\n\0" * 12_500_000

    def echo(line: Line, frame: Frame) -> None:
        answer(line, frame)
        if frame.command == "SUBSCRIBE":
            _deliver(line, frame, peer.sent()[0].body)

    peer = start(echo)
    link = connect(peer)
    ticket = Answer()
    link.channel(False).send(envelope(QUEUE, body, BodyKind.BYTES), ticket)
    assert ticket.outcome(30) is None
    assert peer.sent()[0].body == body
    _, box = subscribe(link.channel(False), QUEUE, 1)
    assert box.wait(1, 30)[0].envelope.body == body


def _send(channel: Channel, *texts: str) -> list[Answer]:
    answers = [Answer() for _ in texts]
    for text, ticket in zip(texts, answers, strict=True):
        channel.send(envelope(QUEUE, text), ticket)
    return answers


@pytest.mark.parametrize(("server", "ends"), [(ARTEMIS, True), (CLASSIC, False)])
def test_an_error_that_names_its_frame(start: Start, connect: Connect, server: str, ends: bool) -> None:
    """Frames behind it were carried out all the same; the channel goes on, on another socket if this one ended."""

    def refuse_bad(line: Line, frame: Frame) -> None:
        if b"bad" not in frame.body:
            answer(line, frame)
            if ends and b"last" in frame.body:
                line.cut()
        else:
            line.write("ERROR", {"receipt-id": frame.headers["receipt"], "message": "no"}, b"a reason\nat Broker.java")

    log = LinkLog()
    channel = connect(start(refuse_bad, server), log).channel(False)
    outcomes = [ticket.outcome() for ticket in _send(channel, "first", "bad", "last")]
    assert [type(error) for error in outcomes] == [type(None), SendRefused, type(None)]
    assert isinstance(outcomes[1], BackendError)
    assert not outcomes[1].in_doubt
    assert "a reason" in str(outcomes[1])
    assert "Broker.java" not in str(outcomes[1])
    assert [ticket.outcome() for ticket in _send(channel, "after")] == [None]
    assert (log.losses, log.channels) == ([], [])


NOTHING_HEARD = "AMQ229014: Did not receive data from 127.0.0.1:1 within the 60000ms connection TTL."
"""What Artemis says if the network or the process was at fault, and no consumer, message or commit."""


def _hears_nothing(line: Line, frame: Frame) -> None:
    if frame.command == "SUBSCRIBE":
        _has_messages(line, frame)
    elif frame.command not in ("ACK", "SEND"):
        answer(line, frame)
    if frame.command in ("SUBSCRIBE", "SEND"):
        line.write("ERROR", {"message": NOTHING_HEARD})
        line.cut()


def _is_lost_whole(log: LinkLog) -> bool:
    eventually(lambda: log.losses)
    return NOTHING_HEARD in str(log.losses[0]) and not (log.channels or log.subscriptions)


def test_artemis_has_heard_nothing_from_a_consumer(start: Start, connect: Connect) -> None:
    """It goes on over the next link."""
    log = LinkLog()
    link = connect(start(_hears_nothing), log)
    subscribe(link.channel(False), QUEUE, 1)
    assert _is_lost_whole(log)


def test_artemis_has_heard_nothing_from_a_sender(start: Start, connect: Connect) -> None:
    """Its channel is not lost alone, and the message may have arrived."""
    log = LinkLog()
    link = connect(start(_hears_nothing), log)
    (ticket,) = _send(link.channel(False), "text")
    error = ticket.outcome()
    assert isinstance(error, LinkLost)
    assert error.in_doubt
    assert _is_lost_whole(log)


def test_an_error_that_names_no_frame_leaves_sends_in_doubt(start: Start, connect: Connect) -> None:
    """Artemis ends the socket then: only its channel is lost, and what has no receipt may have been carried out."""

    def refuse_bad(line: Line, frame: Frame) -> None:
        if b"bad" in frame.body:
            line.write("ERROR", {"message": "no"})
            line.cut()
        else:
            answer(line, frame)

    log = LinkLog()
    link = connect(start(refuse_bad), log)
    channel = link.channel(False)
    first, bad, last = [ticket.outcome() for ticket in _send(channel, "first", "bad", "last")]
    assert first is None
    for error in (bad, last):
        assert isinstance(error, BackendError)
        assert error.in_doubt
    eventually(lambda: log.channels)
    assert log.losses == []
    send(link.channel(False), envelope(QUEUE, "on another channel"))


def _refuse_like_rabbitmq(line: Line, frame: Frame) -> None:
    """ERROR names no frame; what is behind it is not carried out."""
    if b"bad" in frame.body:
        line.write("ERROR", {"message": "not_found"}, b"NOT_FOUND - no")
        line.cut()
    else:
        answer(line, frame)


def test_an_error_of_rabbitmq_is_that_of_the_only_open_frame(start: Start, connect: Connect) -> None:
    log = LinkLog()
    channel = connect(start(_refuse_like_rabbitmq, RABBITMQ), log).channel(False)
    assert [ticket.outcome() for ticket in _send(channel, "first")] == [None]
    error = _send(channel, "bad")[0].outcome()
    assert type(error) is AddressRefused
    assert not error.in_doubt
    assert [ticket.outcome() for ticket in _send(channel, "after")] == [None]
    assert (log.losses, log.channels) == ([], [])


def test_an_error_of_rabbitmq_leaves_several_frames_in_doubt(start: Start, connect: Connect) -> None:
    log = LinkLog()

    def answer_none_before(line: Line, frame: Frame) -> None:
        if frame.command != "SEND" or b"bad" in frame.body:
            _refuse_like_rabbitmq(line, frame)

    channel = connect(start(answer_none_before, RABBITMQ), log).channel(False)
    errors = [ticket.outcome() for ticket in _send(channel, "first", "bad")]
    assert [error is not None and error.in_doubt for error in errors] == [True, True]
    eventually(lambda: log.channels)
    assert log.losses == []


def test_a_virtual_host_is_tried_once(start: Start, connect: Connect) -> None:
    """The URL's host is none of RabbitMQ's, so its usual one is tried; a second refusal is reported."""
    hosts: list[str] = []

    def refuse(line: Line, frame: Frame) -> None:
        hosts.append(frame.headers["host"])
        line.write("ERROR", {"message": "Bad CONNECT"}, b"Virtual host 'x' access denied")
        line.cut()

    with pytest.raises(AuthenticationFailed, match="virtual_host"):
        connect(start(refuse, RABBITMQ))
    assert hosts == ["127.0.0.1", "/"]


def test_a_broker_that_reads_no_messages_still_gets_acknowledgements(start: Start, connect: Connect) -> None:
    """What it does not take waits in the channel, which still closes in time."""

    def stop_reading(line: Line, frame: Frame) -> None:
        if frame.command == "SEND":
            line.reading.clear()
        else:
            _has_messages(line, frame)

    peer = start(stop_reading)
    log = LinkLog()
    link = connect(peer, log, close_timeout=1.0)
    sender, receiver = link.channel(False), link.channel(False)
    for _ in range(1500):
        sender.send(envelope(QUEUE, "x" * 20_000), Answer())
    subscription, box = subscribe(receiver, QUEUE, 2)
    box.wait(2)
    settle(subscription, box.tokens, Outcome.ACCEPTED)
    assert log.losses == []
    began = time.monotonic()
    link.close()
    assert time.monotonic() - began < 8


def test_a_broker_that_never_answers_connect(start: Start, connect: Connect) -> None:
    peer = start(lambda line, frame: None)
    began = time.monotonic()
    with pytest.raises(ConnectFailed):
        connect(peer, connect_timeout=1.0)
    assert time.monotonic() - began < 4


@pytest.mark.parametrize("server", [ARTEMIS, CLASSIC])
def test_a_broker_that_answers_connect_and_nothing_else(start: Start, connect: Connect, server: str) -> None:
    """It is given up after the silence that the option ``heartbeat`` allows, and what was sent is in doubt."""

    def only_connected(line: Line, frame: Frame) -> None:
        if frame.command == "CONNECT":
            answer(line, frame)

    log, peer = LinkLog(), start(only_connected, server)
    if server == CLASSIC:  # which is asked for its scheduler before the link is open
        with pytest.raises(ConnectFailed, match="heartbeat"):
            connect(peer, log, heartbeat=4)
        return
    link = connect(peer, log, heartbeat=4)
    (ticket,) = _send(link.channel(False), "text")
    error = ticket.outcome(12)
    assert error is not None
    eventually(lambda: log.losses, 12)
    assert "heartbeat" in str(log.losses[0])


def test_heart_beats_in_any_grouping_keep_the_link(start: Start, connect: Connect) -> None:
    """Several in one read as well; and the peer gets some, while nothing else is written."""
    log = LinkLog()
    peer = start()
    link = connect(peer, log, heartbeat=2)
    never = threading.Event()
    for _ in range(7):
        peer.lines[0].raw(b"\n\n\n")
        never.wait(0.7)
    assert log.losses == []
    assert peer.lines[0].beats >= 3
    send(link.channel(False), envelope(QUEUE, "text"))


def test_bytes_that_are_no_frames_end_the_link_with_a_reason(start: Start, connect: Connect) -> None:
    log = LinkLog()
    peer = start()
    connect(peer, log)
    peer.lines[0].raw(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    eventually(lambda: log.losses)
    assert "not STOMP" in str(log.losses[0])


@pytest.mark.parametrize("foreign", ["ID:jb-1f:1", "ID:0b5c-4d1e", "ID:x:1:2:y", "ID:1:2"])
def test_what_classic_cannot_take_an_acknowledgement_of_is_left(start: Start, connect: Connect, foreign: str) -> None:
    """It ends the connection at the acknowledgement of a message of AMQP with such an id."""

    def has_messages(line: Line, frame: Frame) -> None:
        answer(line, frame)
        if frame.command == "SUBSCRIBE" and frame.headers["destination"].endswith("queue"):
            for name in (foreign, "ID:vm-34177-1795886870470-5:5:-1:1:2"):
                line.write("MESSAGE", {"subscription": frame.headers["id"], "message-id": name, "ack": name})

    peer = start(has_messages, CLASSIC)
    subscription, box = subscribe(connect(peer).channel(False), QUEUE, 2)
    settle(subscription, [arrival.token for arrival in box.wait(1)], Outcome.ACCEPTED)
    subscription.close()
    acks = [frame.headers["id"] for frame in peer.lines[0].frames if frame.command == "ACK"]
    assert acks == ["ID:vm-34177-1795886870470-5:5:-1:1:2"]


@pytest.mark.parametrize("server", [ARTEMIS, CLASSIC])
def test_no_nack_is_ever_written(start: Start, connect: Connect, server: str) -> None:
    """Artemis drops the message then, and Classic moves it to the dead-letter queue at once."""
    peer = start(_has_messages, server)
    link = connect(peer)
    subscription, box = subscribe(link.channel(False), QUEUE, 2)
    box.wait(2)
    settle(subscription, box.tokens[:1], Outcome.FAILED)
    settle(subscription, box.tokens[1:], Outcome.RELEASED)
    subscription.close()
    commands = {frame.command for frame in peer.frames()}
    assert "UNSUBSCRIBE" in commands
    assert not commands & {"NACK", "ACK"}


def test_a_broker_that_pauses_while_a_link_opens_is_asked_for_its_scheduler_all_the_same(
    start: Start, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The moment for messages that may never come begins when the broker answers."""
    monkeypatch.setattr(scheduling, "_PATIENCE", 0.3)

    def pause(line: Line, frame: Frame) -> None:
        receipt, topic = frame.headers.get("receipt", ""), frame.headers.get("destination", "")
        if frame.command == "SUBSCRIBE" and "Scheduler" in topic:
            time.sleep(0.6)  # sleep: longer than the client is patient
        if not receipt:
            answer(line, frame)
            return
        line.write("RECEIPT", {"receipt-id": receipt})
        if frame.command == "SEND" and "jb-marker" in topic:
            line.write("MESSAGE", {"subscription": "jb-marker", "message-id": "1"}, frame.body)

    assert Native.DELAY in connect(start(pause, CLASSIC)).native


def test_no_socket_is_left_for_another_consumer(
    start: Start, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The link and what has a socket go on; the consumer, the send and the request that have none are refused."""
    log = LinkLog()
    link = connect(start(), log)
    channel, idle, answers = link.channel(False), link.channel(False), Answer()
    send(channel, envelope(QUEUE))

    def none_left(*_: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    with monkeypatch.context() as patched:
        patched.setattr(socket, "socket", none_left)
        subscribe(idle, QUEUE, 1)
        eventually(lambda: len(log.subscriptions) == 1)
        with pytest.raises(ConnectFailed, match=r"no socket: Too many open files; close .* \(ulimit -n\)"):
            subscribe(idle, Address("topic", topic=True), 1)
        idle.send(envelope(QUEUE), answers)
        assert "Too many open files" in str(answers.outcome())
        with pytest.raises(ConnectFailed, match="Too many open files"):
            link.depth(QUEUE)
    send(channel, envelope(QUEUE))
    assert log.losses == []


@pytest.mark.parametrize(("password", "asked"), [("a\\c", ["a:", "a\\c"]), ("a:c", ["a:c"])])
def test_a_password_that_the_broker_takes_for_escapes(
    start: Start, connect: Connect, password: str, asked: list[str]
) -> None:
    """ActiveMQ Classic reads escapes in CONNECT: after a refusal, backslashes are doubled, once."""

    def reads_escapes(line: Line, frame: Frame) -> None:
        if frame.command == "CONNECT" and frame.headers["passcode"] != asked[-1]:
            line.write("ERROR", {"message": "User name [u] or password is invalid."})
            line.cut()
        else:
            answer(line, frame)

    peer = start(reads_escapes, CLASSIC)
    link = connect(peer, user="u", password=password)
    send(link.channel(False), envelope(QUEUE))  # over another socket
    tried = [frame.headers["passcode"] for frame in peer.frames() if frame.command == "CONNECT"]
    assert tried == [*asked, asked[-1]]
    with pytest.raises(AuthenticationFailed, match="check user and password"):
        connect(peer, user="u", password=f"{password}x")

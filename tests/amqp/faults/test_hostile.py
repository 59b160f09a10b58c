"""Frames, messages and silences of a server that keeps to nothing: no hang, no crash, no memory without bound."""

import os
import random
import time
from collections.abc import Callable

import pytest

from jmsbridge.spi import LinkLost, Outcome
from jmsbridge.testing.suite.contract.support import Answer, envelope, send, settle, subscribe
from tests.amqp.faults.support import QUEUE, Opened, sent_async
from tests.amqp.peer import frames
from tests.amqp.peer.messages import text
from tests.amqp.peer.script import Condition

Open = Callable[..., Opened]

HOSTILE = {
    "nothing": b"",
    "one zero": b"\0",
    "no section": b"\x40",
    "not described": b"\xa1\x03abc",
    "descriptor alone": b"\x00\x53\x77",
    "unknown section": b"\x00\x53\x99\x40",
    "symbolic section": b"\x00\xa3\x15amqp:amqp-value:*\x40",
    "text cut short": b"\x00\x53\x77\xa1\x10abc",
    "huge text": b"\x00\x53\x77\xb1\xff\xff\xff\xffabc",
    "huge list": b"\x00\x53\x77\xd0\xff\xff\xff\xff\xff\xff\xff\xff",
    "many nothings": b"\x00\x53\x77\xf0\x00\x00\x00\x05\xff\xff\xff\xff\x40",
    "many empty lists": b"\x00\x53\x77\xf0\x00\x00\x00\x05\x7f\xff\xff\xff\x45",
    "count beyond size": b"\x00\x53\x77\xc0\x02\xff\x40",
    "map of one": b"\x00\x53\x77\xc1\x02\x01\x40",
    "map with a list as key": b"\x00\x53\x77\xc1\x03\x02\x45\x40",
    "deep lists": b"\x00\x53\x77" + b"\xd0\xff\xff\xff\xff\x00\x00\x00\x01" * 5000,
    "deep descriptors": b"\x00\x53\x77" + b"\x00\x53\x01" * 50000,
    "not UTF-8": b"\x00\x53\x77\xa1\x02\xff\xfe",
    "surrogates of CESU-8": b"\x00\x53\x77\xa1\x06\xed\xa0\xbd\xed\xb8\x80",
    "half a surrogate": b"\x00\x53\x77\xa1\x03\xed\xa0\xbd",
    "no character": b"\x00\x53\x77\x73\xff\xff\xff\xff",
    "header of text": b"\x00\x53\x70\xa1\x01a\x00\x53\x77\xa1\x01b",
    "priority of text": b"\x00\x53\x70\xc0\x05\x02\x40\xa1\x01a\x00\x53\x77\xa1\x01b",
    "properties of numbers": b"\x00\x53\x73\xc0\x09\x08\x43\x43\x43\x43\x43\x43\x43\x43\x00\x53\x77\xa1\x01b",
    "a time that is text": b"\x00\x53\x73\xc0\x0e\x0a" + b"\x40" * 9 + b"\xa1\x01x\x00\x53\x77\xa1\x01b",
    "annotations as list": b"\x00\x53\x72\x45\x00\x53\x77\xa1\x01b",
    "application properties as text": b"\x00\x53\x74\xa1\x01b\x00\x53\x77\xa1\x01b",
    "ids that are lists": b"\x00\x53\x73\xc0\x03\x01\x45\x00\x53\x77\xa1\x01b",
    "two values": b"\x00\x53\x77\xa1\x01a\x00\x53\x77\xa1\x01b",
    "data then value": b"\x00\x53\x75\xa0\x01a\x00\x53\x77\xa1\x01b",
    "sections in disorder": b"\x00\x53\x77\xa1\x01b\x00\x53\x70\x45",
    "kind unknown": b"\x00\x53\x72\xc1\x19\x02\xa3\x12x-opt-jms-msg-type\x51\x63\x00\x53\x77\xa1\x01b",
    "trailing bytes": b"\x00\x53\x77\xa1\x01b\xde\xad\xbe\xef",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_message_takes_nothing_else_with_it(opened: Opened, name: str) -> None:
    subscription, box = subscribe(opened.link.channel(False), QUEUE, 10)
    opened.peer.put("q", text("before"), HOSTILE[name], text("after"))
    box.wait(3)
    assert [box.bodies[0], box.bodies[2]] == ["before", "after"]
    settle(subscription, box.tokens, Outcome.ACCEPTED)
    assert len(opened.records.wait_settled(3)) == 3
    assert opened.events.losses == []


def test_messages_of_random_bytes(opened: Opened) -> None:
    chance = random.Random(20)
    whole = text("x" * 50, id="ID:1", properties={"a": 1, "b": "two", "c": 3.0}, correlation_id="c", reply_to="r")
    count = 400
    subscription, box = subscribe(opened.link.channel(False), QUEUE, count + 1)

    def hostile() -> bytes:
        if chance.random() < 0.2:
            return chance.randbytes(chance.randrange(80))
        data = bytearray(whole)
        for _ in range(chance.randrange(1, 4)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        return bytes(data[: chance.randrange(1, len(data) + 1)] if chance.random() < 0.3 else data)

    opened.peer.put("q", *(hostile() for _ in range(count)), text("last"))
    expired = 0

    def arrived() -> bool:
        nonlocal expired
        expired = len(opened.records.settled)  # an expiry in the past: accepted and dropped
        return len(box.arrivals) + expired >= count + 1

    opened.records.wait(lambda: len(box.arrivals) >= count + 1 - len(opened.records.settled), "all arrive")
    assert arrived()
    assert box.bodies[-1] == "last"
    settle(subscription, box.tokens, Outcome.ACCEPTED)
    assert opened.events.losses == []


FRAMES = {
    "random bytes": os.urandom(64),
    "a header again": frames.AMQP_1_0,
    "length below eight": b"\x00\x00\x00\x04\x02\x00\x00\x00",
    "length of four gigabytes": b"\xff\xff\xff\xff\x02\x00\x00\x00",
    "length above the maximum": b"\x00\x20\x00\x00\x02\x00\x00\x00" + b"\0" * 100,
    "data offset beyond the frame": b"\x00\x00\x00\x08\xff\x00\x00\x00",
    "unknown performative": frames.frame(frames.described(0x7F)),
    "no performative": frames.frame(b"\x40"),
    "begin on an unknown channel": frames.frame(frames.described(frames.BEGIN, 99), 77),
    "transfer without a link": frames.frame(frames.described(frames.TRANSFER, 999), 0),
    "transfer on an unknown channel": frames.frame(frames.described(frames.TRANSFER, 0), 321),
    "open again": frames.frame(frames.described(0x10, "again")),
    "a list of lists": frames.frame(b"\x00\x53\x14\xd0\x00\x00\x00\x08\xff\xff\xff\xff\x45\x45\x45\x45"),
}


@pytest.mark.parametrize("name", FRAMES)
def test_a_hostile_frame_ends_the_link_at_most(opened: Opened, name: str) -> None:
    channel = opened.link.channel(False)
    subscribe(channel, QUEUE, 5)
    opened.script.outcome = lambda sent: "omit"
    answers = sent_async(channel, "1")
    opened.records.wait_sent(1)
    opened.peer.do(lambda: opened.peer.connection.raw(FRAMES[name]))
    opened.peer.do(opened.peer.connection.cut)
    opened.events.wait(lambda log: log.losses)
    doubt = answers[0].outcome()
    assert isinstance(doubt, LinkLost)
    assert doubt.in_doubt
    with pytest.raises(LinkLost):
        opened.link.channel(False)


@pytest.mark.parametrize(
    "fields",
    [
        (True, 500, 600, True),
        (True, 0, 4294967295, True),
        (True, 5, 1, True),
        (False, 0, 100, True),
        (True, 0),
    ],
    ids=str,
)
def test_dispositions_of_what_was_never_sent(opened: Opened, fields: tuple[object, ...]) -> None:
    import proton

    channel = opened.link.channel(False)
    opened.script.outcome = lambda sent: "omit"
    (answer,) = sent_async(channel, "1")
    (sent,) = opened.records.wait_sent(1)
    typed = [proton.uint(each) if type(each) is int else each for each in fields]
    opened.peer.do(lambda: opened.peer.connection.raw(frames.frame(frames.described(frames.DISPOSITION, *typed), 0)))
    if answer.is_answered(0.3):
        outcome = answer.outcome()
        assert outcome is not None  # nothing was accepted
        assert outcome.in_doubt
    else:
        from tests.amqp.peer.script import accept

        sent.answer(accept)
        answer.outcome()


def test_a_server_that_goes_silent_is_given_up(open_link: Open) -> None:
    opened = open_link(heartbeat=2)
    (answer,) = sent_async(opened.link.channel(False), "1")
    answer.wait()

    def silence() -> None:
        opened.peer.connection.silent = True

    opened.peer.do(silence)
    began = time.monotonic()
    opened.events.wait(lambda log: log.losses)
    assert time.monotonic() - began < 15
    assert "silent" in str(opened.events.losses[0])


def test_a_silent_server_does_not_hold_a_close(open_link: Open) -> None:
    opened = open_link(close_timeout=0.5)
    channel = opened.link.channel(False)
    subscribe(channel, QUEUE, 5)

    def silence() -> None:
        opened.peer.connection.silent = True

    opened.peer.do(silence)
    began = time.monotonic()
    opened.link.close()
    assert time.monotonic() - began < 10


def test_heart_beats_do_not_depend_on_the_application(open_link: Open) -> None:
    opened = open_link({"idle_timeout": 1.0, "enforces_idle": True})
    channel = opened.link.channel(False)
    assert not opened.records.of("transport closed")
    time.sleep(2.5)  # sleep: what is tested is that nothing happens
    send(channel, envelope(QUEUE))
    assert opened.events.losses == []


def test_a_server_that_closes_for_idleness_is_named(opened: Opened) -> None:
    why = Condition("amqp:resource-limit-exceeded", "local-idle-timeout expired")
    opened.peer.do(lambda: opened.peer.connection.close(why))
    opened.events.wait(lambda log: log.losses)
    assert "heartbeat" in str(opened.events.losses[0])


@pytest.mark.parametrize(
    "name", ["amqp:connection:forced", "amqp:internal-error", "amqp:connection:framing-error", "x"]
)
def test_a_closed_connection_answers_everything(opened: Opened, name: str) -> None:
    opened.script.outcome = lambda sent: "omit"
    opened.script.drains = False
    channel = opened.link.channel(False)
    answers = sent_async(channel, *map(str, range(5)))
    subscription, _ = subscribe(channel, QUEUE, 5)
    drained = Answer()
    subscription.drain(drained)
    opened.records.wait_sent(5)
    opened.peer.do(lambda: opened.peer.connection.close(Condition(name, "as it likes")))
    for answer in (*answers, drained):
        assert isinstance(answer.outcome(), LinkLost)
    opened.events.wait(lambda log: log.losses)
    assert "as it likes" in str(opened.events.losses[0])
    assert len(opened.events.losses) == 1
    assert opened.events.channels == []


def test_every_cut_of_the_answer_to_an_open(open_link: Open) -> None:
    """The server dies after each of the first bytes it sends: connecting fails, and never hangs."""
    import socket
    import threading

    from jmsbridge.spi import ConnectFailed, Endpoint
    from jmsbridge_amqp.backend import backend
    from tests.amqp.faults.support import Events

    greeting = frames.SASL + frames.sasl(0x40, None)
    for cut in range(0, len(greeting) + 1, 3):
        with socket.create_server(("127.0.0.1", 0)) as server:

            def answer(server: socket.socket = server, cut: int = cut) -> None:
                link, _ = server.accept()
                with link:
                    link.sendall(greeting[:cut])

            thread = threading.Thread(target=answer)
            thread.start()
            endpoint = Endpoint(scheme="amqp", host="127.0.0.1", port=server.getsockname()[1], connect_timeout=5.0)
            with pytest.raises(ConnectFailed):
                backend.open(endpoint, backend.options(), Events())
            thread.join(5)

"""Topics that move or are deleted: what a broker closes is opened again, and a queue stays one."""

import time
from collections.abc import Callable

import pytest

from jmsbridge.spi import Address, BackendError
from jmsbridge.testing.harness import LinkLog
from jmsbridge.testing.suite.contract.support import Answer, envelope, fetch, send, subscribe
from jmsbridge.testing.suite.support import eventually
from jmsbridge_pulsar.link import Link
from jmsbridge_pulsar.receiving import opening
from tests.pulsar.server.answering import answer
from tests.pulsar.server.server import Line, Server
from tests.pulsar.server.topics import Entry
from tests.pulsar.server.wire import Command, Kind, frame

Connect = Callable[..., Link]

QUEUE, TOPIC = Address("q"), Address("t", True)
FULL = "persistent://public/default/q"


def _closed_first(kind: int, closing: int, times: int) -> Callable[[Line, Command], None]:
    """For so many requests of this kind: says that it is closed, and then that it is open."""
    left = times

    def heard(line: Line, heard: Command) -> None:
        nonlocal left
        if heard.kind != kind or not left:
            answer(line, heard)
            return
        left -= 1
        number = heard.fields.number(4 if kind == Kind.SUBSCRIBE else 2)
        line.write(closing, f1=number, f2=0)
        answer(line, heard)
        if kind == Kind.SUBSCRIBE:
            line.consumers.pop(number).leave()
        else:
            del line.producers[number]

    return heard


@pytest.mark.parametrize("times", [1, 2])
def test_a_producer_that_is_closed_before_it_is_open(server: Server, connect: Connect, times: int) -> None:
    """The library would take it for open, and no message would ever have an outcome."""
    log = LinkLog()
    link = connect(server, log)
    server.heard = _closed_first(Kind.PRODUCER, Kind.CLOSE_PRODUCER, times)
    ticket = Answer()
    link.channel(False).send(envelope(QUEUE, "one"), ticket)
    assert ticket.outcome(20) is None
    assert len(server.topic(FULL).entries) == 1
    assert log.losses == []


@pytest.mark.parametrize("times", [1, 2])
def test_a_consumer_that_is_closed_before_it_is_open(server: Server, connect: Connect, times: int) -> None:
    """The library would take it for open, and nothing would ever arrive."""
    log = LinkLog()
    link = connect(server, log)
    send(link.channel(False), envelope(QUEUE, "one"))
    server.heard = _closed_first(Kind.SUBSCRIBE, Kind.CLOSE_CONSUMER, times)
    _, box = subscribe(link.channel(False), QUEUE, 10)
    box.wait(1)
    assert (log.losses, log.subscriptions) == ([], [])


def _not_ready(code: int, times: int) -> Callable[[Line, Command], None]:
    left = times

    def heard(line: Line, heard: Command) -> None:
        nonlocal left
        if heard.kind == Kind.SUBSCRIBE and left:
            left -= 1
            line.write(Kind.ERROR, f1=heard.fields.number(5), f2=code, f3="not now")
        else:
            answer(line, heard)

    return heard


@pytest.mark.parametrize("address", [QUEUE, TOPIC, "durable"])
@pytest.mark.parametrize("code", [2, 6])
def test_a_topic_that_is_not_ready_for_a_consumer(
    server: Server, connect: Connect, address: Address | str, code: int
) -> None:
    """The library would not try again, and say so after 30 seconds."""
    log = LinkLog()
    link = connect(server, log)
    server.heard = _not_ready(code, 3)
    if isinstance(address, str):
        _, box = subscribe(link.channel(False), TOPIC, 10, key=address, durable=True)
    else:
        _, box = subscribe(link.channel(False), address, 10)
    eventually(lambda: server.heard_of(Kind.FLOW))
    send(link.channel(False), envelope(address if isinstance(address, Address) else TOPIC, "one"))
    box.wait(1)
    assert (log.losses, log.subscriptions) == ([], [])


def _not_ready_for_two() -> Callable[[Line, Command], None]:
    """Answers to two consumers at once that the topic is not ready, after one that makes the queue was let in."""
    kept: list[bytes] = []
    heard_of = 0

    def heard(line: Line, heard: Command) -> None:
        nonlocal heard_of
        heard_of += heard.kind == Kind.SUBSCRIBE
        if heard.kind != Kind.SUBSCRIBE or not 2 <= heard_of <= 3:
            answer(line, heard)
            return
        kept.append(frame(Kind.ERROR, f1=heard.fields.number(5), f2=6, f3="not now"))
        if len(kept) == 2:
            line.raw(b"".join(kept))

    return heard


def test_a_topic_that_is_not_ready_for_two_consumers_at_once(server: Server, connect: Connect) -> None:
    """Each knows its own refusal: one of them took it for a final one, and never got a message."""
    log = LinkLog()
    link = connect(server, log)
    server.heard = _not_ready_for_two()
    boxes = [subscribe(link.channel(False), QUEUE, 1)[1] for _ in range(2)]
    eventually(lambda: len(server.heard_of(Kind.FLOW)) >= 2)
    for text in ("one", "two"):
        send(link.channel(False), envelope(QUEUE, text))
    for box in boxes:
        box.wait(1)
    assert (log.losses, log.subscriptions) == ([], [])


@pytest.mark.parametrize("code", [0, 1, 6, 10, 12, 13, 17, 20, 21, 23, 24, 25, 99])
def test_a_consumer_that_is_refused_is_told_at_once(
    server: Server, connect: Connect, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "_PATIENCE", 0.0)
    link = connect(server)
    server.heard = _not_ready(code, 100)
    began = time.monotonic()
    with pytest.raises(BackendError, match="not now") as caught:
        subscribe(link.channel(False), TOPIC, 10)
    assert time.monotonic() - began < 10
    assert "NotAllowed" not in str(caught.value)
    server.heard = answer
    subscribe(link.channel(False), TOPIC, 10)


def _delete(server: Server) -> None:
    with server.lock:
        server.topic(FULL).subscriptions.clear()
        server.close_producers()


def test_a_queue_that_was_deleted_is_made_again(server: Server, connect: Connect) -> None:
    """Before the next message: without its subscription the broker would keep it for nobody."""
    channel = connect(server).channel(False)
    send(channel, envelope(QUEUE, "one"))
    _delete(server)
    closed = server.topic(FULL)
    eventually(lambda: len(server.heard_of(Kind.PRODUCER)) == 2)
    assert closed.subscriptions == {}
    for text in ("two", "three"):
        send(channel, envelope(QUEUE, text))
    assert list(closed.subscriptions) == ["jms-queue"]
    assert fetch(connect(server), QUEUE, 3) == ["one", "two", "three"]


def test_a_topic_stays_a_topic(server: Server, connect: Connect) -> None:
    channel = connect(server).channel(False)
    send(channel, envelope(TOPIC, "one"))
    server.close_producers()
    eventually(lambda: len(server.heard_of(Kind.PRODUCER)) == 2)
    send(channel, envelope(TOPIC, "two"))
    assert server.topic("persistent://public/default/t").subscriptions == {}


def test_a_queue_that_cannot_be_made_again(server: Server, connect: Connect) -> None:
    """The messages were not sent; those after them try once more."""
    channel = connect(server).channel(False)
    send(channel, envelope(QUEUE, "one"))
    _delete(server)
    eventually(lambda: len(server.heard_of(Kind.PRODUCER)) == 2)

    def refuse(line: Line, heard: Command) -> None:
        if heard.kind == Kind.SUBSCRIBE:
            line.write(Kind.ERROR, f1=heard.fields.number(5), f2=4, f3="not permitted")
        else:
            answer(line, heard)

    server.heard = refuse
    ticket = Answer()
    channel.send(envelope(QUEUE, "two"), ticket)
    error = ticket.outcome(20)
    assert isinstance(error, BackendError)
    assert not error.in_doubt
    assert len(server.topic(FULL).entries) == 1


def _store_first(line: Line, heard: Command) -> None:
    """A broker where a message is published to a topic between its end there and each new begin of a consumer."""
    if heard.kind == Kind.SUBSCRIBE:
        topic = line.server.topic(heard.fields.text(1))
        topic.entries.append(Entry(len(topic.entries), line.server.topic(f"{PLAIN}-sent").entries[0].payload, 1))
    answer(line, heard)


PLAIN = "persistent://public/default/t"


@pytest.mark.parametrize("partitions", [0, 3])
@pytest.mark.parametrize("key", [None, "shared"])
def test_nothing_has_come_to_a_consumer_before_its_topic_moves(
    server: Server, connect: Connect, partitions: int, key: str | None
) -> None:
    """What is published meanwhile is not lost: the library would begin at the end once more."""
    server.partitions[PLAIN] = partitions
    link = connect(server)
    send(link.channel(False), envelope(Address("t-sent", True), "one"))
    _, box = subscribe(link.channel(False), TOPIC, 10, key=key, shared=key is not None)
    server.heard = _store_first
    subscribed = len(server.heard_of(Kind.SUBSCRIBE))
    server.close_consumers()
    box.wait(max(1, partitions))
    box.wait_quiet()
    assert len(box.tokens) == max(1, partitions) == len(server.heard_of(Kind.SUBSCRIBE)) - subscribed


@pytest.mark.parametrize("key", [None, "shared"])
@pytest.mark.parametrize("answers", ["late", "error"])
def test_a_broker_that_does_not_say_what_is_last(
    server: Server, connect: Connect, key: str | None, answers: str
) -> None:
    """As while it recovers transactions: the consumer gets what comes."""

    def heard(line: Line, heard: Command) -> None:
        if heard.kind != Kind.LAST_ID:
            answer(line, heard)
        elif answers == "error":
            line.write(Kind.ERROR, f1=heard.fields.number(2), f2=0, f3="not now")

    link = connect(server)
    server.heard = heard
    channel = link.channel(False)
    _, box = subscribe(channel, TOPIC, 10, key=key, shared=key is not None)
    send(channel, envelope(TOPIC, "one"))
    box.wait(1)
    server.close_consumers()
    send(channel, envelope(TOPIC, "two"))
    box.wait(2)

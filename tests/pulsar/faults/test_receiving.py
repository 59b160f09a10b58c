"""What a broker may do to a consumer: nothing is shown twice unmarked, nothing is lost, and an end has a reason."""

import random
import threading
import time
from collections.abc import Callable

import _pulsar
import pytest

from jmsbridge.spi import (
    AccessDenied,
    Address,
    AddressRefused,
    BackendError,
    Outcome,
    Subscription,
    SubscriptionRefused,
)
from jmsbridge.testing.harness import LinkLog
from jmsbridge.testing.suite.contract.support import Box, drain, envelope, send, settle, subscribe
from jmsbridge.testing.suite.support import eventually
from jmsbridge.transport.network.io_thread import IoThread
from jmsbridge_pulsar.connection import attachments
from jmsbridge_pulsar.link import Link
from jmsbridge_pulsar.receiving import flow
from jmsbridge_pulsar.receiving.takers import ConsumerTaker
from tests.pulsar.server.answering import answer
from tests.pulsar.server.server import Line, Server
from tests.pulsar.server.topics import Entry
from tests.pulsar.server.wire import Command, Kind

Connect = Callable[..., Link]

QUEUE, TOPIC = Address("q"), Address("t", True)
FULL = "persistent://public/default/q"


def _fill(link: Link, count: int) -> None:
    channel = link.channel(False)
    for number in range(count):
        send(channel, envelope(QUEUE, str(number)))


def _acknowledged(server: Server) -> int:
    return len(server.topic(FULL).subscriptions["jms-queue"].acknowledged)


def test_many_idle_consumers_leave_time_for_others(
    server: Server, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """400 of them took a whole core, and each send a quarter of a second."""
    taken: list[float] = []
    take = ConsumerTaker.take

    def counted(self: ConsumerTaker, seconds: float) -> object:
        taken.append(seconds)
        return take(self, seconds)

    monkeypatch.setattr(ConsumerTaker, "take", counted)
    channel = connect(server).channel(False)
    for number in range(150):
        subscribe(channel, Address(f"q{number}"), 1)
    taken.clear()
    time.sleep(1)  # sleep: the consumers wait for messages in this time
    assert 0 < len(taken) < 3500
    assert min(taken) > 0.05


def test_a_topic_that_moves_shows_nothing_twice(server: Server, connect: Connect) -> None:
    log = LinkLog()
    link = connect(server, log)
    _fill(link, 5)
    subscription, box = subscribe(link.channel(False), QUEUE, 10)
    box.wait(5)
    settle(subscription, box.tokens[:1], Outcome.ACCEPTED)
    eventually(lambda: _acknowledged(server) == 1)
    subscribed = len(server.heard_of(Kind.SUBSCRIBE))
    server.close_consumers()
    eventually(lambda: len(server.heard_of(Kind.SUBSCRIBE)) > subscribed)
    _fill(link, 1)
    box.wait(6)
    box.wait_quiet()
    assert box.bodies == ["0", "1", "2", "3", "4", "0"]
    settle(subscription, box.tokens[1:], Outcome.ACCEPTED)
    eventually(lambda: _acknowledged(server) == 6)
    assert (log.losses, log.subscriptions) == ([], [])


def test_an_acknowledgement_that_was_lost_is_repeated(server: Server, connect: Connect) -> None:
    """The message comes again on the next link, and is not shown."""
    link = connect(server)
    _fill(link, 2)
    subscription, box = subscribe(link.channel(False), QUEUE, 1)
    box.wait(1)

    def deaf(line: Line, heard: Command) -> None:
        if heard.kind != Kind.ACK:
            answer(line, heard)

    server.heard = deaf
    settle(subscription, box.tokens, Outcome.ACCEPTED)
    for line in list(server.lines):
        line.cut()
    eventually(lambda: not server.topic(FULL).subscriptions["jms-queue"].consumers)
    assert _acknowledged(server) == 0
    server.heard = answer
    other = connect(server)
    again, shown = subscribe(other.channel(False), QUEUE, 10)
    shown.wait(1)
    shown.wait_quiet()
    assert shown.bodies == ["1"]
    settle(again, shown.tokens, Outcome.ACCEPTED)
    eventually(lambda: _acknowledged(server) == 2)


def _acknowledgements(server: Server) -> list[tuple[int, int]]:
    """Of each, the entry, and whether it is for a part of that only."""
    places = [place for heard in server.heard_of(Kind.ACK) for place in heard.fields.all(3)]
    return [(place.number(2), place.number(5) != 0) for place in places]


def _last_of_50(server: Server, link: Link) -> tuple[Subscription, Box, Entry]:
    """A consumer that has got 50 messages, and the last entry of several of them."""
    send(link.channel(False), *(envelope(QUEUE, str(number)) for number in range(50)))
    subscription, box = subscribe(link.channel(False), QUEUE, 100)
    box.wait(50)
    last = server.topic(FULL).entries[-1]
    assert last.messages > 2
    return subscription, box, last


@pytest.mark.parametrize("address", [QUEUE, TOPIC])
def test_an_entry_is_acknowledged_as_a_whole(server: Server, connect: Connect, address: Address) -> None:
    link = connect(server)
    subscription, box = subscribe(link.channel(False), address, 100, key="k" if address.topic else None)
    send(link.channel(False), *(envelope(address, str(number)) for number in range(50)))
    box.wait(50)
    (topic,) = server.topics.values()
    assert len(topic.entries) < 50
    for token in reversed(box.tokens):
        settle(subscription, [token], Outcome.ACCEPTED)
    eventually(lambda: len(_acknowledgements(server)) >= len(topic.entries))
    whole = sorted(_acknowledgements(server))
    assert whole == [(number, False) for number in range(len(topic.entries))]


def test_a_part_of_an_entry_is_acknowledged_by_itself(server: Server, connect: Connect) -> None:
    """By the library, to a broker that keeps such parts, although the rest is still unsettled."""
    subscription, box, last = _last_of_50(server, connect(server))
    settle(subscription, box.tokens[-2:-1], Outcome.ACCEPTED)
    eventually(lambda: (last.number, True) in _acknowledgements(server))
    settle(subscription, [*box.tokens[:-2], box.tokens[-1]], Outcome.ACCEPTED)
    eventually(lambda: (last.number, False) in _acknowledgements(server))


def test_a_returned_message_does_not_bring_back_the_acknowledged_ones_of_its_entry(
    server: Server, connect: Connect
) -> None:
    """They are acknowledged before it is asked for again, also those that are acknowledged after it has returned."""
    subscription, box, last = _last_of_50(server, connect(server))
    settle(subscription, box.tokens[:-2], Outcome.ACCEPTED)
    settle(subscription, box.tokens[-1:], Outcome.REQUEUED)
    settle(subscription, box.tokens[-2:-1], Outcome.ACCEPTED)
    eventually(lambda: server.heard_of(Kind.REDELIVER))
    (line,) = (line for line in server.lines if line.heard(Kind.REDELIVER))
    kinds = [heard.kind for heard in line.commands]
    before = line.commands[: kinds.index(Kind.REDELIVER)]
    places = [place for heard in before if heard.kind == Kind.ACK for place in heard.fields.all(3)]
    (open_at_last, *_) = [place.number(5) for place in places if place.number(2) == last.number][::-1]
    assert open_at_last == 1 << last.messages - 1


def test_an_interrupt_keeps_no_acknowledgement_back(
    server: Server, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither of whole entries nor of a part."""
    subscription, box, last = _last_of_50(server, connect(server))
    post = IoThread.post

    def interrupted(self: IoThread, task: Callable[[], None]) -> None:
        if threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt
        post(self, task)

    with monkeypatch.context() as patched:
        patched.setattr(IoThread, "post", interrupted)
        with pytest.raises(KeyboardInterrupt):
            settle(subscription, box.tokens[:-1], Outcome.ACCEPTED)
    settle(subscription, box.tokens[:-1], Outcome.ACCEPTED)
    expected = {(number, number == last.number) for number in range(last.number + 1)}
    eventually(lambda: expected <= set(_acknowledgements(server)))


def test_what_a_closed_consumer_has_acknowledged_of_an_entry(server: Server, connect: Connect) -> None:
    subscription, box, last = _last_of_50(server, connect(server))
    settle(subscription, box.tokens[:-1], Outcome.ACCEPTED)
    subscription.close()
    assert (last.number, True) in _acknowledgements(server)


def test_a_large_compressed_message_beside_another_broker(serve: Callable[..., Server], connect: Connect) -> None:
    """The library drops and acknowledges what is above its limit, which is that of the last broker."""
    server, other = serve(), serve()
    other.largest = 10_000
    link = connect(server)
    _fill(link, 1)
    settings = _pulsar.ProducerConfiguration()
    settings.compression_type(_pulsar.CompressionType.ZLib)
    client = _pulsar.Client(server.address, _pulsar.ClientConfiguration())
    builder = _pulsar.MessageBuilder()
    builder.content(random.Random(17).randbytes(100_000))
    client.create_producer(FULL, settings).send(builder.build())
    client.close()
    connect(other)
    _, box = subscribe(link.channel(False), QUEUE, 10)
    box.wait(2)


def test_what_was_not_acknowledged_comes_again(server: Server, connect: Connect) -> None:
    log = LinkLog()
    link = connect(server, log)
    _fill(link, 3)
    _, box = subscribe(link.channel(False), QUEUE, 10)
    box.wait(3)
    for line in list(server.lines):
        line.cut()
    eventually(lambda: log.losses)
    eventually(lambda: not server.topic(FULL).subscriptions["jms-queue"].consumers)
    _, shown = subscribe(connect(server).channel(False), QUEUE, 10)
    shown.wait(3)
    assert shown.bodies == ["0", "1", "2"]
    assert len(log.losses) == 1


def _not_again(code: int, said: str) -> Callable[[Line, Command], None]:
    def heard(line: Line, heard: Command) -> None:
        if heard.kind == Kind.SUBSCRIBE:
            line.write(Kind.ERROR, f1=heard.fields.number(5), f2=code, f3=said)
        else:
            answer(line, heard)

    return heard


@pytest.mark.parametrize(("code", "kind"), [(11, AddressRefused), (4, AccessDenied), (12, BackendError)])
@pytest.mark.parametrize("address", [QUEUE, TOPIC])
def test_a_consumer_that_is_not_let_in_again(
    server: Server, connect: Connect, address: Address, code: int, kind: type[BackendError]
) -> None:
    """The library alone would try for ever."""
    log = LinkLog()
    link = connect(server, log)
    subscription, _ = subscribe(link.channel(False), address, 10)
    eventually(lambda: server.heard_of(Kind.FLOW))
    server.heard = _not_again(code, "not again")
    server.close_consumers()
    eventually(lambda: log.subscriptions)
    ((ended, error),) = log.subscriptions
    assert ended is subscription
    assert type(error) is kind
    assert "not again" in str(error)
    assert address.name in str(error)
    assert log.losses == []
    server.heard = answer
    _fill(link, 1)
    before = len(server.heard_of(Kind.SUBSCRIBE))
    time.sleep(0.5)  # sleep: the library would have tried again, and kept the message
    assert len(server.heard_of(Kind.SUBSCRIBE)) == before
    subscription.close()


def test_a_consumer_that_another_one_excludes(
    server: Server, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is tried for a while: at first the broker may still know the consumer that it has just closed."""
    monkeypatch.setattr(attachments, "_PATIENCE", 0.8)
    log = LinkLog()
    link = connect(server, log)
    subscribe(link.channel(False), TOPIC, 10, key="durable", durable=True)
    eventually(lambda: server.heard_of(Kind.FLOW))
    before = len(server.heard_of(Kind.SUBSCRIBE))
    server.heard = _not_again(5, "it has another one")
    server.close_consumers()
    eventually(lambda: log.subscriptions)
    assert isinstance(log.subscriptions[0][1], SubscriptionRefused)
    assert len(server.heard_of(Kind.SUBSCRIBE)) > before + 1


def test_a_consumer_that_is_let_in_after_a_while_goes_on(server: Server, connect: Connect) -> None:
    log = LinkLog()
    link = connect(server, log)
    _, box = subscribe(link.channel(False), QUEUE, 10)
    eventually(lambda: server.heard_of(Kind.FLOW))
    server.heard = _not_again(6, "moving")
    before = len(server.heard_of(Kind.SUBSCRIBE))
    server.close_consumers()
    eventually(lambda: len(server.heard_of(Kind.SUBSCRIBE)) >= before + 2)
    server.heard = answer
    _fill(link, 1)
    box.wait(1)
    assert (log.losses, log.subscriptions) == ([], [])


def test_a_first_refusal_is_an_error_of_the_call(server: Server, connect: Connect) -> None:
    server.heard = _not_again(5, "it has another one")
    log = LinkLog()
    link = connect(server, log)
    with pytest.raises(SubscriptionRefused, match="close that one first"):
        subscribe(link.channel(False), TOPIC, 10, key="durable", durable=True)
    assert (log.losses, log.subscriptions) == ([], [])


def test_a_message_that_cannot_be_read_by_the_library(server: Server, connect: Connect) -> None:
    """A wrong checksum: it acknowledges it by itself as discarded; the consumer goes on."""
    link = connect(server)
    _fill(link, 3)
    topic = server.topic(FULL)
    spoilt = bytearray(topic.entries[1].payload)
    spoilt[-1] ^= 0xFF
    topic.entries[1].payload = bytes(spoilt)
    log = LinkLog()
    _, box = subscribe(connect(server, log).channel(False), QUEUE, 10)
    box.wait(2)
    box.wait_quiet()
    assert box.bodies == ["0", "2"]
    assert log.losses == []


def test_a_broker_that_sends_more_than_was_asked_for(server: Server, connect: Connect) -> None:
    """Nothing arrives beyond the credit."""
    link = connect(server)
    _fill(link, 5)

    def generous(line: Line, heard: Command) -> None:
        answer(line, heard)
        if heard.kind == Kind.FLOW:
            consumer = line.consumers[heard.fields.number(1)]
            consumer.permits += 100
            consumer.deliver()

    server.heard = generous
    subscription, box = subscribe(link.channel(False), QUEUE, 2)
    box.wait(2)
    box.wait_quiet()
    assert box.bodies == ["0", "1"]
    subscription.grant(3)
    box.wait(5)
    assert box.bodies == ["0", "1", "2", "3", "4"]


def test_the_end_of_a_terminated_topic(server: Server, connect: Connect) -> None:
    """The library does not know that frame, and would end the connection for it."""
    log = LinkLog()
    link = connect(server, log)
    _, box = subscribe(link.channel(False), QUEUE, 10)
    eventually(lambda: server.heard_of(Kind.FLOW))
    for line in list(server.lines):
        for number in line.consumers:
            line.write(Kind.REACHED_END, f1=number)
    _fill(link, 1)
    box.wait(1)
    assert (log.losses, log.subscriptions) == ([], [])


def test_closing_a_consumer_while_its_topic_moves(server: Server, connect: Connect) -> None:
    link = connect(server)
    _fill(link, 3)
    subscription, box = subscribe(link.channel(False), QUEUE, 10)
    box.wait(3)
    asked = threading.Event()

    def slow(line: Line, heard: Command) -> None:
        if heard.kind == Kind.SUBSCRIBE:
            asked.set()
        else:
            answer(line, heard)

    server.heard = slow
    server.close_consumers()
    assert asked.wait(5)
    settle(subscription, box.tokens, Outcome.ACCEPTED)
    drain(subscription)
    subscription.close()
    server.heard = answer
    _fill(link, 1)
    _, shown = subscribe(link.channel(False), QUEUE, 10)
    shown.wait(1)
    shown.wait_quiet()
    assert shown.bodies == ["0"]


def test_many_messages_are_taken_in_batches(server: Server, connect: Connect) -> None:
    """With a wide window: each once, in order, and never beyond the credit."""
    link = connect(server)
    channel = link.channel(False)
    send(channel, *[envelope(QUEUE, str(number)) for number in range(400)])
    subscription, box = subscribe(link.channel(False), QUEUE, 150, window=250)
    box.wait(150)
    box.wait_quiet()
    assert box.bodies == [str(number) for number in range(150)]
    settle(subscription, box.tokens, Outcome.ACCEPTED)
    subscription.grant(100)
    box.wait(250)
    assert box.bodies == [str(number) for number in range(250)]
    settle(subscription, box.tokens[150:], Outcome.ACCEPTED)
    subscription.grant(250)  # more than there are
    box.wait(400)
    box.wait_quiet()
    assert box.bodies == [str(number) for number in range(400)]


def test_a_drain_ends_a_consumer_that_has_nothing_unsettled_at_once(
    server: Server, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What may still be on its way goes to others: it is not waited for."""
    monkeypatch.setattr(flow, "_NEXT", 60.0)
    link = connect(server)
    _fill(link, 1)
    subscription, box = subscribe(link.channel(False), QUEUE, 10)
    box.wait(1)
    settle(subscription, box.tokens, Outcome.ACCEPTED)
    closed = len(server.heard_of(Kind.CLOSE_CONSUMER))
    drain(subscription)
    assert len(server.heard_of(Kind.CLOSE_CONSUMER)) == closed + 1
    _fill(link, 1)
    box.wait_quiet()
    assert len(box.bodies) == 1
    subscription.grant(1)
    box.wait(2)


def test_a_consumer_that_is_opened_after_its_close(server: Server, connect: Connect) -> None:
    """The broker answers later than ``close_timeout``: the consumer must not keep messages that nobody takes."""
    log = LinkLog()
    link = connect(server, log, close_timeout=0.5)
    _fill(link, 1)
    late: list[tuple[Line, Command]] = []

    def slow(line: Line, heard: Command) -> None:
        if heard.kind == Kind.SUBSCRIBE:
            late.append((line, heard))
        else:
            answer(line, heard)

    server.heard = slow
    subscription, box = subscribe(link.channel(False), QUEUE, 10)
    eventually(lambda: late)
    closing = threading.Thread(target=subscription.close)
    closing.start()
    while closing.is_alive():  # the broker is slow, not silent
        _fill(link, 1)
    server.heard = answer
    for line, heard in late:
        answer(line, heard)
    eventually(lambda: not server.topic(FULL).subscriptions["jms-queue"].consumers)
    assert (box.bodies, log.losses) == ([], [])

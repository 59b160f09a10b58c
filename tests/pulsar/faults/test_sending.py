"""What a broker may do between a send and its receipt: each outcome is exact, or in doubt (issue 17)."""

import socket
import threading
import time
from collections.abc import Callable

import pytest

from jmsbridge.spi import AccessDenied, Address, AddressRefused, BackendError, Channel, LinkLost, SendRefused
from jmsbridge.testing.harness import LinkLog
from jmsbridge.testing.suite.contract.support import Answer, envelope, send
from jmsbridge.testing.suite.support import eventually
from jmsbridge_pulsar.connection import attachments
from jmsbridge_pulsar.link import Link
from tests.pulsar.server.answering import answer
from tests.pulsar.server.server import Line, Server
from tests.pulsar.server.wire import Command, Kind, message

Connect = Callable[..., Link]

QUEUE = Address("q")
TOPIC = "persistent://public/default/q"


def _send(channel: Channel, *texts: str) -> list[Answer]:
    answers = [Answer() for _ in texts]
    for text, ticket in zip(texts, answers, strict=True):
        channel.send(envelope(QUEUE, text), ticket)
    return answers


def _outcomes(answers: list[Answer]) -> list[tuple[type[BackendError], bool] | None]:
    found = [each.outcome() for each in answers]
    return [None if error is None else (type(error), error.in_doubt) for error in found]


class Held:
    """Receives messages and stores them, and sends receipts only when it is told to."""

    def __init__(self) -> None:
        self.sends: list[tuple[Line, Command]] = []
        self.holds = threading.Event()
        self.holds.set()

    def __call__(self, line: Line, heard: Command) -> None:
        """A command."""
        if heard.kind == Kind.SEND and self.holds.is_set():
            self.sends.append((line, heard))
        else:
            answer(line, heard)

    def wait(self, count: int) -> None:
        """Until so many have come."""
        eventually(lambda: len(self.sends) >= count)

    def receipts(self) -> None:
        """All at once."""
        sends, self.sends = self.sends, []
        for line, heard in sends:
            answer(line, heard)


def test_receipts_may_come_late(server: Server, connect: Connect) -> None:
    held = Held()
    server.heard = held
    channel = connect(server).channel(False)
    answers = _send(channel, "one", "two")
    held.wait(1)
    assert not answers[0].is_answered(0.3)
    with server.lock:
        held.holds.clear()
        held.receipts()
    assert _outcomes(answers) == [None, None]
    assert sum(entry.messages for entry in server.topic(TOPIC).entries) == 2


def test_a_cut_before_the_receipt_leaves_sends_in_doubt(server: Server, connect: Connect) -> None:
    held, log = Held(), LinkLog()
    server.heard = held
    channel = connect(server, log).channel(False)
    answers = _send(channel, "one")
    held.wait(1)
    answers += _send(channel, "two")
    held.wait(2)
    held.sends[0][0].cut()
    assert _outcomes(answers) == [(LinkLost, True), (LinkLost, True)]
    assert _outcomes(_send(channel, "three")) == [(LinkLost, False)]
    assert len(log.losses) == 1


def test_a_cut_before_the_producer_is_open_leaves_nothing_in_doubt(server: Server, connect: Connect) -> None:
    asked = threading.Event()

    def no_producers(line: Line, heard: Command) -> None:
        if heard.kind == Kind.PRODUCER:
            asked.set()
        else:
            answer(line, heard)

    server.heard = no_producers
    log = LinkLog()
    answers = _send(connect(server, log).channel(False), "one")
    assert asked.wait(10)
    server.lines[-1].cut()
    assert _outcomes(answers) == [(LinkLost, False)]
    assert len(log.losses) == 1


def test_some_receipts_and_then_a_cut(server: Server, connect: Connect) -> None:
    """What had its receipt stays confirmed."""
    held, log = Held(), LinkLog()
    held.holds.clear()
    server.heard = held
    channel = connect(server, log).channel(False)
    confirmed = _send(channel, "one")
    assert _outcomes(confirmed) == [None]
    held.holds.set()
    doubtful = _send(channel, "two")
    held.wait(1)
    server.lines[-1].cut()
    assert _outcomes(doubtful) == [(LinkLost, True)]
    assert [each.answers for each in confirmed] == [[None]]


def _refusing(code: int, said: str = "because") -> Callable[[Line, Command], None]:
    """Refuses the messages that contain "bad"."""

    def heard(line: Line, heard: Command) -> None:
        if heard.kind == Kind.SEND and b"bad" in heard.payload:
            line.write(Kind.SEND_ERROR, f1=heard.fields.number(1), f2=heard.fields.number(2), f3=code, f4=said)
        else:
            answer(line, heard)

    return heard


@pytest.mark.parametrize("code", [15, 22, 9])
def test_a_refused_message_is_not_in_doubt_and_costs_only_itself(server: Server, connect: Connect, code: int) -> None:
    server.heard = _refusing(code)
    log = LinkLog()
    channel = connect(server, log, {"batching": False}).channel(False)
    answers = _send(channel, "one", "bad", "two")
    assert _outcomes(answers) == [None, (SendRefused, False), None]
    assert "because" in str(answers[1].outcome())
    assert _outcomes(_send(channel, "three")) == [None]
    assert log.losses == []
    assert len(server.topic(TOPIC).entries) == 3


def test_a_topic_that_is_terminated(server: Server, connect: Connect) -> None:
    channel = connect(server).channel(False)
    send(channel, envelope(QUEUE, "one"))

    def terminated(line: Line, heard: Command) -> None:
        if heard.kind == Kind.PRODUCER:
            line.write(Kind.ERROR, f1=heard.fields.number(3), f2=15, f3="terminated")
        else:
            _refusing(15)(line, heard)

    server.heard = terminated
    assert _outcomes(_send(channel, "bad")) == [(SendRefused, False)]
    error = _send(channel, "bad")[0].outcome()
    assert isinstance(error, AddressRefused)
    assert "terminated" in str(error)


def test_an_error_of_the_broker_ends_the_link_with_its_words(server: Server, connect: Connect) -> None:
    server.heard = _refusing(2, "no bookie has room")
    log = LinkLog()
    answers = _send(connect(server, log).channel(False), "bad")
    assert _outcomes(answers) == [(LinkLost, True)]
    eventually(lambda: log.losses)
    assert "no bookie has room" in str(log.losses[0])


def test_a_topic_that_moves_while_messages_are_under_way(server: Server, connect: Connect) -> None:
    """They are sent again there, and confirmed."""
    held, log = Held(), LinkLog()
    server.heard = held
    channel = connect(server, log).channel(False)
    answers = _send(channel, "one")
    held.wait(1)
    held.holds.clear()
    server.close_producers()
    assert _outcomes(answers + _send(channel, "two")) == [None, None]
    assert len(server.topic(TOPIC).entries) == 2
    assert log.losses == []


def test_what_is_sent_while_a_topic_moves_waits_and_keeps_its_order(server: Server, connect: Connect) -> None:
    """Nothing is written to a producer that the broker has closed; what has no answer comes first when it is open."""
    held, log = Held(), LinkLog()
    server.heard = held
    channel = connect(server, log).channel(False)
    answers = _send(channel, *(f"a{number:03}" for number in range(250)))
    eventually(lambda: sum(sent.fields.number(3) for _, sent in held.sends) == 250)
    before = list(held.sends)
    assert len(before) > 2
    asked: list[tuple[Line, Command]] = []

    def moving(line: Line, heard: Command) -> None:
        assert heard.kind != Kind.SEND
        if heard.kind == Kind.PRODUCER:
            asked.append((line, heard))
        else:
            answer(line, heard)

    server.heard = moving
    server.close_producers()
    eventually(lambda: asked)
    answers += _send(channel, "b")
    assert not answers[-1].is_answered(0.3)
    with server.lock:
        server.heard = answer
        for line, heard in asked:
            answer(line, heard)
    assert _outcomes(answers) == [None] * 251
    entries = server.topic(TOPIC).entries
    assert [each.messages for each in entries] == [*(sent.fields.number(3) for _, sent in before), 1]
    assert [b"a000" in each.payload for each in entries] == [True] + [False] * len(before)
    assert b"b" in entries[-1].payload[-4:]
    assert log.losses == []


def test_a_producer_that_is_closed_when_it_is_just_open(server: Server, connect: Connect) -> None:
    """And is not let in again: its messages have their answer, and the next one opens another."""
    opened = 0

    def heard(line: Line, heard: Command) -> None:
        nonlocal opened
        if heard.kind != Kind.PRODUCER:
            answer(line, heard)
            return
        opened += 1
        if opened == 1:
            answer(line, heard)
            line.producers.clear()
            line.write(Kind.CLOSE_PRODUCER, f1=heard.fields.number(2), f2=0)
        elif opened == 2:
            line.write(Kind.ERROR, f1=heard.fields.number(3), f2=11, f3="gone")
        else:
            answer(line, heard)

    server.heard = heard
    log = LinkLog()
    channel = connect(server, log).channel(False)
    assert None not in _outcomes(_send(channel, "one"))
    assert _outcomes(_send(channel, "two")) == [None]
    assert log.losses == []


@pytest.mark.parametrize(
    ("code", "later"), [(11, AddressRefused), (15, AddressRefused), (4, AccessDenied), (25, SendRefused)]
)
def test_a_producer_that_is_not_let_in_again(
    server: Server, connect: Connect, code: int, later: type[BackendError]
) -> None:
    """Its messages are in doubt, and the next one is refused. The library alone would try for ever."""
    held, log = Held(), LinkLog()
    server.heard = held
    channel = connect(server, log).channel(False)
    held.holds.clear()
    send(channel, envelope(QUEUE, "one"))
    held.holds.set()
    answers = _send(channel, "two")
    held.wait(1)

    def closed(line: Line, heard: Command) -> None:
        if heard.kind == Kind.PRODUCER:
            line.write(Kind.ERROR, f1=heard.fields.number(3), f2=code, f3="not again")
        else:
            answer(line, heard)

    server.heard = closed
    server.close_producers()
    assert _outcomes(answers) == [(BackendError, True)]
    assert "not again" in str(answers[0].outcome())
    assert _outcomes(_send(channel, "three")) == [(later, False)]
    assert log.losses == []
    server.heard = answer
    assert _outcomes(_send(channel, "four")) == [None]


def test_a_refusal_that_may_pass_is_waited_for(
    server: Server, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attachments, "_PATIENCE", 0.8)
    held = Held()
    server.heard = held
    channel = connect(server).channel(False)
    held.holds.clear()
    send(channel, envelope(QUEUE, "one"))
    held.holds.set()
    answers = _send(channel, "two")
    held.wait(1)
    refused = 0

    def not_ready(line: Line, heard: Command) -> None:
        nonlocal refused
        if heard.kind == Kind.PRODUCER:
            refused += 1
            line.write(Kind.ERROR, f1=heard.fields.number(3), f2=16, f3="busy")
        else:
            held(line, heard)

    server.heard = not_ready
    server.close_producers()
    assert _outcomes(answers) == [(BackendError, True)]
    assert refused > 1


def test_a_backlog_quota(server: Server, connect: Connect) -> None:
    def full(line: Line, heard: Command) -> None:
        if heard.kind == Kind.PRODUCER:
            line.write(Kind.ERROR, f1=heard.fields.number(3), f2=8, f3="quota")
        else:
            answer(line, heard)

    server.heard = full
    error = _send(connect(server).channel(False), "one")[0].outcome()
    assert isinstance(error, SendRefused)
    assert "backlog quota" in str(error)


@pytest.mark.parametrize("sequence", [7, 1 << 40])
def test_a_receipt_for_what_was_never_sent(server: Server, connect: Connect, sequence: int) -> None:
    """The link ends; the outcome is unknown."""

    def wrong(line: Line, heard: Command) -> None:
        if heard.kind == Kind.SEND:
            place = message(f1=1, f2=1)
            line.write(Kind.SEND_RECEIPT, f1=heard.fields.number(1), f2=sequence, f3=place)
        else:
            answer(line, heard)

    server.heard = wrong
    log = LinkLog()
    answers = _send(connect(server, log).channel(False), "one")
    assert _outcomes(answers) == [(LinkLost, True)]
    eventually(lambda: len(log.losses) == 1)


def test_a_message_over_the_limit(server: Server, connect: Connect) -> None:
    server.largest = 10_000
    channel = connect(server).channel(False)
    error = _send(channel, "x" * 20_000)[0].outcome()
    assert isinstance(error, SendRefused)
    assert "10000" in str(error)
    assert _outcomes(_send(channel, "x" * 8000)) == [None]


def test_messages_that_are_together_over_the_limit(server: Server, connect: Connect) -> None:
    """The limit is for what is sent as one, so they are not."""
    server.largest = 10_000
    channel = connect(server).channel(False)
    assert _outcomes(_send(channel, *["x" * 1000] * 90)) == [None] * 90
    assert len(server.topic(TOPIC).entries) >= 9


def test_a_limit_of_another_broker(serve: Callable[..., Server], connect: Connect) -> None:
    """The library takes the limit of the broker that it connected to last for that of all."""
    server, other = serve(), serve()
    other.largest = 10_000
    channel = connect(server).channel(False)
    assert _outcomes(_send(channel, "one")) == [None]
    connect(other)
    assert _outcomes(_send(channel, "x" * 1_000_000)) == [None]
    assert _outcomes(_send(channel, *["x" * 1000] * 90)) == [None] * 90


def test_properties_below_a_small_limit(server: Server, connect: Connect) -> None:
    server.largest = 64 * 1024
    ticket = Answer()
    connect(server).channel(False).send(envelope(QUEUE, "one", properties={"long": "x" * 40_000}), ticket)
    assert _outcomes([ticket]) == [None]


def test_a_connection_that_breaks_while_messages_are_written(server: Server, connect: Connect) -> None:
    """Each has its answer: those that were written, and those that follow in the same batch of work."""
    link = connect(server, LinkLog())
    channel = link.channel(False)
    send(channel, envelope(QUEUE, "one"))
    answers = [Answer() for _ in range(254)]

    def break_and_send() -> None:
        for pipe in list(link._relay._pipes):
            if pipe._far._socket is not None:
                pipe._far._socket.shutdown(socket.SHUT_WR)
        for number, ticket in enumerate(answers):
            large = number in (5, 253)
            channel.send(envelope(QUEUE, "x" * 200_000 if large else "small"), ticket)

    link._life.thread.post(break_and_send)
    assert {type(each.outcome()) for each in answers} == {LinkLost}


def test_a_broker_that_stops_reading(server: Server, connect: Connect) -> None:
    """Close ends in time, and what was passed on is in doubt."""
    log = LinkLog()
    link = connect(server, log)
    channel = link.channel(False)
    send(channel, envelope(QUEUE, "one"))
    line = next(line for line in server.lines if line.producers)
    line.reading.clear()
    answers = _send(channel, *["x" * 100_000] * 300)
    began = time.monotonic()
    link.close()
    assert time.monotonic() - began < 8
    assert {each.in_doubt for each in (answer.outcome() for answer in answers) if each is not None} == {True}
    assert log.losses == []


def test_a_broker_that_answers_nothing_but_connect(server: Server, connect: Connect) -> None:
    def only_connect(line: Line, heard: Command) -> None:
        if heard.kind in (Kind.CONNECT, Kind.PARTITIONS):
            answer(line, heard)

    server.heard = only_connect
    link = connect(server)
    answers = _send(link.channel(False), "one")
    assert not answers[0].is_answered(0.5)
    began = time.monotonic()
    link.close()
    assert time.monotonic() - began < 8
    assert _outcomes(answers) == [(LinkLost, False)]

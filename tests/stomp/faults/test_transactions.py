"""Transactions over STOMP: which frames ask for receipts, when COMMIT is written, and what a refused frame costs."""

import threading
from collections.abc import Callable

import pytest

from jmsbridge.spi import (
    Address,
    BackendError,
    Channel,
    ChannelLost,
    LinkLost,
    NotSupported,
    Outcome,
    TransactionRolledBack,
)
from jmsbridge.testing.harness import LinkLog
from jmsbridge.testing.suite.contract.support import Answer, envelope, settle, subscribe
from jmsbridge.testing.suite.support import eventually
from jmsbridge_stomp.protocol.frames import Frame
from jmsbridge_stomp.sending import transaction
from tests.stomp.faults.conftest import Connect, Start
from tests.stomp.faults.peer import ARTEMIS, CLASSIC, Line, answer

QUEUE = Address("queue")
RULE = "jb-rule"
"""The transaction by which the client asks whether the peer refuses a commit after a refused frame."""


def reports(line: Line, destination: str) -> None:
    """The ERROR of a SEND that asked for no receipt."""
    line.write("ERROR", {"message": f"no right to write to {destination}"})


class Rule:
    """Answers as ActiveMQ Classic: it refuses to commit a transaction of which it refused a frame.

    ``late`` reports refused frames after the answer to COMMIT; ``holds`` is its option for that rule.
    """

    def __init__(
        self, *, holds: bool = True, late: bool = False, committed: Callable[[Line], None] | None = None
    ) -> None:
        self.refused: dict[str, str] = {}
        """By transaction, to where it sent what was refused."""
        self._holds = holds
        self._late = late
        self._committed = committed

    def __call__(self, line: Line, frame: Frame) -> None:
        """Hear a frame."""
        name = frame.headers.get("transaction", "")
        if frame.command == "SEND" and (name == RULE or b"bad" in frame.body):
            self.refused[name] = frame.headers["destination"]
            if "receipt" in frame.headers:
                line.write("ERROR", {"receipt-id": frame.headers["receipt"], "message": "no right to write"})
            elif not self._late:
                reports(line, self.refused[name])
        elif frame.command == "COMMIT" and self._holds and name in self.refused:
            line.write("ERROR", {"receipt-id": frame.headers["receipt"], "message": "marked rollback only"})
            if self._late:
                reports(line, self.refused[name])
        elif frame.command == "COMMIT" and name != RULE and self._committed is not None:
            self._committed(line)
        else:
            answer(line, frame)


def sends(channel: Channel, *texts: str) -> None:
    for text in texts:
        channel.send(envelope(QUEUE, text), Answer())


def commit(channel: Channel) -> BackendError | None:
    ticket = Answer()
    channel.commit(ticket)
    return ticket.outcome(10)


def words(line: Line) -> list[str]:
    """The frames about transactions, with their receipts as ``!``, without those of the question."""
    about = [frame for frame in line.frames if frame.headers.get("transaction", RULE) != RULE]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(one.headers["transaction"] for one in about))}
    return [
        f"{one.command} {numbers[one.headers['transaction']]}{'!' if 'receipt' in one.headers else ''}" for one in about
    ]


def test_only_the_ends_of_a_transaction_ask_for_receipts(start: Start, connect: Connect) -> None:
    """The next one is begun before the commit, and used."""
    peer = start(Rule(), CLASSIC)
    channel = connect(peer).channel(True)
    sends(channel, "a", "b")
    assert commit(channel) is None
    sends(channel, "c")
    assert commit(channel) is None
    first = ["BEGIN 0!", "SEND 0", "SEND 0", "BEGIN 1!", "COMMIT 0!"]
    assert words(peer.lines[1]) == [*first, "SEND 1", "BEGIN 2!", "COMMIT 1!"]


def test_acknowledgements_in_a_transaction_ask_for_no_receipts(start: Start, connect: Connect) -> None:
    rule = Rule()

    def has_messages(line: Line, frame: Frame) -> None:
        rule(line, frame)
        if frame.command == "SUBSCRIBE" and frame.headers["destination"].endswith("queue"):
            for ack in "12":
                line.write("MESSAGE", {"subscription": frame.headers["id"], "message-id": ack, "ack": ack}, b"x")

    peer = start(has_messages, CLASSIC)
    channel = connect(peer).channel(True)
    subscription, box = subscribe(channel, QUEUE, 2, deferred=True)
    box.wait(2)
    settle(subscription, box.tokens, Outcome.ACCEPTED)
    assert commit(channel) is None
    assert words(peer.lines[1]) == ["BEGIN 0!", "ACK 0", "ACK 0", "BEGIN 1!", "COMMIT 0!"]


def has_a_message(line: Line, frame: Frame) -> None:
    answer(line, frame)
    if frame.command == "SUBSCRIBE" and frame.headers["destination"] == "/queue/queue":
        line.write("MESSAGE", {"subscription": frame.headers["id"], "message-id": "1", "ack": "1"}, b"x")


def test_a_transaction_is_aborted_so_that_the_broker_forgets(
    start: Start, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transaction, "_MOST_KEPT", 1)
    peer = start(has_a_message, CLASSIC)
    channel = connect(peer, client_id="shares").channel(True)
    subscription, box = subscribe(channel, QUEUE, 1, deferred=True)
    box.wait(1)
    settle(subscription, box.tokens, Outcome.ACCEPTED)
    assert commit(channel) is None
    (line,) = peer.lines
    eventually(lambda: [frame.command for frame in line.frames][-2:] == ["BEGIN", "ABORT"])
    assert line.frames[-1].headers["transaction"] == line.frames[-2].headers["transaction"]


def test_another_consumer_that_closes_changes_nothing_of_that(
    start: Start, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The broker forgets only what it kept for the closed one."""
    monkeypatch.setattr(transaction, "_MOST_KEPT", 150)  # one acknowledgement costs about 100

    def has_messages(line: Line, frame: Frame) -> None:
        answer(line, frame)
        if frame.command == "SUBSCRIBE" and frame.headers["destination"] == "/queue/queue":
            for name in ("1", "2"):
                line.write("MESSAGE", {"subscription": frame.headers["id"], "message-id": name, "ack": name}, b"x")

    peer = start(has_messages, CLASSIC)
    link = connect(peer, client_id="shares")
    channel = link.channel(True)
    subscription, box = subscribe(channel, QUEUE, 2, deferred=True)
    box.wait(2)
    for token in box.tokens:
        settle(subscription, [token], Outcome.ACCEPTED)
        assert commit(channel) is None
        subscribe(link.channel(True), Address("other"), 1, deferred=True)[0].close()
    eventually(lambda: "ABORT" in [frame.command for frame in peer.lines[0].frames])


@pytest.mark.parametrize("server", [ARTEMIS, "ActiveMQ/5.18.6"])
def test_where_the_rule_is_not_known_each_frame_asks_for_a_receipt(start: Start, connect: Connect, server: str) -> None:
    peer = start(answer, server)
    channel = connect(peer).channel(True)
    sends(channel, "a", "b")
    assert commit(channel) is None
    assert words(peer.lines[1]) == ["BEGIN 0!", "SEND 0!", "SEND 0!", "COMMIT 0!"]


def test_a_broker_that_commits_in_spite_of_a_refused_frame(start: Start, connect: Connect) -> None:
    """By its option: then each frame asks for a receipt, and a refused one rolls back."""
    peer = start(Rule(holds=False), CLASSIC)
    channel = connect(peer).channel(True)
    sends(channel, "a")
    assert commit(channel) is None
    sends(channel, "b", "bad")
    assert isinstance(commit(channel), TransactionRolledBack)
    assert words(peer.lines[1]) == [
        *["BEGIN 0!", "SEND 0!", "COMMIT 0!"],
        *["BEGIN 1!", "SEND 1!", "SEND 1!", "ABORT 1!"],
    ]


def test_the_broker_is_asked_once_for_each_link(start: Start, connect: Connect) -> None:
    peer = start(Rule(), CLASSIC)
    link = connect(peer)
    for _ in range(3):
        channel = link.channel(True)
        sends(channel, "a")
        assert commit(channel) is None
    plain = link.channel(False)
    sends(plain, "b")
    asked = [frame for frame in peer.frames() if frame.headers.get("transaction") == RULE]
    assert [frame.command for frame in asked] == ["BEGIN", "SEND", "COMMIT"]


def test_the_report_on_the_question_does_not_count_for_a_transaction(start: Start, connect: Connect) -> None:
    """It may come after the answer to the commit."""
    log = LinkLog()
    rule = Rule()
    peer = start(rule, CLASSIC)
    channel = connect(peer, log).channel(True)
    sends(channel, "a")
    assert commit(channel) is None
    sends(channel, "b")
    reports(peer.lines[1], rule.refused[RULE])
    assert commit(channel) is None
    reports(peer.lines[1], rule.refused[RULE])
    peer.lines[1].cut()
    eventually(lambda: log.losses)
    assert log.channels == []


@pytest.mark.parametrize("late", [False, True])
def test_a_refused_message_rolls_back_all_of_its_transaction(start: Start, connect: Connect, late: bool) -> None:
    """Whether its report comes before the commit or after; the next one begins on another socket."""
    log = LinkLog()
    peer = start(Rule(late=late), CLASSIC)
    channel = connect(peer, log).channel(True)
    sends(channel, "a", "bad", "c")
    error = commit(channel)
    assert type(error) is TransactionRolledBack
    assert not error.in_doubt
    assert words(peer.lines[1])[-2:] == ["BEGIN 1!", "COMMIT 0!" if late else "ABORT 0!"]
    sends(channel, "d")
    assert commit(channel) is None
    assert words(peer.lines[2])[0] == "BEGIN 0!"
    eventually(lambda: peer.lines[1].frames[-1].command == "DISCONNECT")
    assert (log.losses, log.channels) == ([], [])


def test_a_refused_acknowledgement_rolls_back(start: Start, connect: Connect) -> None:
    """The broker does not refuse the commit then: only the order of its answers tells."""
    rule = Rule()

    def refuses_ack(line: Line, frame: Frame) -> None:
        if frame.command == "ACK":
            line.write("ERROR", {"message": "Unexpected ACK"})
            return
        rule(line, frame)
        if frame.command == "SUBSCRIBE" and frame.headers["destination"].endswith("queue"):
            line.write("MESSAGE", {"subscription": frame.headers["id"], "message-id": "1", "ack": "1"}, b"x")

    peer = start(refuses_ack, CLASSIC)
    channel = connect(peer).channel(True)
    subscription, box = subscribe(channel, QUEUE, 1, deferred=True)
    box.wait(1)
    settle(subscription, box.tokens, Outcome.ACCEPTED)
    sends(channel, "a")
    assert isinstance(commit(channel), TransactionRolledBack)
    assert words(peer.lines[1])[-1] == "ABORT 0!"


def test_a_refused_commit_with_a_consumer_costs_the_channel(start: Start, connect: Connect) -> None:
    """The broker keeps what it refused to commit until the socket ends, and with it the consumer."""
    log = LinkLog()
    link = connect(start(Rule(late=True), CLASSIC), log)
    channel = link.channel(True)
    subscribe(channel, QUEUE, 1, deferred=True)
    sends(channel, "a", "bad")
    error = commit(channel)
    assert type(error) is ChannelLost
    assert not error.in_doubt
    eventually(lambda: log.channels)
    assert log.losses == []
    other = link.channel(True)
    sends(other, "b")
    assert commit(other) is None


@pytest.mark.parametrize("commits", [True, False])
def test_transactions_of_a_shared_socket_end_one_after_the_other(start: Start, connect: Connect, commits: bool) -> None:
    """At a commit the broker forgets what others have acknowledged, which could not be acknowledged again then."""
    withheld: list[str] = []

    def is_late(line: Line, frame: Frame) -> None:
        if frame.command == "ACK" and not withheld:
            withheld.append(frame.headers["receipt"])
        else:
            has_a_message(line, frame)

    peer = start(is_late, CLASSIC)
    link = connect(peer, client_id="shares")
    channel, other = link.channel(True), link.channel(True)
    subscription, box = subscribe(channel, QUEUE, 1, deferred=True)
    box.wait(1)
    settle(subscription, box.tokens, Outcome.ACCEPTED)
    sends(other, "a")
    first, second = Answer(), Answer()
    channel.commit(first)
    eventually(lambda: withheld)
    (other.commit if commits else other.rollback)(second)
    (line,) = peer.lines
    assert not second.is_answered(0.2)
    assert "COMMIT" not in [frame.command for frame in line.frames]
    line.write("ERROR", {"receipt-id": withheld[0], "message": "no"})
    assert isinstance(first.outcome(10), TransactionRolledBack)
    assert second.outcome(10) is None
    settle(subscription, box.tokens, Outcome.ACCEPTED)
    assert commit(channel) is None
    ended = [frame.command for frame in line.frames if frame.command in {"ACK", "COMMIT", "ABORT"}]
    assert ended == ["ACK", "ABORT", "COMMIT" if commits else "ABORT", "ACK", "COMMIT"]


def test_nothing_is_acknowledged_before_the_commit(start: Start, connect: Connect) -> None:
    """So the commit of another transaction, which the broker may get before it, changes nothing."""
    log = LinkLog()
    peer = start(has_a_message, CLASSIC)
    link = connect(peer, log, client_id="shares")
    channel, other = link.channel(True), link.channel(True)
    subscription, box = subscribe(channel, QUEUE, 1, deferred=True)
    box.wait(1)
    settle(subscription, box.tokens, Outcome.ACCEPTED)
    sends(other, "a")
    assert commit(other) is None
    ticket = Answer()
    channel.rollback(ticket)
    assert ticket.outcome(10) is None
    assert "ACK" not in [frame.command for frame in peer.lines[0].frames]
    settle(subscription, box.tokens, Outcome.ACCEPTED)
    assert commit(channel) is None
    assert (log.losses, log.channels) == ([], [])


def test_transactions_that_wait_for_their_turn_end_with_the_link(start: Start, connect: Connect) -> None:
    """Hundreds at once."""

    def keeps_silent(line: Line, frame: Frame) -> None:
        if frame.command != "COMMIT":
            answer(line, frame)

    peer = start(keeps_silent, CLASSIC)
    link = connect(peer, client_id="shares")
    tickets = []
    for _ in range(400):
        channel = link.channel(True)
        sends(channel, "a")
        tickets.append(Answer())
        channel.commit(tickets[-1])
    eventually(lambda: "COMMIT" in [frame.command for frame in peer.lines[0].frames])
    peer.lines[0].cut()
    outcomes = [ticket.outcome(10) for ticket in tickets]
    assert [error is not None and error.in_doubt for error in outcomes] == [True, *[False] * 399]


def test_a_commit_in_spite_of_a_reported_error_is_in_doubt(start: Start, connect: Connect) -> None:
    """The broker was configured otherwise meanwhile."""

    def committed(line: Line) -> None:
        reports(line, "queue")
        receipt = line.frames[-1].headers["receipt"]
        line.write("RECEIPT", {"receipt-id": receipt})

    channel = connect(start(Rule(committed=committed), CLASSIC)).channel(True)
    sends(channel, "a")
    error = commit(channel)
    assert error is not None
    assert error.in_doubt
    assert "no right to write" in str(error)


@pytest.mark.parametrize("written", [False, True])
def test_a_link_that_is_lost_around_a_commit(start: Start, connect: Connect, written: bool) -> None:
    """In doubt only if COMMIT was written."""
    rule = Rule(committed=Line.cut)
    begun = 0

    def cut(line: Line, frame: Frame) -> None:
        nonlocal begun
        begun += frame.command == "BEGIN" and frame.headers["transaction"] != RULE
        if begun == 2 and not written:
            line.cut()
        else:
            rule(line, frame)

    log = LinkLog()
    channel = connect(start(cut, CLASSIC), log).channel(True)
    sends(channel, "a")
    error = commit(channel)
    assert error is not None
    assert error.in_doubt == written
    assert "refused" not in str(error)
    eventually(lambda: log.losses)
    again = Answer()
    channel.commit(again)
    assert isinstance(again.outcome(), LinkLost)


def test_messages_that_the_broker_does_not_read_wait_in_the_channel(start: Start, connect: Connect) -> None:
    """It reads no message of a transaction while a queue is full: what is written without receipts is bounded, too."""
    rule = Rule()
    goes_on = threading.Event()

    def stops(line: Line, frame: Frame) -> None:
        if frame.headers.get("transaction", RULE) != RULE:
            goes_on.wait(10)
        rule(line, frame)

    peer = start(stops, CLASSIC)
    channel = connect(peer).channel(True)
    sends(channel, *["x" * 20_000] * 2_000)
    ticket = Answer()
    channel.commit(ticket)
    eventually(lambda: len(peer.lines) == 2 and words(peer.lines[1]))
    assert not ticket.is_answered(0.2)
    assert words(peer.lines[1]) == ["BEGIN 0!"]
    socket = channel._sender.current
    assert socket is not None
    eventually(lambda: socket._stream.backlog > 0)
    assert socket._stream.backlog + socket._size < 1_000_000
    goes_on.set()
    assert ticket.outcome(20) is None
    assert words(peer.lines[1]).count("SEND 0") == 2_000


def test_a_channel_for_groups_has_its_own_socket(start: Start, connect: Connect) -> None:
    """Also with a client id, where other transacted channels share the link's first one, and ask for receipts."""
    peer = start(Rule(), CLASSIC)
    link = connect(peer, client_id="me")
    grouped, session = link.group_channel(0), link.channel(True)
    for channel in (grouped, session):
        sends(channel, "a")
        assert commit(channel) is None
    assert words(peer.lines[1]) == ["BEGIN 0!", "SEND 0", "BEGIN 1!", "COMMIT 0!"]
    assert words(peer.lines[0]) == ["BEGIN 0!", "SEND 0!", "COMMIT 0!"]
    with pytest.raises(NotSupported):
        subscribe(grouped, QUEUE, 1)


class Artemis:
    """Answers as Artemis, which ends a socket with an error; ``open`` is for all but the first, which wait for it."""

    def __init__(self) -> None:
        self.open = threading.Event()

    def __call__(self, line: Line, frame: Frame) -> None:
        """Hear a frame."""
        if frame.command == "CONNECT" and line is not line.peer.lines[0]:
            self.open.wait(10)
        if frame.command == "SEND" and b"bad" in frame.body:
            reports(line, frame.headers["destination"])
            line.cut()
        else:
            answer(line, frame)


def test_on_artemis_the_last_message_and_the_first_to_a_destination_ask_for_receipts(
    start: Start, connect: Connect
) -> None:
    artemis = Artemis()
    peer = start(artemis)
    channel = connect(peer).channel(True)
    for address in (QUEUE, Address("other"), QUEUE):
        for text in ("a", "b", "c"):
            channel.send(envelope(address, text), Answer())
    ticket = Answer()
    channel.commit(ticket)
    artemis.open.set()
    assert ticket.outcome(10) is None
    to_one, to_other, again = ["SEND 0!", "SEND 0", "SEND 0"], ["SEND 0!", "SEND 0", "SEND 0"], ["SEND 0", "SEND 0"]
    assert words(peer.lines[1]) == ["BEGIN 0!", *to_one, *to_other, *again, "SEND 0!", "COMMIT 0!"]


def test_artemis_refuses_a_message_without_receipt(start: Start, connect: Connect) -> None:
    """It answers none behind it, so the transaction is not committed; the next one has another socket."""
    artemis, log = Artemis(), LinkLog()
    peer = start(artemis)
    link = connect(peer, log)
    channel = link.channel(True)
    sends(channel, "a", "bad", "c", "d")
    ticket = Answer()
    channel.commit(ticket)
    artemis.open.set()
    error = ticket.outcome(10)
    assert type(error) is TransactionRolledBack
    assert not error.in_doubt
    assert "no right to write" in str(error)
    eventually(lambda: words(peer.lines[1])[-1] == "SEND 0!")
    again = link.channel(True)
    sends(again, "e")
    assert commit(again) is None
    assert log.losses == []

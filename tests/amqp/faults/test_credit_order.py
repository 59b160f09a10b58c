"""New credit that comes together with outcomes: it is used first, and every message keeps its one answer."""

import threading
from collections.abc import Callable

import pytest

from jmsbridge.spi import BackendError, Channel, LinkLost
from jmsbridge.testing.suite.contract.support import Answer, envelope
from tests.amqp.faults.support import QUEUE, Opened, sent_async
from tests.amqp.peer.link import PeerLink
from tests.amqp.peer.records import PATIENCE, Sent
from tests.amqp.peer.script import Condition, accept

WRITTEN, WAITING = 2400, 200
_PIECE = 1 << 14  # bytes that proton takes at once


class _Held(Answer):
    """A ticket whose answer keeps the I/O thread until it may go on."""

    def __init__(self) -> None:
        super().__init__()
        self.may_go_on = threading.Event()

    def succeed(self) -> None:
        super().succeed()
        assert self.may_go_on.wait(PATIENCE)


class _Looking(Answer):
    """A ticket that is answered only once the peer has so many messages."""

    def __init__(self, opened: Opened, expected: int) -> None:
        super().__init__()
        self._records, self._expected = opened.records, expected

    def expect(self, count: int) -> None:
        """Wait for so many."""
        self._expected = count

    def succeed(self) -> None:
        records = self._records
        records.wait(lambda: len(records.sent) >= self._expected, "messages are written before outcomes are handled")
        super().succeed()


class Case:
    """Messages that were written and have no outcome, others that wait for credit, and an I/O thread that is busy."""

    def __init__(self, opened: Opened) -> None:
        self.opened = opened
        opened.script.outcome = lambda sent: "omit"
        self.channel: Channel = opened.link.channel(False)
        self._busy = _Held()
        self.channel.send(envelope(QUEUE, "busy"), self._busy)
        self.link: PeerLink = opened.peer.wait_link(None, receives=False)
        opened.peer.do(lambda: self.link.grant(1 + WRITTEN))
        self.first = _Looking(opened, 1 + WRITTEN)
        self.channel.send(envelope(QUEUE, "first"), self.first)
        self.written = [self.first, *sent_async(self.channel, *["w"] * (WRITTEN - 1))]
        self.waiting = sent_async(self.channel, *(f"{number:<1000}" for number in range(WAITING)))
        self._sent: list[Sent] = opened.records.wait_sent(1 + WRITTEN)
        opened.script.outcome = lambda sent: accept
        self._sent.pop(0).answer(accept)
        self._busy.wait()

    def answer(self) -> None:
        """Accept what was written, each message in a frame of its own: every second one, then the rest."""
        for each in self._sent[::2] + self._sent[1::2]:
            each.answer(accept)

    def together(self, *steps: Callable[[], object]) -> None:
        """Let the peer do these, then let the I/O thread read the result as one input, which is several pieces."""

        def do() -> None:
            with self.opened.peer.connection.together() as written:
                for step in steps:
                    step()
                assert len(written) > 2 * _PIECE

        self.opened.peer.do(do)
        self._busy.may_go_on.set()

    def grant(self) -> None:
        """Give credit for all that waits."""
        self.link.grant(WAITING)

    def bodies(self) -> list[int]:
        """Which of the waiting messages the peer has got."""
        return [int(sent.data[-1000:]) for sent in self.opened.records.sent[1 + WRITTEN :]]


@pytest.fixture
def case(open_link: Callable[..., Opened]) -> Case:
    return Case(open_link({"credit": 0}))


def _outcomes(answers: list[Answer]) -> list[BackendError | None]:
    found = [answer.outcome() for answer in answers]
    assert [len(answer.answers) for answer in answers] == [1] * len(answers)
    return found


def test_new_credit_is_used_before_the_outcomes_that_came_with_it(case: Case) -> None:
    case.first.expect(1 + WRITTEN + WAITING)
    case.together(case.answer, case.grant)
    assert _outcomes(case.written + case.waiting) == [None] * (WRITTEN + WAITING)
    assert case.bodies() == list(range(WAITING))
    assert case.opened.events.losses == []


def test_credit_that_is_taken_back_with_the_outcomes(case: Case) -> None:
    case.together(case.answer, case.grant, lambda: case.link.proton.drain(0))
    assert _outcomes(case.written) == [None] * WRITTEN
    records, link = case.opened.records, case.link
    records.wait(lambda: not link.proton.draining() or not link.proton.credit, "the drain ends")
    case.opened.peer.do(lambda: link.grant(WAITING - len(case.bodies())))
    assert _outcomes(case.waiting) == [None] * WAITING
    assert case.bodies() == list(range(WAITING))


def test_a_link_that_ends_with_the_outcomes_and_the_credit(case: Case) -> None:
    case.together(case.answer, case.grant, lambda: case.link.close(Condition("amqp:resource-deleted", "it is gone")))
    assert _outcomes(case.written) == [None] * WRITTEN
    refused = _outcomes(case.waiting)
    assert all(isinstance(each, BackendError) and "it is gone" in str(each) for each in refused)
    (again,) = sent_async(case.channel, "again")
    link = case.opened.records.wait_event("attach", 2)
    case.opened.peer.do(lambda: link.grant(1))
    assert again.outcome() is None
    assert case.opened.events.losses == []


def test_a_connection_that_ends_with_the_outcomes_and_the_credit(case: Case) -> None:
    ends = Condition("amqp:connection:forced", "maintenance")
    case.together(case.answer, case.grant, lambda: case.opened.peer.connection.close(ends))
    assert _outcomes(case.written) == [None] * WRITTEN
    lost = _outcomes(case.waiting)
    assert all(isinstance(each, LinkLost) and "maintenance" in str(each) for each in lost)
    case.opened.events.wait(lambda log: log.losses)


def test_outcomes_before_a_broken_frame_count(case: Case) -> None:
    case.together(case.answer, lambda: case.opened.peer.connection.raw(b"\x00\x00\x00\x04\x02\x00\x00\x00"))
    assert _outcomes(case.written) == [None] * WRITTEN
    lost = _outcomes(case.waiting)
    assert all(isinstance(each, LinkLost) and not each.in_doubt for each in lost)
    case.opened.events.wait(lambda log: log.losses)

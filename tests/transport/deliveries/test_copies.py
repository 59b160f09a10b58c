"""Copies that are under way, and answers that a broker gives in time or not."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from jmsbridge.spi import DEAD_LETTER_REASON, Address, BackendError, Envelope, Interest, Ticket
from jmsbridge.testing.suite.contract.support import Answer, envelope
from jmsbridge.testing.suite.support import eventually
from jmsbridge.transport.deliveries import copies, dead_letters
from jmsbridge.transport.deliveries.copies import TimedTicket
from jmsbridge.transport.deliveries.dead_letters import CopiedDeadLetters, letter_of
from jmsbridge.transport.network.link_life import LinkLife
from tests.transport.test_queued_channel import Wire


@pytest.fixture
def life() -> Iterator[LinkLife]:
    made = Wire().life
    made.open(lambda done: done(None, None))
    yield made
    made.thread.post(lambda: made.die(ConnectionError("the test is over")))
    made.thread.join(5)


def _timed(life: LinkLife, ticket: Answer, *, is_in_doubt: bool) -> TimedTicket:
    made: TimedTicket = life.wait(
        lambda done: done(TimedTicket(life, ticket, "a copy", lambda: is_in_doubt), None), "making a ticket"
    )
    return made


def test_the_first_answer_counts(life: LinkLife) -> None:
    answer = Answer()
    timed = _timed(life, answer, is_in_doubt=True)
    assert not timed.is_answered
    timed.succeed()
    timed.fail(BackendError("late"))
    assert (answer.answers, timed.is_answered) == ([None], True)


@pytest.mark.parametrize("is_in_doubt", [False, True])
def test_an_answer_that_does_not_come(life: LinkLife, monkeypatch: pytest.MonkeyPatch, is_in_doubt: bool) -> None:
    monkeypatch.setattr(copies, "DEADLINE", 0.01)
    answer = Answer()
    timed = _timed(life, answer, is_in_doubt=is_in_doubt)
    error = answer.outcome()
    assert error is not None
    assert error.in_doubt is is_in_doubt
    assert "a copy: no answer from Acme" in str(error)
    timed.succeed()
    assert len(answer.answers) == 1


class Letters(CopiedDeadLetters[str]):
    """Those of a subscription whose messages are all alike; copies wait for their answers."""

    def __init__(self, life: LinkLife, *, is_open: bool = True) -> None:
        self.returned: list[str] = []
        self.accepted: list[str] = []
        self.open_copies: list[Ticket] = []
        self._is_open = is_open
        super().__init__(life, Interest(address=Address("q")), "dlq", self._take, self.returned.append)

    def _take(self, token: str) -> bool:
        self.accepted.append(token)
        return self._is_open

    def read(self, token: str) -> tuple[Envelope, int]:
        return envelope(Address("q"), token), 1

    def copy_letter(
        self, queue: str, token: str, notes: dict[str, Any], done: Callable[[BackendError | None], None]
    ) -> None:
        assert queue == "dlq"
        self.open_copies.append(self._copying.begin(token, done))


def test_the_original_is_accepted_after_the_copy_and_a_close_waits(life: LinkLife) -> None:
    letters, answer, idle = Letters(life), Answer(), list[str]()
    letters.reject(["a"], 1, answer)
    letters.when_idle(lambda: idle.append("idle"))
    assert (letters.accepted, idle) == ([], [])
    letters.open_copies[0].succeed()
    assert (letters.accepted, idle, answer.answers) == (["a"], ["idle"], [None])


def test_a_copy_that_fails_and_a_consumer_that_is_closed(life: LinkLife, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dead_letters, "PAUSE", 0.0)
    letters, answer = Letters(life, is_open=False), Answer()
    letters.reject(["a", "b"], 1, answer)
    first, second = letters.open_copies
    life.thread.post(lambda: first.fail(BackendError("no")))
    life.thread.post(second.succeed)
    error = answer.outcome()
    assert str(error) == "no"
    eventually(lambda: (letters.returned, letters.accepted) == (["a"], ["b"]))


def test_a_letter_has_the_notes_of_its_last_move() -> None:
    sent = envelope(Address("q"), "x", properties={"n": 1}, expiration=5, duplicate_id="d")
    first = letter_of(sent, "dlq", {DEAD_LETTER_REASON: "one"})
    again = letter_of(first, "other", {})
    assert (again.address, again.expiration, again.duplicate_id) == (Address("other"), 0, None)
    assert again.properties == {"n": 1}

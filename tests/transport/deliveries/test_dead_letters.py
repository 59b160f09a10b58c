"""Dead letters by a confirmed copy: their properties, one answer, and refused copies."""

from collections.abc import Callable
from typing import Any

import pytest

from jmsbridge.spi import (
    DEAD_LETTER_DELIVERIES,
    DEAD_LETTER_ORIGIN,
    DEAD_LETTER_QUEUE,
    DEAD_LETTER_REASON,
    Address,
    BackendError,
    Endpoint,
    Envelope,
    Interest,
    LinkLost,
    NotSupported,
)
from jmsbridge.testing.suite.contract.support import Answer, envelope
from jmsbridge.transport.deliveries.copies import CopiesUnderWay
from jmsbridge.transport.deliveries.dead_letters import DeadLetters

_Done = Callable[[BackendError | None], None]


class Wire:
    """Tokens are numbers, which are also their expiration; copies are confirmed when the test says so."""

    def __init__(self) -> None:
        self.copies: list[tuple[str, int, dict[str, Any], _Done]] = []
        self.settled: list[tuple[int, BackendError | None]] = []

    def read(self, token: int) -> tuple[Envelope, int]:
        return envelope(Address("q"), "", expiration=token), 3

    def copy_letter(self, queue: str, token: int, notes: dict[str, Any], done: _Done) -> None:
        self.copies.append((queue, token, notes, done))

    def settle_original(self, token: int, error: BackendError | None, pause: float) -> BackendError | None:
        self.settled.append((token, error))
        return error


def letters(wire: Wire, queue: str | None = "dlq", home: str | None = None, **interest: Any) -> DeadLetters[int]:
    values: dict[str, Any] = {"address": Address("q"), **interest}
    return DeadLetters(Interest(**values), queue, home, lambda: "Acme", wire)


def test_the_ticket_is_answered_when_every_copy_is_confirmed() -> None:
    wire, ticket = Wire(), Answer()
    letters(wire).reject([0, 0], 2, ticket)
    assert (len(wire.copies), wire.settled, ticket.answers) == (2, [], [])
    for queue, _, notes, done in wire.copies:
        assert queue == "dlq"
        assert notes[DEAD_LETTER_REASON] == "rejected after 4 deliveries"
        assert (notes[DEAD_LETTER_ORIGIN], notes[DEAD_LETTER_DELIVERIES]) == ("queue:q", 4)
        done(None)
    assert (wire.settled, ticket.answers) == ([(0, None), (0, None)], [None])


def test_a_copy_that_is_refused_fails_the_ticket_once() -> None:
    wire, ticket, error = Wire(), Answer(), BackendError("full")
    letters(wire).reject([0, 0], 1, ticket)
    wire.copies[0][3](error)
    wire.copies[1][3](None)
    assert (ticket.answers, wire.settled) == ([error], [(0, error), (0, None)])


def test_rejecting_no_tokens_succeeds() -> None:
    ticket = Answer()
    letters(Wire()).reject([], 1, ticket)
    assert ticket.answers == [None]


def test_without_a_dead_letter_queue_it_is_not_supported() -> None:
    wire, ticket = Wire(), Answer()
    letters(wire, None).reject([0], 1, ticket)
    (error,) = ticket.answers
    assert isinstance(error, NotSupported)
    assert wire.copies == []


def test_an_expired_message_goes_to_the_expiry_queue() -> None:
    wire = Wire()
    letters(wire, expired="late").reject([1, 0], 1, None)
    assert [(queue, notes[DEAD_LETTER_REASON]) for queue, _, notes, _ in wire.copies] == [
        ("late", "expired"),
        ("dlq", "rejected after 3 deliveries"),
    ]


def test_a_subscription_is_named_with_the_queue_to_return_to() -> None:
    wire = Wire()
    letters(wire, home="c.audit", address=Address("news", topic=True), key="audit", durable=True).expire(1, "late")
    notes = wire.copies[0][2]
    assert (notes[DEAD_LETTER_ORIGIN], notes[DEAD_LETTER_QUEUE]) == ("topic:news/audit", "c.audit")


@pytest.mark.parametrize(("error", "said"), [(BackendError("full"), True), (LinkLost("cut"), False), (None, False)])
def test_without_a_ticket_a_failure_is_logged(
    error: BackendError | None, said: bool, caplog: pytest.LogCaptureFixture
) -> None:
    wire = Wire()
    letters(wire).reject([0], 1, None)
    wire.copies[0][3](error)
    assert ("a message cannot be moved to 'dlq' (option dead_letter_queue)" in caplog.text) == said


class Timers:
    """The part of a link's life, and of its I/O thread, that copies use."""

    def __init__(self) -> None:
        self.thread = self
        self.endpoint = Endpoint(scheme="test")
        self.timers: list[Callable[[], None]] = []

    def call_later(self, seconds: float, task: Callable[[], None]) -> None:
        self.timers.append(task)


@pytest.mark.parametrize("how", ["confirmed", "too late"])
def test_waiting_for_copies_ends_with_their_confirmation_or_a_deadline(how: str) -> None:
    timers, told, ended = Timers(), list[BackendError | None](), list[str]()
    copies = CopiesUnderWay(timers)  # type: ignore[arg-type]
    copies.when_idle(lambda: ended.append("idle"))
    first, second = copies.begin(1, told.append), copies.begin(2, told.append)
    copies.when_idle(lambda: ended.append(how))
    first.succeed()
    assert (1 in copies, 2 in copies, ended) == (False, True, ["idle"])
    if how == "confirmed":
        second.fail(BackendError("full"))
    timers.timers[0]()
    assert ended == ["idle", how]

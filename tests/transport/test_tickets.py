"""The result of a verb becomes the one answer of its ticket."""

import pytest

from jmsbridge.spi import BackendError
from jmsbridge.testing.suite.contract.support import Answer as Ticket
from jmsbridge.transport.tickets import Answer, CallbackTicket


def test_a_verb_that_ends_succeeds() -> None:
    ticket = Ticket()
    with Answer(ticket):
        pass
    assert ticket.answers == [None]


def test_the_error_of_a_verb_is_the_answer() -> None:
    ticket, error = Ticket(), BackendError("no")
    with Answer(ticket):
        raise error
    assert ticket.answers == [error]


def test_without_a_ticket_the_error_is_raised() -> None:
    with pytest.raises(BackendError, match="no"), Answer(None):
        raise BackendError("no")


def test_a_bug_is_raised_and_answers_nothing() -> None:
    ticket = Ticket()
    with pytest.raises(ZeroDivisionError), Answer(ticket):
        raise ZeroDivisionError
    assert ticket.answers == []


def test_a_ticket_of_the_backend_calls_back() -> None:
    told: list[BackendError | None] = []
    error = BackendError("no")
    CallbackTicket(told.append).succeed()
    CallbackTicket(told.append).fail(error)
    assert told == [None, error]

"""Messages that a broker pushes beyond the credit are held in order, and expire there."""

import time

import pytest

from jmsbridge.spi import Address, Arrival
from jmsbridge.testing.suite.contract.support import Box, envelope
from jmsbridge.transport.deliveries import expiry
from jmsbridge.transport.deliveries.credit import CreditGate


def arrival(token: int, expiration: int = 0) -> Arrival:
    return Arrival(token, envelope(Address("q"), "", expiration=expiration))


def test_no_more_than_the_credit_is_delivered_and_in_order() -> None:
    box, expired = Box(), list[int]()
    gate = CreditGate(box, None, expired.append)
    gate.held.extend(map(arrival, range(5)))
    gate.hand_up()
    assert box.tokens == []
    for credit, tokens in ((2, [0, 1]), (0, [0, 1]), (5, [0, 1, 2, 3, 4])):
        gate.credit += credit
        gate.hand_up()
        assert box.tokens == tokens
    assert (gate.credit, expired) == (2, [])


def test_presettled_messages_are_accepted_when_they_are_delivered_and_not_before() -> None:
    box, accepted = Box(), list[int]()
    gate = CreditGate(box, accepted.append, lambda _: None)
    gate.held.extend(map(arrival, range(3)))
    gate.credit = 1
    gate.hand_up()
    assert accepted == box.tokens == [0]


def test_a_held_message_that_expires_uses_no_credit(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time_ns() // 1_000_000
    box, expired = Box(), list[int]()
    gate = CreditGate(box, None, expired.append)
    gate.held.extend([arrival(0, now + 60_000), arrival(1), arrival(2, now + 120_000)])
    monkeypatch.setattr(expiry, "now_ms", lambda: now + 60_000)
    gate.credit = 2
    gate.hand_up()
    assert (box.tokens, expired, gate.credit) == ([1, 2], [0], 0)


def test_the_size_of_what_is_held() -> None:
    gate = CreditGate(Box(), None, lambda _: None, size_of=lambda token: 10 * token)
    for token in (1, 2, 3):
        gate.hold(arrival(token))
    assert gate.held_size == 60
    gate.credit = 2
    gate.hand_up()
    assert gate.held_size == 30
    gate.clear()
    assert (gate.held_size, len(gate.held)) == (0, 0)

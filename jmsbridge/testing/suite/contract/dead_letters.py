"""Contract: to which queues rejected and expired messages are moved, and which properties they get."""

import time
from typing import Any

import pytest

from jmsbridge.spi.backend import Link
from jmsbridge.spi.dead_letters import (
    DEAD_LETTER_DELIVERIES,
    DEAD_LETTER_ORIGIN,
    DEAD_LETTER_REASON,
    DEAD_LETTER_TIME,
)
from jmsbridge.spi.envelope import Address, Arrival, Outcome
from jmsbridge.spi.native import Native
from jmsbridge.testing.harness import Harness
from jmsbridge.testing.marks import level, requires
from jmsbridge.testing.suite.contract.support import drain, envelope, peek, send, settle, subscribe
from jmsbridge.testing.suite.support import eventually

_LIFE = 1500
"""Time to live in milliseconds: long enough for a message to be delivered, or held, before it expires."""


def _now() -> int:
    return time.time_ns() // 1_000_000


def _take(link: Link, address: Address) -> Arrival:
    """Take the one message that is in the queue, or arrives there."""
    channel = link.channel(False)
    subscription, box = subscribe(channel, address, 1)
    (arrival,) = box.wait(1)
    settle(subscription, box.tokens, Outcome.ACCEPTED)
    drain(subscription)
    channel.close()
    return arrival


def _reject(link: Link, address: Address, to: str, **interest: Any) -> None:
    """Reject the first message, and check that no other one came."""
    channel = link.channel(False)
    subscription, box = subscribe(channel, address, 1, dead_letters=to, **interest)
    box.wait(1)
    settle(subscription, box.tokens, Outcome.REJECTED)
    drain(subscription)
    subscription.close()
    channel.close()


def _wait_past(end: int) -> None:
    eventually(lambda: _now() > end)


@level("contract")
@requires(Native.REJECT)
def test_contract_rejected_goes_to_the_queue_of_the_interest(harness: Harness) -> None:
    address, to, begun = harness.address(), harness.address(), _now()
    link = harness.open_link()
    send(link.channel(False), envelope(address, "bad", properties={"n": 7}))
    channel = link.channel(False)
    subscription, box = subscribe(channel, address, 1, dead_letters=to.name)
    box.wait(1)
    settle(subscription, box.tokens, Outcome.REJECTED, failures=3)
    letter = _take(link, to).envelope
    assert (letter.body, letter.address) == ("bad", to)
    found = dict(letter.properties)
    assert begun <= found.pop(DEAD_LETTER_TIME) <= _now()
    assert found == {
        "n": 7,
        DEAD_LETTER_REASON: "rejected after 3 deliveries",
        DEAD_LETTER_ORIGIN: str(address),
        DEAD_LETTER_DELIVERIES: 3,
    }
    subscription.close()
    channel.close()
    assert peek(link, address) == []


@level("contract")
@requires(Native.REJECT)
def test_contract_rejected_again_keeps_its_origin(harness: Harness) -> None:
    address, to = harness.address(), harness.address()
    link = harness.open_link()
    send(link.channel(False), envelope(address, "bad"))
    _reject(link, address, to.name)
    _reject(link, to, to.name)
    properties = _take(link, to).envelope.properties
    assert properties.get(DEAD_LETTER_ORIGIN) in (str(address), None)  # never the dead-letter queue itself
    assert properties[DEAD_LETTER_REASON] == "rejected after 1 delivery"


@level("contract")
@requires(Native.REJECT | Native.SHARED)
def test_contract_rejected_names_its_subscription(harness: Harness) -> None:
    topic, to, key = harness.address(topic=True), harness.address(), harness.name("sub")
    link = harness.open_link()
    channel = link.channel(False)
    subscription, box = subscribe(channel, topic, 1, key=key, shared=True, dead_letters=to.name)
    send(channel, envelope(topic, "bad"))
    box.wait(1)
    settle(subscription, box.tokens, Outcome.REJECTED)
    assert _take(link, to).envelope.properties[DEAD_LETTER_ORIGIN] == f"{topic}/{key}"
    subscription.close()


@level("contract")
@requires(Native.REJECT)
def test_contract_rejected_does_not_expire(harness: Harness) -> None:
    address, to, end = harness.address(), harness.address(), _now() + _LIFE
    link = harness.open_link()
    send(link.channel(False), envelope(address, "bad", expiration=end))
    _reject(link, address, to.name)
    _wait_past(end)
    letter = _take(link, to).envelope
    assert (letter.body, letter.expiration) == ("bad", 0)


@level("contract")
@requires(Native.EXPIRY | Native.REJECT)
@pytest.mark.parametrize("named", [True, False])
def test_contract_expired_goes_to_the_queue_of_the_interest(harness: Harness, named: bool) -> None:
    """Where the broker pushes beyond the credit, the backend holds the message; elsewhere it is delivered too late."""
    address, to, end = harness.address(), harness.address(), _now() + _LIFE
    link = harness.open_link()
    send(link.channel(False), envelope(address, "first"), envelope(address, "mortal", expiration=end))
    interest: dict[str, Any] = {"expired": to.name} if named else {}
    subscription, box = subscribe(link.channel(False), address, 1, window=5, **interest)
    box.wait(1)
    _wait_past(end)
    subscription.grant(5)
    if named:
        letter = _take(link, to).envelope
        assert (letter.body, letter.expiration) == ("mortal", 0)
        assert letter.properties[DEAD_LETTER_REASON] == "expired"
        assert letter.properties[DEAD_LETTER_ORIGIN] == str(address)
        assert end <= letter.properties[DEAD_LETTER_TIME] <= _now()
    drain(subscription)
    assert box.bodies == ["first"]
    settle(subscription, box.tokens, Outcome.ACCEPTED)
    subscription.close()
    assert peek(link, address) == []


@level("contract")
@requires(Native.REJECT)
@pytest.mark.parametrize("named", [True, False])
def test_contract_rejected_after_expiry_counts_as_expired(harness: Harness, named: bool) -> None:
    """A message that has expired when it is rejected is moved to the interest's queue for expired messages, if any."""
    address, to, gone, end = harness.address(), harness.address(), harness.address(), _now() + _LIFE
    link = harness.open_link()
    send(link.channel(False), envelope(address, "mortal", expiration=end))
    interest: dict[str, Any] = {"expired": gone.name} if named else {}
    subscription, box = subscribe(link.channel(False), address, 1, dead_letters=to.name, **interest)
    box.wait(1)
    _wait_past(end)
    settle(subscription, box.tokens, Outcome.REJECTED)
    letter = _take(link, gone if named else to).envelope
    assert letter.body == "mortal"
    assert letter.properties[DEAD_LETTER_REASON] == ("expired" if named else "rejected after 1 delivery")
    subscription.close()

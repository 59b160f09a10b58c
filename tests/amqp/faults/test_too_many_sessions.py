"""A connection that has as many AMQP sessions as the broker allows."""

from collections.abc import Callable
from typing import Any

import pytest

from jmsbridge.spi import BackendError, LinkLost
from jmsbridge.testing.suite.contract.support import Answer, envelope, send, subscribe
from tests.amqp.faults.support import QUEUE, Opened
from tests.amqp.peer.messages import text

Open = Callable[..., Opened]

MOST = 3


@pytest.fixture
def full(open_link: Open) -> tuple[Opened, Any]:
    """A link with so many consumers, and the last of them."""
    opened = open_link({"channel_max": MOST - 1})
    channel = opened.link.channel(False)
    return opened, [subscribe(channel, QUEUE, 5) for _ in range(MOST)][-1][0]


def _refusal(call: Callable[[], object]) -> str:
    with pytest.raises(BackendError) as refused:
        call()
    assert not isinstance(refused.value, LinkLost)
    assert not refused.value.in_doubt
    return str(refused.value)


@pytest.mark.parametrize("what", ["consume", "transact", "unsubscribe"])
def test_another_is_refused_at_once(full: tuple[Opened, Any], what: str) -> None:
    opened, last = full
    channel = opened.link.channel(False)

    def ask() -> None:
        if what == "consume":
            subscribe(channel, QUEUE, 5)
        elif what == "transact":
            opened.link.channel(True)
        else:
            opened.link.unsubscribe("kept", None)

    assert f"allows {MOST} sessions" in _refusal(ask)
    last.close()
    if what != "unsubscribe":
        ask()
    assert (opened.events.losses, opened.events.channels) == ([], [])


def test_a_message_without_a_session_is_refused_and_the_next_one_tries_again(full: tuple[Opened, Any]) -> None:
    opened, last = full
    channel = opened.link.channel(False)
    for _ in range(2):
        answer = Answer()
        channel.send(envelope(QUEUE), answer)
        refused = answer.outcome()
        assert refused is not None
        assert "use another connection" in str(refused)
        assert not refused.in_doubt
    last.close()
    send(channel, envelope(QUEUE))
    assert (opened.events.losses, opened.events.channels) == ([], [])


def test_the_others_go_on(open_link: Open) -> None:
    opened = open_link({"channel_max": 1})
    channel = opened.link.channel(False)
    send(channel, envelope(QUEUE))
    _, box = subscribe(channel, QUEUE, 5)
    _refusal(lambda: subscribe(channel, QUEUE, 5))
    opened.peer.put("q", text("1"))
    box.wait(1)
    send(channel, envelope(QUEUE))

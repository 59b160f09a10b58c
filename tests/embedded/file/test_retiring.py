"""A retired consumer is deleted in the file too; its unsettled messages can still be settled."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import jmsbridge_embedded
from jmsbridge.spi import Address, Channel, Link, Outcome, Retires, Subscription, SubscriptionRefused
from jmsbridge.spi.envelope import Interest
from tests.embedded.file.worker import FIRST, Answer, Inbox, connect, message, receive, send

NEWS = Address("news", True)


def _count(path: Path, table: str) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def _held(link: Link, count: int, address: Address = FIRST, **interest: Any) -> tuple[Subscription, Inbox, Channel]:
    """A retired consumer with this many unsettled messages."""
    channel, box = link.channel(False), Inbox()
    subscription = channel.subscribe(Interest(address=address, **interest), box)
    send(link.channel(False), *(message(str(number), address) for number in range(count)))
    subscription.grant(count)
    box.wait(count)
    _ask(subscription.drain)
    assert isinstance(subscription, Retires)
    subscription.retire()
    return subscription, box, channel


def _ask(verb: Any, *arguments: Any) -> None:
    answer = Answer()
    verb(*arguments, answer)
    answer.wait()


def test_other_processes_see_the_retirement_when_the_call_returns(path: Path) -> None:
    link = connect(path, client_id="me")
    subscription, box, _ = _held(link, 1, NEWS, key="audit", durable=True)
    assert _count(path, "consumer") == 0
    with pytest.raises(SubscriptionRefused, match="not yet acknowledged"):
        link.unsubscribe("audit", None)
    _ask(subscription.settle, [box.arrivals[0].token], Outcome.ACCEPTED)
    link.unsubscribe("audit", None)
    subscription.close()
    link.close()


def test_credit_granted_afterwards_brings_nothing(path: Path) -> None:
    link = connect(path)
    other = Inbox()
    link.channel(False).subscribe(Interest(address=FIRST), other)  # the queue still has a consumer
    subscription, box, _ = _held(link, 1)
    subscription.grant(10)
    send(link.channel(False), message("later"))
    assert [arrival.envelope.body for arrival in receive(link)] == ["later"]
    assert box.bodies == ["0"]
    link.close()


@pytest.mark.parametrize("outcome", list(Outcome))
def test_a_subscription_without_other_consumers_ends_with_its_messages(path: Path, outcome: Outcome) -> None:
    link = connect(path)
    subscription, box, _ = _held(link, 2, NEWS)
    send(link.channel(False), message("no consumer", NEWS))
    assert (_count(path, "line"), _count(path, "entry")) == (0, 0)
    _ask(subscription.settle, [arrival.token for arrival in box.arrivals], outcome)
    subscription.close()
    dead = ["0", "1"] if outcome is Outcome.REJECTED else []
    assert [arrival.envelope.body for arrival in receive(link, Address("DLQ"))] == dead
    link.close()


@pytest.mark.parametrize("how", ["consumer", "channel", "link", "death"])
def test_unsettled_messages_are_requeued_when_it_ends(path: Path, how: str) -> None:
    link = connect(path)
    subscription, _, channel = _held(link, 2)
    ends = {"consumer": subscription.close, "channel": channel.close, "link": link.close}
    ends.get(how, lambda: jmsbridge_embedded.cut(path=str(path)))()
    found = receive(connect(path))
    again = [(one.envelope.body, one.redelivered, one.delivery_count) for one in found]
    assert again == [("0", True, 2), ("1", True, 2)]
    jmsbridge_embedded.cut(path=str(path))

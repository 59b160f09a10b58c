"""Long queues in a file: what one consumer cannot take costs the others nothing, and delays nothing."""

import time
from pathlib import Path
from typing import Any

import pytest

from jmsbridge.spi import Channel, Envelope, Interest, Link, Outcome, Subscription
from jmsbridge_embedded.file import dispatch
from jmsbridge_embedded.file.store import Store
from tests.embedded.file.worker import FIRST, Answer, Inbox, connect, message, send

_MANY = 60


@pytest.fixture(autouse=True)
def _small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "_PAGE", 5)
    monkeypatch.setattr(dispatch, "_AT_ONCE", 20)


class _Calls:
    """Counts the calls of a method."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> None:
        self.count = 0
        method = getattr(owner, name)

        def counted(*arguments: Any) -> Any:
            self.count += 1
            return method(*arguments)

        monkeypatch.setattr(owner, name, counted)


def _consume(channel: Channel, credit: int, selector: str | None = None) -> tuple[Subscription, Inbox]:
    box = Inbox()
    subscription = channel.subscribe(Interest(address=FIRST, selector=selector), box)
    subscription.grant(credit)
    return subscription, box


def _of_group(group: str, number: int, **fields: Any) -> Envelope:
    return message(f"{group}{number}", properties={"JMSXGroupID": group}, **fields)


def _busy_group(link: Link, selector: str | None = None) -> tuple[Subscription, Inbox]:
    """A consumer that owns the group A, has no credit, and for which many messages wait."""
    subscription, box = _consume(link.channel(False), 1, selector)
    channel = link.channel(False)
    send(channel, _of_group("A", 0))
    box.wait(1)
    send(channel, *(_of_group("A", number) for number in range(1, _MANY)))
    return subscription, box


@pytest.mark.parametrize("selector", [None, "JMSXGroupID = 'A'"])
def test_messages_behind_those_of_a_busy_group_arrive(path: Path, selector: str | None) -> None:
    link = connect(path)
    _busy_group(link, selector)
    _, box = _consume(link.channel(False), 100)
    send(link.channel(False), _of_group("B", 0), message("plain"))
    box.wait(2, timeout=10)
    assert box.bodies == ["B0", "plain"]
    link.close()


def test_a_busy_group_is_not_looked_at_again_and_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = connect(path)
    _busy_group(link)
    _, box = _consume(link.channel(False), 100)
    send(link.channel(False), _of_group("B", 0), _of_group("B", 1))
    box.wait(2, timeout=10)
    transactions, rows = _Calls(monkeypatch, Store, "_execute"), _Calls(monkeypatch, dispatch._Scan, "_offer")
    time.sleep(0.3)  # sleep: nothing must happen meanwhile
    assert transactions.count == 0
    for number in range(2, 12):
        send(link.channel(False), _of_group("B", number))
    box.wait(12, timeout=10)
    assert rows.count <= 20  # not 10 times those that wait
    link.close()


def test_what_waits_for_its_owner_comes_in_order_when_that_has_credit(path: Path) -> None:
    link = connect(path)
    subscription, box = _busy_group(link)
    _consume(link.channel(False), 100)
    send(link.channel(False), _of_group("A", _MANY, priority=9))
    for _ in range(_MANY):
        subscription.grant(1)
    box.wait(_MANY + 1, timeout=10)
    assert box.bodies == ["A0", f"A{_MANY}", *(f"A{number}" for number in range(1, _MANY))]
    link.close()


@pytest.mark.parametrize("selector", [None, "JMSXGroupID = 'A'"])
def test_what_waits_for_its_owner_goes_to_others_when_that_is_closed(path: Path, selector: str | None) -> None:
    link = connect(path)
    subscription, _ = _busy_group(link)
    _, other = _consume(link.channel(False), 100, selector)
    subscription.grant(3)
    subscription.close()
    other.wait(_MANY, timeout=10)
    assert other.bodies == [f"A{number}" for number in range(_MANY)]
    link.close()


def test_what_the_owner_of_a_group_returns_comes_to_it_again(path: Path) -> None:
    link = connect(path)
    subscription, box = _busy_group(link)
    _consume(link.channel(False), 100)
    subscription.grant(9)
    subscription.settle([arrival.token for arrival in box.wait(10)[4:8]], Outcome.RELEASED, answer := Answer())
    answer.wait()
    subscription.grant(_MANY)
    box.wait(_MANY + 4, timeout=10)
    assert box.bodies[10:14] == ["A4", "A5", "A6", "A7"]
    assert box.bodies[14:] == [f"A{number}" for number in range(10, _MANY)]
    link.close()


def test_the_cost_of_a_new_selector_does_not_grow_with_the_number_of_others(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = connect(path)
    channel = link.channel(False)
    send(channel, *(message(str(number)) for number in range(_MANY)))
    questions = _Calls(monkeypatch, dispatch._Scan, "_wants")
    for number in range(20):
        subscription, _ = _consume(channel, 10, f"number = {number}")
        subscription.drain(answer := Answer())
        answer.wait()
        subscription.grant(10)
    channel.send(message("last"), answer := Answer())
    answer.wait()
    assert questions.count <= 2 * 20 * _MANY
    link.close()

"""What the consumers of an application ask the broker about the messages that wait."""

import threading
from typing import Any

import pytest

from jmsbridge import Topic
from jmsbridge.administration import Administration
from jmsbridge.app import App
from jmsbridge.app.container import Container
from jmsbridge.testing.broker import JMSBroker
from tests.app.support import eventually


class _Asked:
    """Counts the questions to the broker about what waits."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.depths = self.lists = 0
        depth, list_all = Administration.depth, Administration.list

        def ask_depth(admin: Administration, queue: Any) -> int:
            self.depths += 1
            return depth(admin, queue)

        def ask_list(admin: Administration) -> Any:
            self.lists += 1
            return list_all(admin)

        monkeypatch.setattr(Administration, "depth", ask_depth)
        monkeypatch.setattr(Administration, "list", ask_list)


def _ticks(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """The looks of the thread that watches, which come often here."""
    ticks: list[None] = []
    look = Container._look

    def count(container: Container) -> None:
        look(container)
        ticks.append(None)

    monkeypatch.setattr(Container, "_look", count)
    monkeypatch.setattr("jmsbridge.app.container._TICK", 0.01)
    return ticks


def test_the_broker_is_not_asked_what_waits_while_nothing_happens(
    jms_broker: JMSBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, asked, ticks = App(), _Asked(monkeypatch), _ticks(monkeypatch)
    for number in range(3):
        app.listener(f"orders{number}", name=f"q{number}", concurrency=(1, 3))(lambda message: None)
        app.listener("topic:news", name=f"t{number}", concurrency=(1, 3), subscription=f"s{number}")(lambda m: None)
    with app:
        eventually(lambda: len(ticks) >= 5)
        assert (asked.depths, asked.lists) == (0, 0)


def test_one_list_says_what_waits_for_all_subscriptions(jms_broker: JMSBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    app, go = App(), threading.Event()
    for number in range(4):
        app.listener("topic:news", name=f"t{number}", concurrency=(1, 2), subscription=f"s{number}")(
            lambda message: go.wait(20)
        )
    with app:
        asked, ticks = _Asked(monkeypatch), _ticks(monkeypatch)
        for text in "abcd":
            jms_broker.send(Topic("news"), text)
        eventually(lambda: all(one.consumers == 2 for one in app.status().listeners), 15)
        assert asked.lists <= len(ticks) + 1
        asked.lists = 0
        assert [one.depth for one in app.status(depths=True).listeners] == [4] * 4
        assert asked.lists == 1
        go.set()

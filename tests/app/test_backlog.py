"""What the consumers of an application ask the broker about the messages that wait."""

import threading
from typing import Any

import pytest

from jmsbridge import Topic
from jmsbridge.administration import Administration
from jmsbridge.app import App
from jmsbridge.app.container import Container
from jmsbridge.testing.broker import JMSBroker
from tests.app.support import Heard, eventually


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


def test_a_consumer_that_waits_for_a_redelivery_is_not_free(
    jms_broker: JMSBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jmsbridge.app.groups._IDLE", 0.01)
    ticks = _ticks(monkeypatch)
    app, heard = App(redelivery={"*": {"first_delay": 60, "delay": 60, "delay_max": 60}}), Heard()

    @app.listener("orders", concurrency=(1, 2))
    def listener(text: str) -> None:
        heard.append(text)
        if text.startswith("bad"):
            raise ValueError(text)

    def waiting() -> int:
        return sum(worker.is_occupied for group in app._container.groups for worker in group.workers)  # type: ignore[union-attr]

    with app:
        jms_broker.send("orders", "bad 1")
        heard.wait(1)
        jms_broker.send("orders", *"abc")
        eventually(lambda: "c" in heard)  # by a second consumer; the first may have fetched "a"
        jms_broker.send("orders", "bad 2")
        eventually(lambda: "bad 2" in heard)
        seen = len(ticks)
        eventually(lambda: len(ticks) >= seen + 20)
        assert (app.status().listeners[0].consumers, waiting()) == (2, 2)
    assert [text for text in heard if text.startswith("bad")] == ["bad 1", "bad 2"]

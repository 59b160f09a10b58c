"""A publisher that is closed while the broker's alarm keeps it from answering."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from jmsbridge_rabbitmq.publishing.publisher import Publisher


class Wire:
    """The publishing connection, its channel and the loop: the test says when the channel is closed."""

    is_open = True
    ended = None

    def __init__(self) -> None:
        self.on_close: Callable[[Any, BaseException], None] = lambda channel, reason: None

    def open_publishing(self, done: Callable[[], None]) -> None:
        done()

    def open_channel(self, opened: Callable[[Any], None]) -> bool:
        opened(self)
        return True

    def confirm_select(self, channel: Any, ready: Callable[[Any], None]) -> None:
        ready(None)

    def listen(self, *callbacks: Any) -> None:
        """Nothing is published here."""

    def add_on_close_callback(self, callback: Callable[[Any, BaseException], None]) -> None:
        self.on_close = callback

    def expect(self) -> None:
        """An answer is due."""

    def close(self) -> None:
        self.is_open = False

    def post(self, task: Callable[[], None]) -> None:
        task()


@pytest.fixture
def wire() -> Wire:
    return Wire()


@pytest.fixture
def pair(wire: Wire) -> Any:
    life = SimpleNamespace(thread=wire, broker="RabbitMQ", lost=lambda: None)
    return SimpleNamespace(life=life, publishing=wire, blocked=False, open_publishing=wire.open_publishing)


@pytest.fixture
def publisher(pair: Any) -> Publisher:
    """One whose channel is open."""
    nothing: Any = SimpleNamespace()
    made = Publisher(pair, nothing, nothing, nothing, quorum=False)
    made._open()
    return made


def test_it_is_closed_when_its_channel_is(publisher: Publisher, wire: Wire) -> None:
    closed: list[str] = []
    publisher.close(lambda: closed.append("closed"))
    assert closed == []
    wire.on_close(wire, ConnectionError("closed as asked"))
    assert closed == ["closed"]


def test_in_an_alarm_it_is_closed_at_once_and_only_once(publisher: Publisher, pair: Any, wire: Wire) -> None:
    """The alarm comes, ends and comes again, and then the broker closes the channel after all."""
    closed: list[str] = []
    pair.blocked = True
    publisher.close(lambda: closed.append("closed"))
    assert closed == ["closed"]
    publisher.on_blocked()
    wire.on_close(wire, ConnectionError("closed as asked"))
    assert closed == ["closed"]


def test_everyone_who_closes_it_is_told(publisher: Publisher, wire: Wire) -> None:
    """A lost SPI channel closes it, and so does the session that is closed meanwhile."""
    closed: list[str] = []
    publisher.close(lambda: closed.append("lost"))
    publisher.close(lambda: closed.append("session"))
    wire.on_close(wire, ConnectionError("closed as asked"))
    publisher.close(lambda: closed.append("again"))
    assert sorted(closed) == ["again", "lost", "session"]

"""The lifetime of a link: deadlines, one loss, every request answered, no events while the link is private."""

import logging
import re
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from jmsbridge.spi import BackendError, ConnectFailed, Endpoint, LinkLost
from jmsbridge.testing.harness import LinkLog
from jmsbridge.testing.suite.contract.support import Answer
from jmsbridge.testing.suite.support import LONG, eventually, run_thread
from jmsbridge.transport.deliveries.commands import Commands
from jmsbridge.transport.network.link_life import Done, LinkLife, after_all


class Broker:
    """The wire of a link whose broker answers when the test says so; also its only socket."""

    def __init__(self, **endpoint: Any) -> None:
        self.log = LinkLog()
        self.order: list[str] = []
        self.quiet_for = 0.0
        self.life = LinkLife("jmsbridge-test-io", "Acme", Endpoint(scheme="acme", host="h", **endpoint), self.log, self)

    def batch(self, task: Callable[[], None]) -> None:
        task()

    def explain(self, error: BaseException) -> LinkLost:
        return LinkLost(f"explained: {error}")

    def answer_all(self) -> None:
        assert self.log.losses == []
        self.order.append("answered")

    def break_off(self, error: BaseException) -> None:
        self.order.append("broken off")
        self.life.thread.stop()

    def silence(self) -> float:
        return self.quiet_for

    def connect(self) -> "Broker":
        self.life.connect(lambda done: done(None, None))
        return self

    def die(self, error: BaseException) -> None:
        self.life.thread.post(lambda: self.life.die(error))
        eventually(lambda: self.life.is_over)
        self.life.thread.join(5)


@pytest.fixture
def broker() -> Iterator[Broker]:
    made = Broker().connect()
    yield made
    made.die(ConnectionError("the test is over"))


def test_the_result_of_what_was_asked(broker: Broker) -> None:
    assert broker.life.wait(lambda done: done(42, None), "asking") == 42
    with pytest.raises(BackendError, match="no"):
        broker.life.wait(lambda done: done(None, BackendError("no")), "asking")


def test_a_link_that_was_closed_before_its_thread_ran_opens_nothing() -> None:
    broker = Broker()
    broker.life.close(lambda: broker.life.die(LinkLost("closed")))
    with pytest.raises(ConnectFailed, match="the link was closed"):
        broker.life.open(lambda done: broker.order.append("opened"))
    assert broker.order[0] == "answered"
    assert "opened" not in broker.order


def test_a_broker_that_does_not_answer_in_time_is_given_up(broker: Broker) -> None:
    with pytest.raises(LinkLost, match=r"asking: no answer from Acme within 0\.01 s") as caught:
        broker.life.wait(lambda done: None, "asking", patience=0.01)
    assert caught.value.in_doubt
    eventually(lambda: broker.log.losses)
    assert broker.life.is_over


def test_the_loss_is_reported_once_after_every_answer(broker: Broker) -> None:
    asked, errors = threading.Event(), list[BackendError]()

    def ask() -> None:
        try:
            broker.life.wait(lambda done: asked.set(), "asking")
        except BackendError as error:
            errors.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    assert asked.wait(5)
    broker.die(ConnectionError("cut"))
    broker.life.die(ConnectionError("cut again"))
    asking.join(5)
    assert [(str(error), error.in_doubt) for error in errors] == [("explained: cut", True)]
    assert [(str(error), error.in_doubt) for error in broker.log.losses] == [("explained: cut", False)]
    assert broker.order == ["answered", "broken off", "broken off"]


def test_a_mistake_while_answering_does_not_hide_the_loss(
    broker: Broker, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise ValueError("a mistake")

    monkeypatch.setattr(broker, "answer_all", fail)
    broker.die(ConnectionError("cut"))
    assert [str(error) for error in broker.log.losses] == ["explained: cut"]
    assert "while open requests were answered" in caplog.text


def test_after_the_loss_every_request_fails_at_once(broker: Broker) -> None:
    broker.die(ConnectionError("cut"))
    for verb in (broker.life.check, lambda: broker.life.wait(lambda done: None, "asking")):
        with pytest.raises(LinkLost, match="explained: cut") as caught:
            verb()
        assert not caught.value.in_doubt
    broker.life.wait_closing(lambda done: None, "closing")


def test_closing_reports_no_loss(broker: Broker) -> None:
    broker.life.close(lambda: broker.life.die(ConnectionError("closed")))
    broker.life.close(lambda: None)
    assert str(broker.life.thread.ended) == "the link was closed"
    assert broker.log.losses == []


def test_nothing_is_begun_while_the_link_is_closed(broker: Broker) -> None:
    """It found closed channels, and a traceback was logged."""
    may_end, asked = threading.Event(), list[str]()
    closing = run_thread(lambda: broker.life.close(may_end.set))
    assert may_end.wait(LONG)
    with pytest.raises(LinkLost, match="the link was closed"):
        broker.life.wait(lambda done: asked.append("asked"), "asking", patience=LONG)
    assert not asked
    broker.die(LinkLost("the broker has closed it"))
    closing.result(LONG)


def test_a_broker_that_ignores_a_close_is_disconnected(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    broker = Broker(close_timeout=0.01).connect()
    broker.life.close(lambda: None)
    assert broker.order == ["answered", "broken off"]
    assert re.search(r"closing .*: no answer from .* within 0.01 s", caplog.text)


def test_a_link_that_is_still_private_reports_no_loss(broker: Broker) -> None:
    broker.life.is_private = True
    broker.die(ConnectionError("cut"))
    assert broker.log.losses == []


@pytest.mark.parametrize("quiet_for", [0.0, 1.0])
def test_a_close_without_answer_gives_up_only_a_silent_broker(
    quiet_for: float, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    broker = Broker(close_timeout=0.01).connect()
    broker.quiet_for = quiet_for
    broker.life.wait_closing(lambda done: None, "closing a consumer")
    assert "closing a consumer: no answer from" in caplog.text
    with pytest.raises(BackendError, match=r"closing a consumer: no answer|explained|within"):
        broker.life.wait_closing(lambda done: None, "closing a consumer", optional=False)
    if quiet_for:
        eventually(lambda: broker.log.losses)
    else:
        assert not broker.life.is_over
    broker.die(ConnectionError("the test is over"))


def test_a_link_that_cannot_be_made() -> None:
    broker = Broker()
    with pytest.raises(ConnectFailed, match="not here"):
        broker.life.connect(lambda done: broker.life.refuse(ConnectFailed("not here"), done))
    broker.life.close(lambda: None)
    assert broker.log.losses == []


def test_a_broker_that_does_not_answer_while_connecting() -> None:
    broker = Broker(connect_timeout=-0.99)  # and a second for answers that are on their way
    with pytest.raises(ConnectFailed, match=r"no answer within .* another protocol's port"):
        broker.life.connect(lambda done: None)
    broker.die(ConnectionError("the test is over"))


def test_a_link_that_is_lost_while_it_is_opened() -> None:
    """That is a failed attempt to connect; nothing is left, and no loss is reported."""
    broker = Broker()
    with pytest.raises(ConnectFailed, match="explained: cut"):
        broker.life.open(lambda done: broker.life.die(ConnectionError("cut")))
    assert broker.life.is_over
    assert broker.log.losses == []


def test_a_refused_link_is_over() -> None:
    broker = Broker()
    with pytest.raises(ConnectFailed, match="not here"):
        broker.life.open(lambda done: broker.life.refuse(ConnectFailed("not here"), done))
    assert broker.life.is_over


def test_a_link_that_was_opened_reports_its_loss() -> None:
    broker = Broker()
    broker.life.open(lambda done: done(None, None))
    broker.life.when_lost.append(lambda: broker.order.append("told"))
    broker.die(ConnectionError("cut"))
    assert broker.order == ["told", "answered", "broken off"]
    assert broker.life.when_lost == []
    assert len(broker.log.losses) == 1


def test_what_waits_for_several() -> None:
    order: list[str] = []
    open_ones: list[Done] = []
    after_all([], lambda: order.append("none"))
    starts: list[Callable[[Done], None]] = [open_ones.append, lambda done: done(None, BackendError("no"))]
    after_all(starts, lambda: order.append("all"))
    assert order == ["none"]
    open_ones[0](None, None)
    assert order == ["none", "all"]


def test_commands_run_in_order_or_are_answered(broker: Broker) -> None:
    ran: list[int] = []
    errors: list[BackendError] = []
    commands = Commands(broker.life, lambda: errors[0] if errors else None, ran.extend)
    for number in range(0, 100, 2):
        commands.put(None, lambda number=number: ran.append(number))  # type: ignore[misc]
        commands.accept([number + 1])
    eventually(lambda: ran == list(range(100)))
    errors.append(BackendError("closed"))
    late = Answer()
    commands.accept([-1])
    commands.put(late, lambda: ran.append(-1))
    assert str(late.outcome()) == "closed"
    broker.die(ConnectionError("cut"))
    lost = Answer()
    commands.accept([-1])
    commands.put(lost, lambda: ran.append(-1))
    outcome = lost.outcome()
    assert isinstance(outcome, LinkLost)
    assert not outcome.in_doubt
    assert ran == list(range(100))


def test_closes_after_one_without_answer_wait_only_a_moment() -> None:
    """A connection closes many sessions and consumers, whose waits add up."""
    broker = Broker(close_timeout=2.0).connect()
    took = list[float]()
    for _ in range(3):
        begun = time.monotonic()
        broker.life.wait_closing(lambda done: None, "closing a consumer")
        took.append(time.monotonic() - begun)
    assert took[0] > 1.9
    assert max(took[1:]) < 1.0
    assert not broker.life.is_over
    begun = time.monotonic()
    broker.life.close(lambda: None)
    assert time.monotonic() - begun < 1.0
    assert broker.order == ["answered", "broken off"]

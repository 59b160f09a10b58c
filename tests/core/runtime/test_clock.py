"""The clock thread survives failing actions and huge delays, and keeps no cancelled timers."""

import _thread
import threading
import time

import pytest

from jmsbridge import DUPS_OK_ACKNOWLEDGE, Queue
from jmsbridge.core.runtime.clock import Clock, system
from jmsbridge.testing.suite.support import LONG, receive_texts, send_texts
from tests.core.support import Embedded

QUEUE = Queue("orders")


def test_a_timer_for_the_distant_future_does_not_stop_the_others() -> None:
    clock = Clock()
    ran = threading.Event()
    distant = [clock.call_later(delay, lambda: None) for delay in (1e11, 1e300, float("inf"))]
    clock.call_later(0.001, ran.set)
    assert ran.wait(LONG)
    for timer in distant:
        timer.cancel()


def test_an_action_that_raises_does_not_stop_the_others(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    ran = threading.Event()
    clock.call_later(0.0, lambda: print(1 // 0))
    clock.call_later(0.001, ran.set)
    assert ran.wait(LONG)
    assert "a timer's action raised" in caplog.text


def test_cancelled_timers_do_not_accumulate() -> None:
    clock = Clock()
    for _ in range(10_000):
        clock.call_later(3600, lambda: None).cancel()
    assert len(clock._heap) < 500


def test_a_clock_whose_thread_cannot_start_works_later(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    ran = threading.Event()

    def refuse(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(_thread, "start_new_thread", refuse)
        with pytest.raises(RuntimeError):
            clock.call_later(0.0, lambda: None)
    clock.call_later(0.001, ran.set)
    assert ran.wait(LONG)


def test_lazy_acknowledgement_with_a_huge_interval(broker: Embedded) -> None:
    connection = broker.connect()
    session = connection.create_session(session_mode=DUPS_OK_ACKNOWLEDGE, dups_ok_interval=1e11, dups_ok_messages=5)
    consumer = session.create_consumer(QUEUE)
    before = len(system._heap)
    texts = [str(number) for number in range(1000)]
    send_texts(connection.create_session(), QUEUE, *texts)
    assert receive_texts(consumer, 1000) == texts
    assert len(system._heap) < before + 300
    assert "jmsbridge-clock" in {thread.name for thread in threading.enumerate()}


def test_an_earlier_timer_is_not_missed_behind_a_later_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jmsbridge.core.runtime.clock.LONGEST_WAIT", 30.0)
    clock, done = Clock(), threading.Event()
    clock.call_later(20.0, print)
    time.sleep(0.05)  # sleep: until the clock's thread waits for the later timer
    clock.call_later(0.1, done.set)
    assert done.wait(5.0)

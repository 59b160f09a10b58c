"""The checks of the library's internals notice what they are there for."""

import threading
from collections.abc import Iterator

import pytest

import jmsbridge
from jmsbridge import Message
from jmsbridge.core.receiving.delivery import Delivery, DeliveryState
from jmsbridge.core.runtime.locks import Rank, ranked
from jmsbridge.testing.suite.support import LONG, eventually
from tools.invariants import OrderedLock, check_invariants


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The checks, for one test."""
    with monkeypatch.context() as patch:
        check_invariants(patch)
        yield


def test_rising_ranks_are_allowed() -> None:
    outer, inner = OrderedLock(Rank.SESSION), OrderedLock(Rank.INBOX)
    with outer, inner:
        assert outer._is_owned()
        assert inner._is_owned()
    assert not outer._is_owned()


@pytest.mark.parametrize("second", [Rank.CONNECTION, Rank.SESSION])
def test_same_or_lower_rank_is_refused(second: Rank) -> None:
    with OrderedLock(Rank.SESSION), pytest.raises(AssertionError, match="lock order"):
        OrderedLock(second).acquire()


def test_serves_as_the_lock_of_a_condition() -> None:
    lock = OrderedLock(Rank.LEAF)
    condition = threading.Condition(lock)  # type: ignore[arg-type]
    seen: list[bool] = []

    def wait() -> None:
        with condition:
            seen.append(condition.wait_for(lambda: len(seen) > 0, 10))

    with condition:
        thread = threading.Thread(target=wait)
        thread.start()
        seen.append(True)
        condition.notify_all()
    thread.join(10)
    assert seen == [True, True]


@pytest.mark.usefixtures("checked")
def test_a_delivery_cannot_leave_its_last_state() -> None:
    delivery = Delivery(None, None)  # type: ignore[arg-type]
    delivery.state = DeliveryState.SETTLED
    with pytest.raises(AssertionError, match="went from"):
        delivery.state = DeliveryState.WAITING


@pytest.mark.usefixtures("checked")
def test_user_code_under_a_lock_is_noticed(caplog: pytest.LogCaptureFixture) -> None:
    """A listener and a completion listener that run while their thread holds a lock."""
    lock = ranked(Rank.CONNECTION)
    got: list[Message] = []

    def first(message: Message) -> None:
        got.append(message)
        lock.acquire()

    with jmsbridge.connect("embedded:?broker=invariants") as connection:
        connection.start()
        session, other = connection.create_session(), connection.create_session()
        queue = session.create_queue("q")
        session.create_consumer(queue).message_listener = first
        producer = other.create_producer(queue)
        for text in "ab":
            producer.send_async(text).result(LONG)
        eventually(lambda: "user code is called while" in caplog.text)
    assert len(got) == 1

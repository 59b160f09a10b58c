"""A pump for a broker that is polled: credit, drain and close."""

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence

import msgspec
import pytest

from jmsbridge.spi import Address, Arrival, BackendError, ChannelLost
from jmsbridge.testing.suite.contract.support import Answer, Box, envelope
from jmsbridge.testing.suite.support import eventually
from jmsbridge.transport.deliveries.polling import CreditPump


class Store:
    """Messages by number, and a fetch that waits."""

    def __init__(self) -> None:
        self.waiting: deque[int] = deque()
        self.returned: list[int] = []
        self.expired: set[int] = set()
        self.asked: list[tuple[int, bool]] = []
        self.error: Exception | None = None
        self.in_between: Callable[[], None] = lambda: None
        self._changed = threading.Condition()
        self._woken = False

    def add(self, *numbers: int) -> None:
        with self._changed:
            self.waiting.extend(numbers)
            self._changed.notify_all()

    def fetch(self, most: int, *, wait: bool) -> Sequence[Arrival]:
        with self._changed:
            self.asked.append((most, wait))
            if wait:
                assert self._changed.wait_for(lambda: self.waiting or self._woken or self.error, 30)
            self._woken = False
            if self.error is not None:
                raise self.error
            found = [self.waiting.popleft() for _ in range(min(most, len(self.waiting)))]
        self.in_between()
        return [Arrival(number, _EXPIRED if number in self.expired else _ENVELOPE) for number in found]

    def release(self, arrivals: Sequence[Arrival]) -> None:
        self.returned += [each.token for each in arrivals]

    def wake(self) -> None:
        with self._changed:
            self._woken = True
            self._changed.notify_all()


_ENVELOPE = envelope(Address("q"), "")
_EXPIRED = msgspec.structs.replace(_ENVELOPE, expiration=1)


class World:
    """A pump with its store and its inbox."""

    def __init__(self) -> None:
        self.store, self.box = Store(), Box()
        self.failures: list[BackendError] = []
        self.pump = CreditPump("jmsbridge-test-io", self.store, self.box, self.failures.append, batch=10)


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    yield made
    made.pump.close(timeout=5)


def test_nothing_is_fetched_without_credit(world: World) -> None:
    world.store.add(*range(5))
    world.pump.drain(answer := Answer())
    answer.wait()
    assert (world.box.tokens, world.store.asked) == ([], [])


def test_never_more_than_the_credit_and_in_order(world: World) -> None:
    world.store.add(*range(100))
    world.pump.grant(25)
    world.box.wait(25)
    world.pump.drain(answer := Answer())
    answer.wait()
    assert world.box.tokens == list(range(25))
    assert max(most for most, _ in world.store.asked) == 10


def test_a_message_that_comes_later_is_fetched(world: World) -> None:
    world.pump.grant(2)
    eventually(lambda: world.store.asked)
    world.store.add(1)
    world.box.wait(1)
    world.store.add(2, 3)
    world.box.wait(2)
    assert list(world.store.waiting) == [3]


def test_drain_delivers_what_is_there_and_ends_the_credit(world: World) -> None:
    world.pump.grant(50)
    eventually(lambda: world.store.asked)
    world.store.add(*range(30))
    world.pump.drain(answer := Answer())
    answer.wait()
    assert world.box.tokens == list(range(30))
    world.store.add(30)
    world.pump.drain(again := Answer())
    again.wait()
    assert len(world.box.tokens) == 30


def test_messages_fetched_during_the_close_are_released(world: World) -> None:
    reached, go_on = threading.Event(), threading.Event()

    def held() -> None:
        reached.set()
        assert go_on.wait(30)

    world.store.in_between = held
    world.store.add(1, 2)
    world.pump.grant(2)
    assert reached.wait(5)
    closing = threading.Thread(target=world.pump.close)
    closing.start()
    eventually(lambda: world.pump._is_closed)
    go_on.set()
    closing.join(5)
    assert (world.box.tokens, world.store.returned) == ([], [1, 2])


def test_close_answers_a_drain_and_later_ones(world: World) -> None:
    world.pump.close()
    world.pump.drain(late := Answer())
    assert isinstance(late.outcome(), ChannelLost)


def test_a_failing_broker_is_reported_once(world: World) -> None:
    world.store.error = BackendError("gone")
    world.pump.grant(1)
    eventually(lambda: world.failures)
    world.pump.close(timeout=5)
    assert [str(error) for error in world.failures] == ["gone"]


def test_an_exception_of_the_source_answers_drains_and_is_reported(world: World) -> None:
    drained = Answer()
    world.store.error = ValueError("a mistake")
    world.pump.grant(1)
    eventually(lambda: world.failures)
    world.pump.drain(drained)
    assert isinstance(drained.outcome(), ChannelLost)
    assert "ValueError('a mistake')" in str(world.failures[0])


def test_a_presettled_message_is_accepted_just_before_its_delivery() -> None:
    store, box = Store(), Box()
    accepted: list[tuple[int, int]] = []
    pump = CreditPump(
        "jmsbridge-test-io",
        store,
        box,
        lambda error: None,
        accept=lambda token: accepted.append((token, len(box.tokens))),
    )
    store.add(1, 2)
    pump.grant(2)
    box.wait(2)
    pump.close(timeout=5)
    assert accepted == [(1, 0), (2, 1)]


def test_an_expired_message_uses_no_credit() -> None:
    store, box = Store(), Box()
    expired: list[int] = []
    pump = CreditPump("jmsbridge-test-io", store, box, lambda error: None, expire=expired.append)
    store.expired = {1, 2}
    store.add(1, 2, 3, 4, 5)
    pump.grant(2)
    box.wait(2)
    pump.drain(answer := Answer())
    answer.wait()
    pump.close(timeout=5)
    assert (expired, box.tokens) == ([1, 2], [3, 4])

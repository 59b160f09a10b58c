"""Passing items to the I/O thread: each is served once, in order, and none is lost."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from jmsbridge.spi import LinkLost
from jmsbridge.testing.suite.support import eventually
from jmsbridge.transport.network.io_thread import IoThread, Mailbox


class World:
    """A running loop, and the items that were served or refused."""

    def __init__(self) -> None:
        self.crashes: list[BaseException] = []
        self.batches = 0
        self.served: list[int] = []
        self.refused: list[int] = []
        self.loop = IoThread("jmsbridge-rabbitmq-test-io", self._around, self.crashes.append)
        self.box: Mailbox[int] = Mailbox(self.loop, self._serve, self.refused.append)
        started = threading.Event()
        self.loop.start(started.set)
        assert started.wait(5)

    def _around(self, task: Callable[[], None]) -> None:
        self.batches += 1
        task()

    def _serve(self, items: deque[int]) -> None:
        while items:
            self.served.append(items.popleft())

    def stop(self) -> None:
        self.loop.post(self.loop.stop)
        self.loop.join(5)


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    yield made
    made.stop()


def test_items_are_served_in_order(world: World) -> None:
    for number in range(10_000):
        world.box.put(number)
    eventually(lambda: len(world.served) == 10_000)
    assert world.served == list(range(10_000))
    assert world.refused == []


def test_accumulated_items_are_served_in_one_batch(world: World) -> None:
    begun, put = threading.Event(), threading.Event()

    def busy() -> None:
        begun.set()
        assert put.wait(30)

    world.loop.post(busy)
    assert begun.wait(5)
    before = world.batches
    for number in range(1000):
        world.box.put(number)
    put.set()
    eventually(lambda: world.served == list(range(1000)))
    assert world.batches == before + 1


def test_a_few_items_do_not_wake_the_thread_while_it_polls(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[Callable[[], None]] = []
    monkeypatch.setattr(world.loop, "look_later", looks.append)
    world.box.watch()
    world.box.watch()
    for number in range(63):
        world.box.put(number)
    passed = threading.Event()
    world.loop.post(passed.set)
    assert passed.wait(5)
    assert world.served == []
    assert len(looks) == 1
    world.loop.post(looks[0])
    eventually(lambda: world.served == list(range(63)))
    world.box.put(63)
    eventually(lambda: world.served == list(range(64)))


def test_an_item_that_does_not_wait_takes_those_before_it_along(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world.loop, "look_later", lambda look: None)
    world.box.watch()
    world.box.put(1)
    world.box.put(2, waits=False)
    eventually(lambda: world.served == [1, 2])


def test_many_items_wake_the_thread_while_it_polls(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world.loop, "look_later", lambda look: None)
    world.box.watch()
    for number in range(64):
        world.box.put(number)
    eventually(lambda: world.served == list(range(64)))


def test_the_last_awaited_item_wakes_the_thread_while_it_polls(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world.loop, "look_later", lambda look: None)
    world.box.watch(3)
    world.box.put(1)
    world.box.put(2)
    passed = threading.Event()
    world.loop.post(passed.set)
    assert passed.wait(5)
    assert world.served == []
    world.box.put(3)
    eventually(lambda: world.served == [1, 2, 3])
    world.box.watch(0)
    world.box.put(4)
    eventually(lambda: world.served == [1, 2, 3, 4])


def test_polling_finds_items_without_a_wake_up(world: World) -> None:
    put = threading.Event()

    def watch() -> None:
        world.box.watch()
        assert put.wait(5)

    world.loop.post(watch)
    world.box.put(1)
    put.set()
    eventually(lambda: world.served == [1])


def test_every_item_of_every_thread_is_answered_once_when_the_loop_ends(world: World) -> None:
    def put(first: int) -> None:
        for number in range(first, first + 2000):
            world.box.put(number)

    threads = [threading.Thread(target=put, args=(each * 10_000,)) for each in range(4)]
    for thread in threads:
        thread.start()

    def end() -> None:
        world.loop.ended = LinkLost("over")
        world.box.refuse_all()

    eventually(lambda: world.served)
    world.loop.post(end)
    for thread in threads:
        thread.join(10)
    eventually(lambda: len(world.served) + len(world.refused) == 8000)
    answered = sorted(world.served + world.refused)
    assert answered == sorted(each * 10_000 + number for each in range(4) for number in range(2000))


def test_a_task_that_raises_is_reported_and_the_thread_continues(world: World) -> None:
    def fail() -> None:
        raise RuntimeError("a defect")

    world.loop.post(fail)
    world.box.put(1)
    eventually(lambda: world.served == [1])
    assert [str(error) for error in world.crashes] == ["a defect"]


def test_after_the_end_nothing_hangs() -> None:
    world = World()
    world.stop()
    world.loop.ended = LinkLost("over")
    world.box.put(1)
    world.loop.post(lambda: None)
    assert world.refused == [1]
    assert not world.loop.is_current()


# -- interrupts: a signal handler raises in the thread that passes an item


class Raising:
    """Replaces a method; the first call raises, before or after it calls the method."""

    def __init__(self, method: Callable[..., Any], *, before: bool) -> None:
        self._method = method
        self._before = before
        self._left = 1

    def __call__(self, *arguments: Any) -> None:
        self._left -= 1
        if self._left < 0 or not self._before:
            self._method(*arguments)
        if self._left >= 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("what", ["wake", "post"])
def test_an_interrupt_while_waking_does_not_lose_the_wake_up(
    world: World, monkeypatch: pytest.MonkeyPatch, what: str, before: bool
) -> None:
    owner, method = (world.loop.loop, "add_callback_threadsafe") if what == "wake" else (world.loop, "post")
    monkeypatch.setattr(owner, method, Raising(getattr(owner, method), before=before))
    with pytest.raises(KeyboardInterrupt):
        world.box.put(1)
    eventually(lambda: world.served == [1])
    world.box.put(2)
    eventually(lambda: world.served == [1, 2])
    other: Mailbox[int] = Mailbox(world.loop, world._serve, world.refused.append)
    other.put(3)
    eventually(lambda: world.served == [1, 2, 3])


def test_an_interrupt_while_yielding_comes_after_the_hand_over(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, put = threading.Event(), threading.Event()

    def busy() -> None:
        begun.set()
        assert put.wait(30)

    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    world.loop.post(busy)
    assert begun.wait(5)
    monkeypatch.setattr(time, "sleep", interrupt)
    handed = 0
    with pytest.raises(KeyboardInterrupt):
        for handed in range(1_000):
            world.box.put(handed)
    put.set()
    eventually(lambda: world.served == list(range(handed + 1)))


def test_an_interrupt_while_refusing_refuses_once_more() -> None:
    world = World()
    world.stop()
    world.loop.ended = LinkLost("over")
    answers: list[int] = []

    def refuse(item: int) -> None:
        answers.append(item)
        if len(answers) == 1:
            raise KeyboardInterrupt

    box: Mailbox[int] = Mailbox(world.loop, world._serve, refuse)
    with pytest.raises(KeyboardInterrupt):
        box.put(1)
    box.put(2)
    assert answers == [1, 1, 2]

"""The memory of what was acknowledged lately is bounded, in number and in time (issue 17)."""

import threading
import tracemalloc

import pytest

from jmsbridge_pulsar.receiving import memory
from jmsbridge_pulsar.receiving.memory import Known, Lately, known_of


def test_it_knows_what_was_accepted() -> None:
    accepted = Lately()
    assert (1, 2, -1, -1, 7) not in accepted
    accepted.add((1, 2, -1, -1, 7))
    assert (1, 2, -1, -1, 7) in accepted
    assert (1, 2, -1, 0, 7) not in accepted
    assert (1, 2, -1, -1, 8) not in accepted


def test_it_is_the_same_for_each_link_of_a_subscription() -> None:
    one = known_of("pulsar://broker:6650", "persistent://a/b/c", "sub")
    one.accepted.add((1, 2, -1, -1, 7))
    assert known_of("pulsar://broker:6650", "persistent://a/b/c", "sub") is one
    for other in (("pulsar://x", "persistent://a/b/c", "sub"), ("pulsar://broker:6650", "persistent://a/b/c", "x")):
        assert (1, 2, -1, -1, 7) not in known_of(*other).accepted


def test_it_forgets_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    accepted = Lately()
    accepted.add((1, 1, -1, -1, 7))
    now += 119
    accepted.add((1, 2, -1, -1, 7))
    assert (1, 1, -1, -1, 7) in accepted
    now += 2
    assert (1, 1, -1, -1, 7) not in accepted
    assert (1, 2, -1, -1, 7) in accepted


def test_what_comes_again_is_known_from_then_on(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    accepted = Lately()
    for number in range(10):
        accepted.add((1, number, -1, -1, 7))
    now += 100
    accepted.add((1, 0, -1, -1, 7))
    now += 100
    assert (1, 0, -1, -1, 7) in accepted
    for number in range(100, 200):  # each of them may make room for one
        accepted.add((1, number, -1, -1, 7))
    assert (1, 0, -1, -1, 7) in accepted


def test_many_messages_of_many_subscriptions_keep_little(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_MOST", 20_000)
    tracemalloc.start()
    for number in range(2000):
        accepted = known_of("pulsar://many", f"persistent://a/b/{number}", "sub").accepted
        for entry in range(30):
            accepted.add((number, entry, -1, -1, 1_700_000_000_000 + entry))
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 10 << 20
    last = known_of("pulsar://many", "persistent://a/b/1999", "sub").accepted
    assert (1999, 29, -1, -1, 1_700_000_000_029) in last
    assert (0, 0, -1, -1, 1_700_000_000_000) not in known_of("pulsar://many", "persistent://a/b/0", "sub").accepted


def test_it_knows_what_a_consumer_has_or_has_lost() -> None:
    known, key, other = Known(), (1, 2, -1, -1, 7), (1, 3, -1, -1, 7)
    first, second, third = object(), object(), object()
    assert not known.take(key, first)
    assert known.take(key, second)  # the topic moved, and another consumer gets it
    known.let_go(key, first)
    assert known.take(key, third)
    known.let_go(key, third)
    assert not known.take(key, first)
    known.lose([(key, first)])
    assert known.take(key, second)
    assert not known.take(other, first)


def test_many_threads() -> None:
    accepted = Lately()

    def work(first: int) -> None:
        for number in range(3000):
            accepted.add((first, number, -1, -1, 7))
            assert (first, number, -1, -1, 7) in accepted

    threads = [threading.Thread(target=work, args=(first,)) for first in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((first, 2999, -1, -1, 7) in accepted for first in range(6))

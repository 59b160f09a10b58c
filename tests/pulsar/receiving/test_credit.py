"""The credit of a consumer: never more than the facade wants (issue 17)."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from jmsbridge.transport.network.link_life import LinkLife
from jmsbridge_pulsar.receiving.credit import Credit


class Asked:
    """What a consumer asks the broker for."""

    def __init__(self) -> None:
        self.counts: list[int] = []
        thread: Any = SimpleNamespace(post=lambda task: task())
        life = cast(LinkLife, SimpleNamespace(thread=thread))
        self.credit = Credit(life, {}, {}, lambda _: None, durable=True)
        self.credit.ready(self.counts.append)


@pytest.fixture
def asked() -> Asked:
    return Asked()


def test_what_was_passed_on_is_not_asked_for_again(asked: Asked) -> None:
    """The library says so before the pump has said what it took."""
    asked.credit.allow(1)
    asked.credit.used(1)
    assert asked.counts == [1]
    asked.credit.moved(1, 1)
    assert asked.counts == [1]
    asked.credit.allow(1)
    assert asked.counts == [1, 1]


def test_a_pump_that_is_slow_to_count_is_waited_for(asked: Asked) -> None:
    """While others used the processor, what it had taken was asked for a second time: a prefetch of 128 became 192."""
    asked.credit.allow(128)
    asked.credit.used(64)
    asked.credit.allow(1)
    assert asked.counts == [128, 1]
    asked.credit.moved(64, 64)
    assert asked.counts == [128, 1]


def test_what_the_library_dropped_is_asked_for_again(asked: Asked) -> None:
    asked.credit.allow(2)
    asked.credit.used(2)
    asked.credit.moved(0, 0)
    assert asked.counts == [2, 2]
    asked.credit.used(1)
    asked.credit.moved(0, 0)
    assert asked.counts == [2, 2, 1]


def test_what_was_taken_and_not_shown_is_asked_for_again(asked: Asked) -> None:
    asked.credit.allow(2)
    asked.credit.moved(2, 1)
    assert asked.counts == [2, 1]


def test_what_waits_of_a_batch_is_not_asked_for_again(asked: Asked) -> None:
    """A prefetch of 128 was exceeded by up to 31."""
    asked.credit.allow(128)
    asked.credit.used(32)
    asked.credit.moved(1, 1, 31)
    asked.credit.allow(1)
    assert asked.counts == [128, 1]
    asked.credit.moved(31, 31, 0)
    assert asked.counts == [128, 1]
    asked.credit.used(97)
    asked.credit.moved(90, 90, 0)
    assert asked.counts == [128, 1, 7]

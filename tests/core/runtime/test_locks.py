"""The debugging locks refuse an order of locking that could deadlock."""

import threading

import pytest

from jmsbridge.core.runtime.locks import OrderedLock, Rank


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
    lock = OrderedLock(Rank.LEAF, yielding=True)
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

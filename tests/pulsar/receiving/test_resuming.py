"""Where a consumer goes on that leaves nothing at the broker (issue 17)."""

import pytest

from jmsbridge_pulsar.receiving.resuming import Beginning, Progress


@pytest.fixture(params=["plain", "shared"])
def beginning(request: pytest.FixtureRequest) -> Beginning:
    return Beginning() if request.param == "plain" else Progress(("pulsar://resuming", "t", "s"))


def test_it_begins_where_the_topic_ended(beginning: Beginning) -> None:
    assert beginning.asks(0)
    assert beginning.start(0) is None
    beginning.learn(0, (7, 5))
    beginning.open()
    assert beginning.start(0) == (7, 5)
    assert not beginning.asks(0)
    beginning.close()
    assert beginning.start(0) is None


def test_it_begins_at_the_end_if_the_broker_did_not_say_where(beginning: Beginning) -> None:
    beginning.learn(0, None)
    beginning.open()
    assert beginning.start(0) is None


def test_a_new_partition_is_taken_from_its_begin(beginning: Beginning) -> None:
    """Its first messages were lost: the library looks for new partitions once a minute."""
    beginning.learn(0, (7, 5))
    beginning.open()
    assert not beginning.asks(1)
    assert beginning.start(1) == (-1, -1)
    if isinstance(beginning, Progress):
        assert not beginning.see((8, 3, 1, -1, 1))  # it is not marked as redelivered
        assert beginning.start(1) == (8, 2)

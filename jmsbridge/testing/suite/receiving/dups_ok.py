"""DUPS_OK_ACKNOWLEDGE: after so many messages or so many seconds, whichever comes first (rule AC-2)."""

from typing import Any

import pytest

from jmsbridge import (
    CLIENT_ACKNOWLEDGE,
    DUPS_OK_ACKNOWLEDGE,
    Queue,
    Session,
)
from jmsbridge.spi.native import Native
from jmsbridge.testing.harness import Harness
from jmsbridge.testing.marks import requires, rule
from jmsbridge.testing.suite.receiving.redelivery_support import (
    deferred_session,
    deliveries,
    delivery,
    left,
    lossy_session,
    returned,
    take,
    texts_after_cut,
    unseen,
)
from jmsbridge.testing.suite.support import SHORT, assert_empty, receive_texts, send_texts


@rule("AC-2")
@requires(Native.SETTLE_CONFIRM)
@pytest.mark.parametrize("where", ["connection", "session"])
@pytest.mark.parametrize(
    ("number", "interval", "remaining"),
    [(2, 0, ["c"]), (4, 0, ["a", "b", "c"]), (1, 0, []), (0, 0, ["a", "b", "c"]), (100, 60, ["a", "b", "c"])],
)
def test_ack_dups_ok_acknowledges_by_number(
    harness: Harness, session: Session, queue: Queue, where: str, number: int, interval: float, remaining: list[str]
) -> None:
    """Every n-th received message acknowledges all before it; here the network fails after three."""
    strategy: dict[str, Any] = {"dups_ok_messages": number, "dups_ok_interval": interval}
    options = strategy if where == "connection" else {}
    lossy = harness.connect(reconnect_attempts=0, block_on_acknowledge=True, **options)
    lazy = lossy.create_session(acknowledge_mode=DUPS_OK_ACKNOWLEDGE, **(strategy if where == "session" else {}))
    consumer = lazy.create_consumer(queue)
    send_texts(session, queue, "a", "b", "c")
    assert receive_texts(consumer, 3) == ["a", "b", "c"]
    assert texts_after_cut(harness, queue, len(remaining)) == remaining


@rule("AC-2")
@requires(Native.SETTLE_CONFIRM)
def test_ack_dups_ok_acknowledges_by_interval(harness: Harness, session: Session, queue: Queue) -> None:
    """After k seconds received messages are acknowledged, without a further message."""
    send_texts(session, queue, "a", "b")
    for patience in (0.4, 2.0, 10.0):  # a busy machine may be late
        consumer = lossy_session(
            harness, DUPS_OK_ACKNOWLEDGE, dups_ok_messages=0, dups_ok_interval=0.1
        ).create_consumer(queue)
        assert receive_texts(consumer, 2) == ["a", "b"]
        assert_empty(consumer, timeout=patience)
        harness.cut()
        with harness.connect() as connection:  # closing returns the messages that it received
            found = connection.create_session(False, CLIENT_ACKNOWLEDGE).create_consumer(queue).receive(timeout=SHORT)
        if found is None:
            break
    assert texts_after_cut(harness, queue, 0) == []


@rule("AC-2")
def test_ack_dups_ok_of_one_is_auto(harness: Harness, session: Session, queue: Queue) -> None:
    """n = 1 and k = 0 behave as AUTO_ACKNOWLEDGE: recover and acknowledge have no effect."""
    lazy = deferred_session(harness, DUPS_OK_ACKNOWLEDGE, dups_ok_messages=1, dups_ok_interval=0)
    consumer = lazy.create_consumer(queue)
    send_texts(session, queue, "a", "b")
    take(consumer).acknowledge()
    lazy.recover()
    assert deliveries(consumer, 1) == [("b", False, 1)]
    lazy.recover()
    assert_empty(consumer)


@rule("AC-2", "AC-3", "AC-10")
def test_ack_dups_ok_of_zero_is_client(harness: Harness, session: Session, queue: Queue) -> None:
    """n = 0 and k = 0 behave as CLIENT_ACKNOWLEDGE: acknowledge and recover work, and close acknowledges nothing."""
    lazy = deferred_session(harness, DUPS_OK_ACKNOWLEDGE, dups_ok_messages=0, dups_ok_interval=0)
    consumer = lazy.create_consumer(queue)
    send_texts(session, queue, "a", "b", "c")
    older, _ = take(consumer), take(consumer)
    older.acknowledge()
    assert delivery(take(consumer)) == ("c", False, 1)
    lazy.recover()
    assert deliveries(consumer, 1) == [("c", True, 2)]
    lazy.close()
    assert [(text, flag) for text, flag, _ in left(harness, queue, 1)] == [returned(harness, "c")[:2]]


@rule("AC-2")
def test_ack_dups_ok_is_complete_after_close(harness: Harness, session: Session, queue: Queue) -> None:
    """Without a failure, after an orderly close no message is duplicated or lost."""
    lazy = deferred_session(harness, DUPS_OK_ACKNOWLEDGE, dups_ok_messages=100, dups_ok_interval=60)
    consumer = lazy.create_consumer(queue)
    send_texts(session, queue, "a", "b", "c")
    assert receive_texts(consumer, 2) == ["a", "b"]
    lazy.close()
    assert left(harness, queue, 1) == [unseen(harness, "c")]


@rule("AC-13")
def test_ack_dups_ok_never_exceeds_prefetch(harness: Harness, session: Session, queue: Queue) -> None:
    """An n above the prefetch does not starve the consumer."""
    lazy = deferred_session(harness, DUPS_OK_ACKNOWLEDGE, prefetch=2, dups_ok_messages=50, dups_ok_interval=0)
    consumer = lazy.create_consumer(queue)
    send_texts(session, queue, *"abcdef")
    assert receive_texts(consumer, 6) == list("abcdef")

"""A redelivery policy per destination: pauses, limit, dead-letter queue and expiry queue."""

import time
from typing import Any

import pytest

from jmsbridge import CLIENT_ACKNOWLEDGE, SESSION_TRANSACTED, Queue, Session, Topic
from jmsbridge.spi import (
    DEAD_LETTER_DELIVERIES,
    DEAD_LETTER_ORIGIN,
    DEAD_LETTER_REASON,
    DEAD_LETTER_TIME,
    Native,
)
from jmsbridge.testing.harness import Harness
from jmsbridge.testing.marks import requires, rule
from jmsbridge.testing.suite.receiving.redelivery_support import deferred_session, delivery, take
from jmsbridge.testing.suite.support import assert_empty, eventually, send_coloured, send_texts, text_of


def _session(harness: Harness, queue: Queue, mode: int = CLIENT_ACKNOWLEDGE, **policy: Any) -> Session:
    """A session whose connection has this policy for this queue."""
    return deferred_session(harness, mode, redelivery={queue.queue_name: policy})


@rule("AC-9")
@requires(Native.REJECT, native=True)
@pytest.mark.parametrize("mode", [CLIENT_ACKNOWLEDGE, SESSION_TRANSACTED])
def test_redelivery_policy_names_the_queue_for_dead_letters(
    harness: Harness, session: Session, queue: Queue, mode: int
) -> None:
    """A message that failed too often is in the policy's dead-letter queue, with reason, origin, time and count."""
    dead = Queue(f"{queue.queue_name}.dead")
    failing = _session(harness, queue, mode, max_redeliveries=1, dead_letter_queue=dead.queue_name)
    consumer = failing.create_consumer(queue)
    begun = time.time_ns() // 1_000_000
    send_texts(session, queue, "bad", "good")
    for _ in range(2):
        assert text_of(take(consumer)) == "bad"
        failing.rollback() if failing.transacted else failing.recover()
    assert text_of(take(consumer)) == "good"
    letter = take(session.create_consumer(dead))
    assert letter.text == "bad"
    assert letter.get_string_property(DEAD_LETTER_REASON) == "rejected after 2 deliveries"
    assert letter.get_string_property(DEAD_LETTER_ORIGIN) == str(queue.address)
    assert letter.get_int_property(DEAD_LETTER_DELIVERIES) == 2
    assert begun - 1000 <= letter.get_long_property(DEAD_LETTER_TIME) <= time.time_ns() // 1_000_000 + 1000


@rule("AC-12", "TX-2")
@requires(Native.REJECT, native=True)
@requires(Native.TOPIC_SELECTORS)
def test_redelivery_policy_counts_nothing_that_was_not_selected(
    harness: Harness, session: Session, topic: Topic
) -> None:
    """A message that the selector of a topic's consumer does not match fails in no transaction."""
    dead = Queue(f"{topic.topic_name}.dead")
    policy = {"max_redeliveries": 1, "dead_letter_queue": dead.queue_name, "delay": 0.001}
    failing = harness.connect(redelivery={f"topic:{topic.topic_name}": policy}).create_session(transacted=True)
    consumer = failing.create_consumer(topic, "colour = 'red'")
    send_coloured(session, topic, "green", "red", "green")
    for _ in range(2):
        assert text_of(take(consumer)) == "red"
        assert_empty(consumer)
        failing.rollback()
    assert_empty(consumer)
    with session.create_consumer(dead) as letters:
        assert text_of(take(letters)) == "red"
        assert_empty(letters)


@rule("EX-1")
@requires(Native.REJECT, native=True)
@pytest.mark.parametrize("mode", [CLIENT_ACKNOWLEDGE, SESSION_TRANSACTED])
def test_redelivery_policy_names_the_queue_for_expired_messages(
    harness: Harness, session: Session, queue: Queue, mode: int
) -> None:
    """A message that expires before delivery is in the policy's expiry queue, with the reason."""
    gone = Queue(f"{queue.queue_name}.expired")
    consumer = _session(harness, queue, mode, expiry_queue=gone.queue_name).create_consumer(queue)
    with session.create_producer(queue) as producer:
        producer.send("first")
        producer.time_to_live = 0.2
        producer.send("mortal")
        sent = time.monotonic()
        producer.time_to_live = 0
        producer.send("last")
    assert text_of(take(consumer)) == "first"  # the others may be here already
    eventually(lambda: time.monotonic() > sent + 0.3, 5.0)
    assert text_of(take(consumer)) == "last"
    assert_empty(consumer)
    letter = take(session.create_consumer(gone))
    assert (letter.text, letter.get_string_property(DEAD_LETTER_REASON)) == ("mortal", "expired")
    assert letter.get_string_property(DEAD_LETTER_ORIGIN) == str(queue.address)


@rule("AC-9")
def test_redelivery_policy_without_limit(harness: Harness, session: Session, queue: Queue) -> None:
    """With *unlimited* a message is redelivered as often as it fails."""
    failing = _session(harness, queue, max_redeliveries="unlimited", delay=0.001, delay_max=0.001)
    consumer = failing.create_consumer(queue)
    send_texts(session, queue, "bad")
    for count in range(1, 15):
        assert delivery(take(consumer)) == ("bad", count > 1, count)
        failing.recover()
    take(consumer).acknowledge()


@rule("AC-9")
def test_redelivery_policy_first_pause(harness: Harness, session: Session, queue: Queue) -> None:
    """The first redelivery waits as long as the policy says."""
    failing = _session(harness, queue, first_delay=0.4)
    consumer = failing.create_consumer(queue)
    send_texts(session, queue, "bad")
    take(consumer)
    begun = time.monotonic()
    failing.recover()
    take(consumer).acknowledge()
    assert 0.38 <= time.monotonic() - begun < 5


@rule("AC-9")
def test_redelivery_policy_of_another_destination(harness: Harness, session: Session, queue: Queue) -> None:
    """A policy applies only to its destination; others use the connection's options."""
    other = Queue(f"{queue.queue_name}-other")
    connection = harness.connect(redelivery={queue.queue_name: {"first_delay": 3600}}, redelivery_delay_first=0)
    failing = connection.create_session(session_mode=CLIENT_ACKNOWLEDGE)
    send_texts(session, other, "bad")
    consumer = failing.create_consumer(other)
    take(consumer)
    failing.recover()
    take(consumer).acknowledge()

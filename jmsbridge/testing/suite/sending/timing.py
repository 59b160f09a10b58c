"""Expiry and delivery delay: rules EX-1 and DD-1 to DD-3.

Delays are short; a wait for nothing is a receive with a timeout on the destination itself.
"""

import time
from datetime import timedelta
from itertools import pairwise
from typing import Any

from jmsbridge import Queue, Session, TextMessage, Topic
from jmsbridge.spi.native import Native
from jmsbridge.testing.harness import Harness
from jmsbridge.testing.marks import pitfall, requires, rule
from jmsbridge.testing.suite.receiving.redelivery_support import left, take
from jmsbridge.testing.suite.support import Collector, assert_empty, eventually, receive_texts, send_texts

DELAY = 0.4
"""The delay of messages in these cases, in seconds."""

CLOSE = 500
"""Messages that are due within so many milliseconds may change places: ActiveMQ Classic rounds up to half seconds."""


def send_delayed(
    session: Session, destination: Queue | Topic, text: str, delay: float = DELAY, **options: Any
) -> TextMessage:
    """Send one text message with a delivery delay."""
    message = session.create_text_message(text)
    with session.create_producer(destination) as producer:
        producer.delivery_delay = delay
        assert producer.delivery_delay == delay
        producer.send(message, **options)
    return message


def now() -> float:
    """Milliseconds since the epoch, as the headers count; finer than they do."""
    return time.time() * 1000


# -- expiry ----------------------------------------------------------------------------------------------------------


@rule("EX-1")
@requires(Native.EXPIRY)
def test_timing_expired_is_not_delivered(harness: Harness, session: Session, queue: Queue) -> None:
    """An expired message is not delivered; one behind it that lives longer is."""
    send_texts(session, queue, "short", time_to_live=0.1)
    send_texts(session, queue, "long", time_to_live=60)
    assert_empty(session.create_consumer(harness.queue("idle")))
    consumer = session.create_consumer(queue)
    assert receive_texts(consumer, 1) == ["long"]
    assert_empty(consumer)


@rule("EX-1")
@requires(Native.EXPIRY)
def test_timing_expired_while_prefetched(harness: Harness, session: Session, queue: Queue) -> None:
    """A message that expires while it waits in the client is dropped there, and does not come back later."""
    consumer = harness.connect().create_session().create_consumer(queue)
    send_texts(session, queue, "first", "second", time_to_live=0.3)
    assert receive_texts(consumer, 1) == ["first"]
    assert_empty(session.create_consumer(harness.queue("idle")), timeout=0.35)
    assert consumer.receive_no_wait() is None
    send_texts(session, queue, "third")
    assert receive_texts(consumer, 1) == ["third"]
    consumer.close()
    assert left(harness, queue, 0) == []


@rule("EX-1")
@requires(Native.EXPIRY)
def test_timing_expired_is_not_handed_to_listener(harness: Harness, session: Session, queue: Queue) -> None:
    """A listener set after the expiry does not see the message."""
    listening = harness.connect().create_session()
    consumer = listening.create_consumer(queue)
    send_texts(session, queue, "short", time_to_live=0.1)
    assert_empty(session.create_consumer(harness.queue("idle")))
    collector = Collector()
    consumer.message_listener = collector
    send_texts(session, queue, "long")
    collector.wait(1)
    assert collector.texts == ["long"]


@rule("EX-1", "HD-5")
def test_timing_expiration_header(session: Session, queue: Queue) -> None:
    """JMSExpiration is the time of the send plus the time to live, the same on both sides."""
    consumer = session.create_consumer(queue)
    before = now()
    [sent] = send_texts(session, queue, "a", time_to_live=timedelta(seconds=30))
    assert int(before) + 30_000 <= sent.jms_expiration <= now() + 30_001
    assert take(consumer).jms_expiration == sent.jms_expiration


@rule("EX-1")
def test_timing_zero_never_expires(harness: Harness, session: Session, queue: Queue) -> None:
    """A time to live of 0 is for ever: no expiration, and the message is there."""
    producer = session.create_producer(queue)
    assert producer.time_to_live == 0
    message = session.create_text_message("a")
    producer.send(message)
    assert message.jms_expiration == 0
    producer.time_to_live = 0.05
    producer.send(session.create_text_message("b"), time_to_live=0)
    assert_empty(session.create_consumer(harness.queue("idle")))
    consumer = session.create_consumer(queue)
    got = [take(consumer), take(consumer)]
    assert [(message.text, message.jms_expiration) for message in got] == [("a", 0), ("b", 0)]


@rule("EX-1")
@requires(Native.EXPIRY | Native.DURABLE)
def test_timing_expired_in_durable_subscription(harness: Harness, session: Session, topic: Topic) -> None:
    """Messages kept for an inactive durable subscription expire too."""
    subscribing = harness.connect(client_id=harness.name("id")).create_session()
    name = harness.name("sub")
    subscribing.create_durable_consumer(topic, name).close()
    send_texts(session, topic, "short", time_to_live=0.1)
    send_texts(session, topic, "long", time_to_live=60)
    assert_empty(session.create_consumer(harness.queue("idle")))
    with subscribing.create_durable_consumer(topic, name) as consumer:
        assert receive_texts(consumer, 1) == ["long"]
        assert_empty(consumer)
    subscribing.unsubscribe(name)


# -- delay -----------------------------------------------------------------------------------------------------------


@rule("DD-1", "HD-6")
@pitfall(19, 20)
@requires(Native.DELAY)
def test_timing_delay_hides_from_consumer(session: Session, queue: Queue) -> None:
    """A message is not delivered before JMSDeliveryTime: time of the send plus delay, the same on both sides."""
    consumer = session.create_consumer(queue)
    before = now()
    sent = send_delayed(session, queue, "a")
    assert int(before + 1000 * DELAY) <= sent.jms_delivery_time <= now() + 1000 * DELAY + 1
    early = consumer.receive_no_wait()
    got = take(consumer) if early is None else early
    assert sent.jms_delivery_time <= now() <= sent.jms_delivery_time + 1000
    assert got.jms_delivery_time == sent.jms_delivery_time
    assert_empty(consumer, timeout=0.1)


@rule("DD-1")
@pitfall(20)
@requires(Native.DELAY | Native.BROWSE)
def test_timing_delay_hides_from_browser(session: Session, queue: Queue) -> None:
    """A browser does not show a message before its time."""
    sent = send_delayed(session, queue, "late", 2 * DELAY)
    send_texts(session, queue, "now")
    with session.create_browser(queue) as browser:
        shown = [message.text for message in browser if isinstance(message, TextMessage)]
    assert shown == ["now"] or now() >= sent.jms_delivery_time  # on a very slow machine
    consumer = session.create_consumer(queue)
    assert receive_texts(consumer, 2) == ["now", "late"]


@rule("DD-1")
@pitfall(20)
@requires(Native.DELAY)
def test_timing_delay_wakes_receive(session: Session, queue: Queue) -> None:
    """A receive that waits returns within a second of the due time."""
    consumer = session.create_consumer(queue)
    sent = send_delayed(session, queue, "a", 0.25)
    assert receive_texts(consumer, 1) == ["a"]
    assert sent.jms_delivery_time <= now() <= sent.jms_delivery_time + 1000


@rule("DD-1")
@requires(Native.DELAY)
def test_timing_delay_wakes_listener(harness: Harness, session: Session, queue: Queue) -> None:
    """A listener gets the message when it is due, not before."""
    times: list[float] = []
    collector = Collector(lambda _: times.append(now()))
    harness.connect().create_session().create_consumer(queue).message_listener = collector
    sent = send_delayed(session, queue, "late", 0.25)
    send_texts(session, queue, "now")
    eventually(lambda: len(times) == 2)
    assert collector.texts == ["now", "late"]
    assert sent.jms_delivery_time <= times[1] <= sent.jms_delivery_time + 1000


@rule("DD-1", "OR-1")
@requires(Native.DELAY)
def test_timing_delay_does_not_block_others(session: Session, queue: Queue) -> None:
    """Messages without delay pass the delayed one, in their own order."""
    consumer = session.create_consumer(queue)
    send_delayed(session, queue, "late")
    send_texts(session, queue, "a", "b")
    assert receive_texts(consumer, 3) == ["a", "b", "late"]


@rule("DD-1")
@requires(Native.DELAY)
def test_timing_delay_is_due_in_due_order(session: Session, queue: Queue) -> None:
    """Several delays end when each is due, whatever the order of sending."""
    consumer = session.create_consumer(queue)
    due: dict[str, int] = {}
    for text, delay in {"third": 1.3, "first": 0.1, "second": 0.7}.items():
        due[text] = send_delayed(session, queue, text, delay).jms_delivery_time
    came = receive_texts(consumer, 3)
    assert sorted(came) == sorted(due)
    assert all(due[one] < due[other] + CLOSE for one, other in pairwise(came)), due


@rule("DD-1")
@pitfall(20)
@requires(Native.DELAY)
def test_timing_delay_of_context_producer(harness: Harness, queue: Queue) -> None:
    """set_delivery_delay of a JMSProducer; the getter returns what was set."""
    context = harness.context()
    producer = context.create_producer().set_delivery_delay(DELAY)
    assert producer.delivery_delay == DELAY
    consumer = context.create_consumer(queue)
    producer.send(queue, "a")
    got = take(consumer)
    assert got.jms_delivery_time >= got.jms_timestamp + 1000 * DELAY - 1
    assert now() >= got.jms_delivery_time


@rule("DD-1")
@pitfall(20)
@requires(Native.DELAY)
def test_timing_delay_accepts_timedelta(session: Session, queue: Queue) -> None:
    """A timedelta is a delay too, and reads back as seconds."""
    producer = session.create_producer(queue)
    assert producer.delivery_delay == 0
    producer.delivery_delay = timedelta(milliseconds=300)
    assert producer.delivery_delay == 0.3
    producer.send(session.create_text_message("a"))
    got = take(session.create_consumer(queue))
    assert now() >= got.jms_delivery_time >= got.jms_timestamp + 299


@rule("DD-1")
@requires(Native.DELAY, native=True)
def test_timing_delay_survives_its_sender(harness: Harness, session: Session, queue: Queue) -> None:
    """A delayed message is delivered although its sender was closed."""
    sender = harness.connect()
    sent = send_delayed(sender.create_session(), queue, "a", 0.3)
    sender.close()
    assert take(session.create_consumer(queue)).jms_delivery_time == sent.jms_delivery_time <= now()


@rule("DD-2")
@pitfall(20)
@requires(Native.DELAY, native=True)
def test_timing_delay_on_topic_goes_to_present_subscribers(session: Session, topic: Topic) -> None:
    """Subscriptions that exist at the send get the message; one created before the delivery time does not."""
    present = session.create_consumer(topic)
    sent = send_delayed(session, topic, "a", 2 * DELAY)
    late = session.create_consumer(topic)
    assert now() < sent.jms_delivery_time
    assert take(present).jms_delivery_time == sent.jms_delivery_time <= now()
    assert_empty(late)


@rule("DD-2")
@requires(Native.DELAY, native=True)
@requires(Native.DURABLE)
def test_timing_delay_of_durable_subscription(harness: Harness, session: Session, topic: Topic) -> None:
    """A durable subscription without a consumer keeps a delayed message that becomes due."""
    subscribing = harness.connect(client_id=harness.name("id")).create_session()
    name = harness.name("sub")
    subscribing.create_durable_consumer(topic, name).close()
    send_delayed(session, topic, "a", 2 * DELAY)
    with subscribing.create_durable_consumer(topic, name) as consumer:
        assert_empty(consumer, timeout=0.05)
    assert_empty(session.create_consumer(harness.queue("idle")), timeout=2 * DELAY)
    with subscribing.create_durable_consumer(topic, name) as consumer:
        assert receive_texts(consumer, 1) == ["a"]
    subscribing.unsubscribe(name)


@rule("DD-3")
@requires(Native.DELAY | Native.EXPIRY)
def test_timing_delay_longer_than_life(session: Session, queue: Queue) -> None:
    """A message that expires before it is due is never seen."""
    consumer = session.create_consumer(queue)
    send_delayed(session, queue, "a", 0.3, time_to_live=0.1)
    assert_empty(consumer, timeout=0.6)


@rule("DD-3")
@requires(Native.DELAY | Native.EXPIRY)
def test_timing_delay_and_expiry_count_from_send(harness: Harness, session: Session, queue: Queue) -> None:
    """Expiry counts from the send, not from the due time: shortly after being due the message is gone."""
    sent = send_delayed(session, queue, "a", 0.2, time_to_live=30)
    assert abs((sent.jms_expiration - sent.jms_delivery_time) - 29_800) <= 1
    consumer = session.create_consumer(queue)
    got = take(consumer)
    assert (got.jms_timestamp, got.jms_expiration) == (sent.jms_timestamp, sent.jms_expiration)
    send_delayed(session, queue, "b", 0.1, time_to_live=0.2)
    assert_empty(session.create_consumer(harness.queue("idle")), timeout=0.3)
    assert_empty(consumer)

"""Browsers: what they show, what they hide, and that they take nothing (section 6.2.2)."""

import time

import pytest

from jmsbridge import (
    CLIENT_ACKNOWLEDGE,
    IllegalStateException,
    Message,
    Queue,
    QueueBrowser,
    Session,
    TextMessage,
)
from jmsbridge.domain import TopicConnectionFactory
from jmsbridge.spi import Native
from jmsbridge.testing.harness import Harness
from jmsbridge.testing.marks import pitfall, requires, rule
from jmsbridge.testing.suite.receiving.redelivery_support import delivery, take, unseen
from jmsbridge.testing.suite.support import LONG, assert_empty, eventually, receive_texts, send_texts


def texts_of(browser: QueueBrowser) -> list[str]:
    """The texts that one enumeration shows."""
    return [message.text or "" for message in browser if isinstance(message, TextMessage)]


def wait_until_expired(message: Message) -> None:
    """Wait until the message has expired."""
    assert message.jms_expiration > 0
    eventually(lambda: time.time() * 1000 > message.jms_expiration + 5)


@rule("BR-1")
@requires(Native.BROWSE)
def test_browse_shows_order_and_takes_nothing(harness: Harness, session: Session, queue: Queue) -> None:
    send_texts(session, queue, "1", "2", "3")
    with session.create_browser(queue) as browser:
        assert texts_of(browser) == ["1", "2", "3"]
        assert texts_of(browser) == ["1", "2", "3"]
    consumer = session.create_consumer(queue)
    assert delivery(take(consumer)) == unseen(harness, "1")
    assert receive_texts(consumer, 2) == ["2", "3"]


@rule("BR-1")
@requires(Native.BROWSE)
@pytest.mark.parametrize("count", [100, 250])
def test_browse_long_queue_to_its_end(session: Session, queue: Queue, count: int) -> None:
    """A browser shows all messages of a long queue, also if it fetches them in steps."""
    texts = [str(number) for number in range(count)]
    send_texts(session, queue, *texts)
    with session.create_browser(queue) as browser:
        assert texts_of(browser) == texts


@rule("BR-1")
@requires(Native.BROWSE)
def test_browse_empty_queue(session: Session, queue: Queue) -> None:
    """The iterator ends at once, and stays ended."""
    enumeration = session.create_browser(queue).enumeration
    assert list(enumeration) == []
    send_texts(session, queue, "later")
    assert list(enumeration) == []


@rule("BR-1")
@requires(Native.BROWSE)
def test_browse_each_enumeration_looks_again(session: Session, queue: Queue) -> None:
    browser = session.create_browser(queue)
    assert texts_of(browser) == []
    send_texts(session, queue, "1", "2")
    assert texts_of(browser) == ["1", "2"]
    with session.create_consumer(queue) as consumer:
        assert receive_texts(consumer, 1) == ["1"]
    assert texts_of(browser) == ["2"]


@rule("BR-1")
@requires(Native.BROWSE)
def test_browse_knows_its_queue_and_selector(session: Session, queue: Queue) -> None:
    browser = session.create_browser(queue, "colour = 'red'")
    assert browser.queue == queue
    assert browser.message_selector == "colour = 'red'"
    assert session.create_browser(queue).message_selector is None
    assert session.create_browser(queue, "").message_selector is None


@rule("BR-1")
@requires(Native.BROWSE)
def test_browse_with_selector(session: Session, queue: Queue) -> None:
    with session.create_producer(queue) as producer:
        for number, colour in enumerate(("red", "green", "red")):
            message = session.create_text_message(f"{colour}-{number}")
            message.set_string_property("colour", colour)
            producer.send(message)
    assert texts_of(session.create_browser(queue, "colour = 'red'")) == ["red-0", "red-2"]
    assert texts_of(session.create_browser(queue, "colour = 'blue'")) == []
    assert texts_of(session.create_browser(queue)) == ["red-0", "green-1", "red-2"]


@rule("BR-1")
@requires(Native.BROWSE | Native.DELAY)
def test_browse_hides_what_is_not_due(session: Session, queue: Queue) -> None:
    with session.create_producer(queue) as producer:
        producer.delivery_delay = 1.0
        later = session.create_text_message("later")
        producer.send(later)
        producer.delivery_delay = 0
        producer.send(session.create_text_message("now"))
    browser = session.create_browser(queue)
    assert texts_of(browser) == ["now"] or time.time() * 1000 >= later.jms_delivery_time  # on a very slow machine
    eventually(lambda: len(texts_of(browser)) == 2)
    assert time.time() * 1000 >= later.jms_delivery_time


@rule("BR-2")
@requires(Native.BROWSE)
def test_browse_on_a_stopped_connection(harness: Harness, session: Session, queue: Queue) -> None:
    """A browser works on a connection that is not started."""
    send_texts(session, queue, "1", "2")
    stopped = harness.connect(start=False)
    browser = stopped.create_session().create_browser(queue)
    assert texts_of(browser) == ["1", "2"]
    stopped.start()
    assert texts_of(browser) == ["1", "2"]


@rule("BR-2")
def test_browse_not_in_a_topic_session(harness: Harness, queue: Queue) -> None:
    factory = TopicConnectionFactory(harness.url)
    with factory.create_topic_connection() as connection, pytest.raises(IllegalStateException):
        connection.create_topic_session(False, 1).create_browser(queue)


@rule("BR-3")
@pitfall(11)
@requires(Native.BROWSE)
def test_browse_closed_consumer_hides_nothing(harness: Harness, session: Session, queue: Queue) -> None:
    """Messages that a consumer had prefetched are visible in their old place as soon as its close returns."""
    send_texts(session, queue, "1", "2", "3", "4")
    other = harness.connect().create_session(acknowledge_mode=CLIENT_ACKNOWLEDGE)
    with other.create_consumer(queue) as consumer:
        message = consumer.receive(timeout=LONG)
        assert message is not None
        message.acknowledge()
    assert texts_of(session.create_browser(queue)) == ["2", "3", "4"]


@rule("BR-3")
@pitfall(11)
@requires(Native.BROWSE | Native.QUEUE_SELECTORS)
def test_browse_closed_selector_consumer_hides_nothing(session: Session, queue: Queue) -> None:
    with session.create_producer(queue) as producer:
        for number in range(4):
            message = session.create_text_message(str(number))
            message.set_int_property("number", number)
            producer.send(message)
    with session.create_consumer(queue, "number >= 1") as consumer:
        assert receive_texts(consumer, 1) == ["1"]
    assert texts_of(session.create_browser(queue)) == ["0", "2", "3"]
    assert texts_of(session.create_browser(queue, "number > 1")) == ["2", "3"]


@rule("EX-1")
@requires(Native.BROWSE | Native.EXPIRY)
def test_browse_hides_expired_messages(session: Session, queue: Queue) -> None:
    """An expired message is not shown, at any position; messages with time to live 0 do not expire."""
    send_texts(session, queue, "first", time_to_live=0)
    (expiring,) = send_texts(session, queue, "expiring", time_to_live=0.05)
    send_texts(session, queue, "last", time_to_live=60)
    wait_until_expired(expiring)
    assert texts_of(session.create_browser(queue)) == ["first", "last"]


@rule("EX-1")
@requires(Native.EXPIRY)
def test_browse_expired_messages_are_not_delivered(session: Session, queue: Queue) -> None:
    """A message that expired before the consumer was created, or while it was prefetched, is not delivered."""
    (expiring,) = send_texts(session, queue, "expiring", time_to_live=0.05)
    send_texts(session, queue, "lasting")
    wait_until_expired(expiring)
    consumer = session.create_consumer(queue)
    assert receive_texts(consumer, 1) == ["lasting"]
    (fetched,) = send_texts(session, queue, "prefetched, then expired", time_to_live=0.1)
    send_texts(session, queue, "next")
    wait_until_expired(fetched)
    assert receive_texts(consumer, 1) == ["next"]
    assert_empty(consumer)

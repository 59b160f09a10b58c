"""What a consumer gets when its topic is unloaded, by a real Pulsar: all of it, and nothing twice unmarked."""

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from integration.lab.broker import Broker
from integration.networked.conftest import name
from integration.networked.connecting import connect
from integration.pulsar.test_faults import Proxies, path, raw_client, url_of
from jmsbridge import Connection, Message, MessageConsumer, Queue, Session, Topic
from jmsbridge.testing.suite.support import Completions, eventually, receive_texts, send_texts, text_of

__all__ = ["connect", "name"]

pytestmark = pytest.mark.timeout(120)

Connect = Callable[..., Connection]
ROUND = 21
"""Messages that are sent before the topic moves once more."""


def _send_together(session: Session, topic: Topic, first: int) -> None:
    """One round of messages; several of them are in one entry."""
    completions = Completions()
    with session.create_producer(topic) as producer:
        for number in range(first, first + ROUND):
            producer.send(session.create_text_message(str(number)), completion_listener=completions)
        assert {event[0] for event in completions.wait(ROUND, 20)} == {"completed"}


def _keep(pulsar: Broker, name: str) -> None:
    """Have a durable subscription: every two minutes the broker deletes the closed ledgers that none needs."""
    earliest = {"ledgerId": -1, "entryId": -1, "partitionIndex": -1}
    pulsar.admin.put(f"{path(name)}/subscription/keeper", earliest)


def _consumer(session: Session, topic: Topic, kind: str) -> MessageConsumer:
    if kind == "plain":
        return session.create_consumer(topic)
    if kind == "shared":
        return session.create_shared_consumer(topic, topic.topic_name)
    return session.create_shared_durable_consumer(topic, f"{topic.topic_name}-durable")


@pytest.mark.parametrize("prefetch", [1, 5])
@pytest.mark.parametrize("kind", ["plain", "shared", "shared durable"])
def test_a_topic_moves_in_the_middle_of_entries(
    pulsar: Broker, connect: Connect, name: str, kind: str, prefetch: int
) -> None:
    """A part of an entry was acknowledged: the broker sends all of it again, and counts it against the credit."""
    topic = Topic(name)
    _keep(pulsar, name)
    session = connect(url_of(pulsar, prefetch=str(prefetch))).create_session(Session.CLIENT_ACKNOWLEDGE)
    sender = connect(url_of(pulsar)).create_session()
    texts: list[str] = []
    with _consumer(session, topic, kind) as consumer:
        for number in range(3):
            _send_together(sender, topic, number * ROUND)
            for _ in range(7):
                received = consumer.receive(timeout=10)
                assert received is not None, texts
                texts.append(text_of(received))
                received.acknowledge()
            pulsar.admin.put(f"{path(name)}/unload")
            pulsar.admin.post(f"{path(name)}/trim")  # as the broker does every two minutes
        texts += receive_texts(consumer, 3 * ROUND - len(texts), 10)
    assert texts == [str(number) for number in range(3 * ROUND)]


def test_a_shared_subscription_moves_with_several_consumers(pulsar: Broker, connect: Connect, name: str) -> None:
    """Also with messages that one of them has not acknowledged, and before anything has come to it."""
    topic, lock = Topic(name), threading.Lock()
    _keep(pulsar, name)
    received: list[tuple[str, bool]] = []

    def note(message: Message) -> None:
        time.sleep(0.002)  # sleep: so that some have arrived and wait
        with lock:
            received.append((text_of(message), message.jms_redelivered))

    for _ in range(3):
        session = connect(url_of(pulsar)).create_session()
        session.create_shared_consumer(topic, topic.topic_name).message_listener = note
    sender = connect(url_of(pulsar)).create_session()
    pulsar.admin.put(f"{path(name)}/unload")
    for number in range(6):
        _send_together(sender, topic, number * ROUND)
        if number % 2:
            pulsar.admin.put(f"{path(name)}/unload")
    eventually(lambda: len({text for text, _ in received}) == 6 * ROUND, 30)
    unmarked = [text for text, is_redelivered in received if not is_redelivered]
    assert len(unmarked) == len(set(unmarked))


@pytest.mark.parametrize("connections", [1, 2])
def test_what_a_consumer_of_a_queue_still_has_comes_marked_to_another(
    pulsar: Broker, connect: Connect, name: str, connections: int
) -> None:
    """The broker does not know any more who has which messages."""
    queue, texts = Queue(name), [str(number) for number in range(10)]
    first = connect(url_of(pulsar))
    second = first if connections == 1 else connect(url_of(pulsar))
    send_texts(first.create_session(), queue, *texts)
    with first.create_session(Session.CLIENT_ACKNOWLEDGE).create_consumer(queue) as consumer:
        assert receive_texts(consumer, 10) == texts
        other, received = second.create_session().create_consumer(queue), None
        for _ in range(10):  # the broker may send all of them to the first one again
            pulsar.admin.put(f"{path(name)}/unload")
            received = other.receive(timeout=2)
            if received is not None:
                break
        assert received is not None
        assert received.jms_redelivered
        assert received.get_int_property("JMSXDeliveryCount") == 2


def test_what_a_lost_connection_had_comes_marked_to_others(
    pulsar: Broker, connect: Connect, name: str, fault_proxy: Proxies
) -> None:
    """The broker does not count it."""
    queue = Queue(name)
    proxy = fault_proxy(pulsar.url())
    url = proxy.through(url_of(pulsar))
    lost, other = connect(url, reconnect_attempts=0), connect(url)
    send_texts(other.create_session(), queue, "one")
    consumer = lost.create_session(Session.CLIENT_ACKNOWLEDGE).create_consumer(queue)
    assert receive_texts(consumer, 1) == ["one"]
    proxy.cut()
    received = other.create_session().create_consumer(queue).receive(timeout=10)
    assert received is not None
    assert received.jms_redelivered


@pytest.mark.filterwarnings("ignore::jmsbridge.EmulationWarning")
@pytest.mark.parametrize("mode", [Session.CLIENT_ACKNOWLEDGE, Session.SESSION_TRANSACTED])
def test_what_a_closed_connection_returned_comes_marked_to_others(
    pulsar: Broker, connect: Connect, name: str, mode: int
) -> None:
    """The library forgets what it would return 100 ms later."""
    queue = Queue(name)
    closed, session = connect(url_of(pulsar)), connect(url_of(pulsar)).create_session()
    send_texts(session, queue, "one")
    assert receive_texts(closed.create_session(mode).create_consumer(queue), 1) == ["one"]
    consumer = session.create_consumer(queue)
    closed.close()
    received = consumer.receive(timeout=10)
    assert received is not None
    assert (received.jms_redelivered, received.get_int_property("JMSXDeliveryCount")) == (True, 2)


def test_what_was_published_before_a_move_is_marked(pulsar: Broker, connect: Connect, name: str) -> None:
    """A consumer elsewhere may have had it: the broker does not know any more."""
    topic = Topic(name)
    _keep(pulsar, name)
    session = connect(url_of(pulsar, prefetch="1")).create_session(Session.CLIENT_ACKNOWLEDGE)
    with session.create_shared_consumer(topic, topic.topic_name) as consumer:
        send_texts(connect(url_of(pulsar)).create_session(), topic, "one", "two", "three")
        first = consumer.receive(timeout=10)
        assert first is not None
        pulsar.admin.put(f"{path(name)}/unload")
        first.acknowledge()
        second, third = consumer.receive(timeout=10), consumer.receive(timeout=10)
        assert [text_of(each) for each in (first, second, third)] == ["one", "two", "three"]
        assert third is not None
        assert (first.jms_redelivered, third.jms_redelivered) == (False, True)
        assert third.get_int_property("JMSXDeliveryCount") == 2


def test_a_chunked_message_with_a_small_prefetch(pulsar: Broker, connect: Connect, name: str) -> None:
    """Each chunk counts against the credit, and the message is one."""
    import _pulsar

    queue = Queue(name)
    session = connect(url_of(pulsar, prefetch="1")).create_session()
    with session.create_consumer(queue) as consumer:
        client, settings = raw_client(pulsar), _pulsar.ProducerConfiguration()
        settings.batching_enabled(False)
        settings.chunking_enabled(True)
        producer = client.create_producer(f"persistent://public/default/{name}", settings)
        for text in (b"x" * (12 << 20), b"small"):
            producer.send(_built(text))
        client.close()
        sizes = [len(_body(consumer.receive(timeout=20))) for _ in range(2)]
    assert sizes == [12 << 20, 5]


def _built(data: bytes) -> Any:
    import _pulsar

    builder = _pulsar.MessageBuilder()
    builder.content(data)
    return builder.build()


def _body(message: Message | None) -> bytes:
    assert message is not None
    return bytes(message.get_body(bytes) or b"")


def test_many_delayed_messages_for_a_topic_consumer(pulsar: Broker, connect: Connect, name: str) -> None:
    """They wait in this process, and do not keep the others back."""
    session, topic, completions = connect(url_of(pulsar)).create_session(), Topic(name), Completions()
    with session.create_consumer(topic) as consumer, session.create_producer(topic) as producer:
        producer.delivery_delay = 300
        for _ in range(1500):
            producer.send(session.create_text_message("late"), completion_listener=completions)
        completions.wait(1500, 30)
        producer.delivery_delay = 0
        producer.send("now")
        assert receive_texts(consumer, 1, 20) == ["now"]

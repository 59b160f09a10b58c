"""Queues and topics on partitioned topics of a real Pulsar."""

import itertools
import time
from collections.abc import Iterable, Iterator

import pytest

import jmsbridge
from integration.lab.admin.rest import Rest
from integration.lab.broker import Broker
from jmsbridge import Connection, Destination, InvalidDestination, Message, MessageConsumer, Session, TextMessage
from jmsbridge.testing.suite.support import Completions, eventually

pytestmark = pytest.mark.filterwarnings("ignore::jmsbridge.EmulationWarning")
_numbers = itertools.count()


@pytest.fixture
def connection(pulsar: Broker) -> Iterator[Connection]:
    with jmsbridge.connect(f"{pulsar.url()}?admin_url={pulsar.url('http')}&single_address=true") as made:
        made.start()
        yield made


@pytest.fixture
def name(pulsar: Broker) -> str:
    """A topic with three partitions."""
    made = f"divided-{time.time_ns()}-{next(_numbers)}"
    Rest(pulsar.url("http")).put(f"/admin/v2/persistent/public/default/{made}/partitions", 3)
    return made


def texts(messages: Iterable[Message | None]) -> list[str]:
    """The sorted texts; their order holds in each partition only."""
    found = []
    for message in messages:
        assert isinstance(message, TextMessage)
        assert message.text is not None
        found.append(message.text)
    return sorted(found)


def received(consumer: MessageConsumer, count: int = 9) -> list[Message | None]:
    return [consumer.receive(timeout=10) for _ in range(count)]


def send(session: Session, destination: Destination) -> list[str]:
    producer = session.create_producer(destination)
    sent = [f"m{number}" for number in range(9)]
    for text in sent:
        producer.send(text)
    return sent


def test_a_queue_is_shared_by_its_consumers(connection: Connection, name: str) -> None:
    session = connection.create_session()
    queue = session.create_queue(name)
    consumers = [session.create_consumer(queue), session.create_consumer(queue)]
    sent = send(session, queue)
    found: list[Message | None] = []
    deadline = time.monotonic() + 20
    while len(found) < len(sent) and time.monotonic() < deadline:
        found += [message for each in consumers if (message := each.receive(timeout=0.1)) is not None]
    assert texts(found) == sent


def test_a_rollback_brings_all_back(connection: Connection, name: str) -> None:
    session = connection.create_session(session_mode=jmsbridge.SESSION_TRANSACTED)
    queue = session.create_queue(name)
    sent = send(session, queue)
    session.commit()
    consumer = session.create_consumer(queue)
    assert texts(received(consumer)) == sent
    session.rollback()
    again = received(consumer)
    assert texts(again) == sent
    assert all(message is not None and message.jms_redelivered for message in again)
    session.commit()
    assert consumer.receive(timeout=0.3) is None


def test_what_is_confirmed_is_stored(connection: Connection, name: str) -> None:
    session = connection.create_session()
    queue = session.create_queue(name)
    producer = session.create_producer(queue)
    sent = [f"{number:04}" for number in range(2000)]
    completions = Completions()
    for text in sent:
        producer.send(session.create_text_message(text), completion_listener=completions)
    eventually(lambda: len(completions.events) == len(sent))
    assert {event[0] for event in completions.events} == {"completed"}
    with session.create_consumer(queue) as consumer:  # while the sender is open, whose end could store more
        assert texts(received(consumer, len(sent))) == sent


def test_a_queue_that_is_deleted_under_its_sender_is_made_again(
    pulsar: Broker, connection: Connection, name: str
) -> None:
    """The library would go on with the partitions, which are then topics of their own that nobody consumes."""
    session = connection.create_session()
    queue = session.create_queue(name)
    producer = session.create_producer(queue)
    producer.send("before")
    Rest(pulsar.url("http")).delete(f"/admin/v2/persistent/public/default/{name}/partitions?force=true")
    for number in range(9):
        producer.send(str(number))
    with session.create_consumer(queue) as consumer:
        assert texts(received(consumer)) == [str(number) for number in range(9)]


def test_a_queue_that_is_deleted_under_its_consumer(pulsar: Broker, connection: Connection, name: str) -> None:
    """It would wait for ever: the partitions that the library consumes again are not the queue's."""
    session = connection.create_session()
    consumer = session.create_consumer(session.create_queue(name))
    assert consumer.receive(timeout=0.5) is None
    Rest(pulsar.url("http")).delete(f"/admin/v2/persistent/public/default/{name}/partitions?force=true")
    with pytest.raises(InvalidDestination, match="partition"):
        consumer.receive(timeout=20)


def test_a_queue_is_browsed_and_counted_as_a_whole(connection: Connection, name: str) -> None:
    session = connection.create_session()
    queue = session.create_queue(name)
    sent = send(session, queue)
    consumer = session.create_consumer(queue)
    taken = texts(received(consumer, 2))
    browser = session.create_browser(queue)
    assert sorted(taken + texts(browser)) == sent
    assert texts(browser) == sorted(set(sent) - set(taken))  # from the beginning again
    consumer.close()
    listed = [info for info in connection.admin.list() if info.destination == queue]
    assert [(info.consumers, info.depth in (7, 9)) for info in listed] == [(0, True)]
    assert connection.admin.purge(queue) in (7, 9)  # an acknowledgement reaches the broker within 100 ms
    assert texts(browser) == []
    session.close()
    connection.admin.remove(queue)
    assert not [info for info in connection.admin.list() if name in str(info.destination)]


def test_subscriptions_of_a_topic(connection: Connection, name: str) -> None:
    session = connection.create_session()
    topic = session.create_topic(name)
    durable = session.create_shared_durable_consumer(topic, f"durable-{name}")
    plain = session.create_consumer(topic)
    sent = send(session, topic)
    assert texts(received(durable)) == sent
    assert texts(received(plain)) == sent
    durable.close()
    session.unsubscribe(f"durable-{name}")


@pytest.mark.long
@pytest.mark.timeout(200)
def test_a_topic_gets_more_partitions(pulsar: Broker, connection: Connection, name: str) -> None:
    """Consumers find them within a minute; what a sender that knows them sent until then is not lost."""
    session = connection.create_session()
    topic = session.create_topic(name)
    consumers = [
        session.create_consumer(topic),
        session.create_shared_consumer(topic, f"{name}-shared"),
        session.create_shared_durable_consumer(topic, f"{name}-durable"),
    ]
    Rest(pulsar.url("http")).post(f"/admin/v2/persistent/public/default/{name}/partitions", 6)
    with jmsbridge.connect(f"{pulsar.url()}?single_address=true") as other:
        sent = send(other.create_session(), topic)
    for consumer in consumers:
        found = [consumer.receive(timeout=90) for _ in sent]
        assert texts(found) == sent
        assert [message for message in found if message is not None and message.jms_redelivered] == []

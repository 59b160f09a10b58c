"""What a real Pulsar does to senders and consumers: an error with a remedy, nothing confirmed lost, nothing hangs."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import pytest

from integration.lab.admin.rest import Rest
from integration.lab.broker import Broker
from integration.networked.conftest import name
from integration.networked.connecting import connect
from jmsbridge import Connection, InDoubt, InvalidDestination, JMSException, Queue, ResourceAllocationException, Topic
from jmsbridge.testing.proxy import FaultProxy
from jmsbridge.testing.suite.support import (
    Collector,
    Completions,
    assert_empty,
    eventually,
    receive_texts,
    send_surely,
    send_texts,
)

__all__ = ["connect", "name"]

pytestmark = [pytest.mark.server, pytest.mark.timeout(300)]

Connect = Callable[..., Connection]
Proxies = Callable[..., FaultProxy]


def url_of(pulsar: Broker, **options: str) -> str:
    """Its URL, with that of its REST interface."""
    more = "".join(f"&{name}={value}" for name, value in options.items())
    return f"{pulsar.url()}?single_address=true&admin_url={pulsar.url('http')}{more}"


def path(name: str, namespace: str = "public/default") -> str:
    """The topic in the REST interface."""
    return f"/admin/v2/persistent/{namespace}/{quote(name, safe='')}"


def told_of(connection: Connection) -> list[Exception]:
    """What its exception listener gets."""
    told: list[Exception] = []
    connection.exception_listener = told.append
    return told


def explained(error: BaseException, *words: str) -> None:
    """The error names these, and the broker."""
    for each in ("Pulsar 4", *words):
        assert each in str(error), str(error)


def standing(pulsar: Broker, name: str) -> str:
    """What the broker says of the queue's subscription and its consumers."""
    found = pulsar.admin.get(f"{path(name)}/stats")["subscriptions"].get("jms-queue", {})
    of_it = {key: found.get(key) for key in ("msgBacklog", "unackedMessages", "msgOutCounter")}
    keys = ("consumerName", "availablePermits", "unackedMessages")
    return f"{of_it}, consumers: {[{key: each.get(key) for key in keys} for each in found.get('consumers', [])]}"


def raw_client(pulsar: Broker) -> Any:
    """One of the client library, without jmsbridge."""
    import _pulsar

    settings = _pulsar.ClientConfiguration()
    settings.set_file_logger(_pulsar.LoggerLevel.Error, "/dev/null")
    return _pulsar.Client(pulsar.url(), settings)


@pytest.fixture
def closed_namespace(pulsar: Broker, name: str) -> Iterator[str]:
    """A namespace where nobody makes topics by using them."""
    made = f"public/{name}"
    pulsar.admin.put(f"/admin/v2/namespaces/{made}", {"replication_clusters": ["standalone"]})
    pulsar.admin.post(f"/admin/v2/namespaces/{made}/autoTopicCreation", {"allowAutoTopicCreation": False})
    yield made
    pulsar.admin.delete(f"/admin/v2/namespaces/{made}?force=true")


# -- topics that move, disappear or end


def test_a_topic_moves_under_senders_and_consumers(pulsar: Broker, connect: Connect, name: str) -> None:
    """As when a broker is stopped or the load is balanced."""
    connection = connect(url_of(pulsar))
    told, queue, collector = told_of(connection), Queue(name), Collector()
    connection.create_session().create_consumer(queue).message_listener = collector
    session, completions = connection.create_session(), Completions()
    producer = session.create_producer(queue)
    for number in range(600):
        producer.send(session.create_text_message(str(number)), completion_listener=completions)
        if number in (3, 300, 500):
            pulsar.admin.put(f"{path(name)}/unload")
    events = completions.wait(600, 30)
    confirmed = {event[1].text for event in events if event[0] == "completed"}
    assert confirmed  # a message that comes just when the topic is closed may end the link: others are then in doubt
    with contextlib.suppress(AssertionError):  # the one below says what is missing
        eventually(lambda: told or confirmed <= set(collector.texts), 30)
    assert (told, sorted(confirmed - set(collector.texts))) == ([], []), standing(pulsar, name)


def test_a_topic_is_deleted_under_senders_and_consumers(pulsar: Broker, connect: Connect, name: str) -> None:
    """The library makes it again. What is confirmed after that reaches a consumer, also one that comes later."""
    connection = connect(url_of(pulsar))
    told, queue, other = told_of(connection), Queue(name), Queue(f"{name}-unread")
    session = connection.create_session()
    consumer, producer, alone = (
        session.create_consumer(queue),
        session.create_producer(queue),
        session.create_producer(other),
    )
    producer.send("before")
    alone.send("before")
    assert receive_texts(consumer, 1) == ["before"]
    for each in (name, f"{name}-unread"):
        pulsar.admin.delete(f"{path(each)}?force=true")
    for number in range(20):
        producer.send(str(number))
        alone.send(str(number))
    expected = [str(number) for number in range(20)]
    assert receive_texts(consumer, 20, 20) == expected
    assert "jms-queue" in pulsar.admin.get(f"{path(other.queue_name)}/subscriptions")  # else the broker keeps nothing
    with session.create_consumer(other) as late:
        assert receive_texts(late, 20, 20) == expected
    assert told == []


def test_a_queue_is_deleted_after_its_consumer_has_gone(pulsar: Broker, connect: Connect, name: str) -> None:
    """Without a producer the connection does not learn of it: the next message makes the queue again."""
    connection = connect(url_of(pulsar))
    connection.start()
    session, queue = connection.create_session(), Queue(name)
    with session.create_consumer(queue) as consumer:
        assert_empty(consumer)
    connect(url_of(pulsar)).admin.remove(queue)
    session.create_producer(queue).send(session.create_text_message("kept"))
    subscriptions = Rest(pulsar.url("http")).get(f"{path(name)}/stats")["subscriptions"]
    assert list(subscriptions) == ["jms-queue"]
    with session.create_consumer(queue) as consumer:
        assert receive_texts(consumer, 1) == ["kept"]


def test_a_topic_is_deleted_and_nobody_may_make_it_again(
    pulsar: Broker, closed_namespace: str, connect: Connect, name: str
) -> None:
    """Senders and consumers are told so; the connection stays, and works once the topic is there again."""
    topic = path(name, closed_namespace)
    pulsar.admin.put(topic)
    connection = connect(url_of(pulsar, namespace=closed_namespace))
    told, queue = told_of(connection), Queue(name)
    session = connection.create_session()
    producer = session.create_producer(queue)
    session.create_consumer(queue)
    producer.send("before")
    pulsar.admin.delete(f"{topic}?force=true")
    eventually(lambda: told, 20)
    explained(told[0], name, "does not exist")

    def refused() -> bool:
        try:
            producer.send("lost")
        except JMSException as error:
            explained(error, name, "does not exist")
            return True
        return False

    eventually(refused, 20)
    with pytest.raises(InvalidDestination, match="does not exist"):
        session.create_consumer(queue).receive(timeout=1)
    pulsar.admin.put(topic)
    send_surely(session, queue, "after", 20)
    with session.create_consumer(queue) as consumer:
        assert receive_texts(consumer, 1, 20)[0] == "after"


def test_a_topic_is_terminated_under_senders_and_consumers(pulsar: Broker, connect: Connect, name: str) -> None:
    """Senders are told, at once or by their next send; consumers get what there is, and then nothing."""
    connection = connect(url_of(pulsar))
    told, queue = told_of(connection), Queue(name)
    session = connection.create_session()
    producer, consumer = session.create_producer(queue), session.create_consumer(queue)
    for number in range(5):
        producer.send(str(number))
    pulsar.admin.post(f"{path(name)}/terminate")
    with pytest.raises(JMSException) as caught:
        producer.send("late")
    explained(caught.value, name, "terminated")
    completions = Completions()
    producer.send(session.create_text_message("late"), completion_listener=completions)
    ((what, _, error),) = completions.wait(1, 20)
    assert what == "failed"
    explained(error, name, "terminated")
    assert receive_texts(consumer, 5, 20) == [str(number) for number in range(5)]
    assert_empty(consumer, 0.5)
    assert told == []
    send_texts(session, Queue(f"{name}-other"), "one")


# -- others that exclude


def test_a_second_exclusive_consumer(pulsar: Broker, connect: Connect, name: str) -> None:
    """Its subscription belongs to another program, which the broker tells by nothing but the name."""
    import _pulsar

    client, topic = raw_client(pulsar), Topic(name)
    other = client.subscribe(f"persistent://public/default/{name}", "id_durable", _pulsar.ConsumerConfiguration())
    session = connect(url_of(pulsar), client_id="id").create_session()
    with pytest.raises(JMSException) as caught:
        session.create_durable_consumer(topic, "durable")
    explained(caught.value, name, "close that one first")
    other.close()
    client.close()
    with session.create_durable_consumer(topic, "durable") as consumer:
        send_texts(session, topic, "one")
        assert receive_texts(consumer, 1) == ["one"]


def test_a_sender_that_another_one_fences(pulsar: Broker, connect: Connect, name: str) -> None:
    """Another client takes the topic for itself: the broker ends the connection of the next send, those after it say
    why, and once the other has gone sending works again.
    """
    import _pulsar

    connection = connect(url_of(pulsar))
    session = connection.create_session()
    queue = Queue(name)
    producer = session.create_producer(queue)
    producer.send("before")
    client = raw_client(pulsar)
    exclusive = _pulsar.ProducerConfiguration()
    exclusive.access_mode(_pulsar.ProducerAccessMode.ExclusiveWithFencing)
    fencing = client.create_producer(f"persistent://public/default/{name}", exclusive)

    def refused() -> bool:
        try:
            producer.send("refused")
        except InDoubt:
            return False
        except JMSException as error:
            explained(error, name, "access mode exclusive")
            return True
        return False

    eventually(refused, 20)
    fencing.close()
    client.close()
    send_surely(session, queue, "after", 20)
    texts = []
    with session.create_consumer(queue) as consumer:
        while "after" not in texts:
            texts += receive_texts(consumer, 1, 20)
    assert texts[0] == "before"


# -- too much


def test_a_message_over_the_limit(pulsar: Broker, connect: Connect, name: str) -> None:
    """It alone is refused, before it is sent; those around it are stored."""
    session, queue = connect(url_of(pulsar)).create_session(), Queue(name)
    producer, completions = session.create_producer(queue), Completions()
    with pytest.raises(JMSException) as caught:
        producer.send(session.create_text_message("x" * (6 << 20)))
    explained(caught.value, name, "maxMessageSize")
    for text in ("one", "x" * (6 << 20), "two"):
        producer.send(session.create_text_message(text), completion_listener=completions)
    events = completions.wait(3, 20)
    assert [event[0] for event in events] == ["completed", "failed", "completed"]
    explained(events[1][2], name, "maxMessageSize")
    with session.create_consumer(queue) as consumer:
        assert receive_texts(consumer, 2) == ["one", "two"]


def test_a_send_queue_that_is_full(pulsar: Broker, connect: Connect, name: str, fault_proxy: Proxies) -> None:
    """The broker answers nothing: the window holds senders back, and then says so; what it had taken is stored."""
    proxy = fault_proxy(pulsar.url())
    queue, completions = Queue(name), Completions()
    send_texts(connect(url_of(pulsar)).create_session(), queue, "before")
    session = connect(proxy.through(url_of(pulsar)), send_window=10, send_timeout=2.0).create_session()
    producer = session.create_producer(queue)
    producer.send("before")
    proxy.stall()
    began = time.monotonic()
    with pytest.raises(ResourceAllocationException) as caught:
        for number in range(20):
            producer.send(session.create_text_message(str(number)), completion_listener=completions)
    assert 1 < time.monotonic() - began < 15
    assert "send_window" in str(caught.value)
    proxy.resume()
    events = completions.wait(10, 20)
    confirmed = {event[1].text for event in events if event[0] == "completed"}
    send_surely(session, queue, "after", 20)
    texts: list[str] = []
    with session.create_consumer(queue) as consumer:
        while "after" not in texts:
            texts += receive_texts(consumer, 1, 20)
    assert confirmed <= set(texts)


# -- all at once


def test_closing_while_a_topic_moves_and_ends(pulsar: Broker, connect: Connect, name: str) -> None:
    """Threads send and receive while topics are unloaded, terminated and deleted; everything closes in time."""
    connection = connect(url_of(pulsar))
    stopped = threading.Event()

    def work(act: Callable[[Any, Queue], None], queue: Queue) -> None:
        session = connection.create_session()
        while not stopped.is_set():
            try:
                act(session, queue)
            except JMSException:
                stopped.wait(0.01)

    def receive(session: Any, queue: Queue) -> None:
        with session.create_consumer(queue) as consumer:
            consumer.receive(timeout=0.2)

    acts = (lambda session, queue: send_texts(session, queue, "x"), receive)
    queues = [Queue(f"{name}-{number}") for number in range(3)]
    threads = [threading.Thread(target=work, args=(act, queue)) for act in acts for queue in queues]
    for thread in threads:
        thread.start()
    send_surely(connection.create_session(), queues[0], "x", 20)
    for act in ("unload", "terminate", "unload"):
        for queue in queues:
            call = pulsar.admin.put if act == "unload" else pulsar.admin.post
            call(f"{path(queue.queue_name)}/{act}")
    for queue in queues:
        pulsar.admin.delete(f"{path(queue.queue_name)}?force=true")
    stopped.set()
    began = time.monotonic()
    connection.close()
    for thread in threads:
        thread.join(30)
    assert not any(thread.is_alive() for thread in threads)
    assert time.monotonic() - began < 40

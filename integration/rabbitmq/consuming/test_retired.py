"""Closed, drained and renewed consumers: messages that were already pushed to them are not lost or delayed."""

import random
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import jmsbridge
from integration.lab.broker import Broker
from integration.rabbitmq.support import Client
from jmsbridge import CLIENT_ACKNOWLEDGE, SESSION_TRANSACTED, Connection, JMSException, MessageConsumer, Session
from jmsbridge.spi import Address, Outcome
from jmsbridge.testing.proxy import FaultProxy
from jmsbridge.testing.suite.contract.support import drain, settle
from jmsbridge.testing.suite.support import eventually, receive_texts, send_texts, text_of
from jmsbridge_rabbitmq import RabbitOptions
from jmsbridge_rabbitmq.link import Link

pytestmark = pytest.mark.filterwarnings("ignore::jmsbridge.EmulationWarning")

Clients = Callable[..., Client]

KINDS = ["classic", "quorum"]


@pytest.fixture
def connection(broker: Broker, name: str) -> Iterator[Connection]:
    """A started connection with a client id."""
    with jmsbridge.connect(broker.url(), client_id=name) as made:
        made.start()
        yield made


def open_queue(broker: Broker, name: str, kind: str) -> None:
    """A queue of that kind, with an unreachable delivery limit."""
    arguments = {"x-queue-type": kind} | ({"x-delivery-limit": -1} if kind == "quorum" else {})
    broker.admin.put(f"/api/queues/%2F/{name}", {"durable": True, "arguments": arguments})


def receive_marks(consumer: MessageConsumer, count: int) -> list[tuple[str, bool]]:
    """Receive ``count`` texts, each with its redelivered mark."""
    messages = [consumer.receive(timeout=10) for _ in range(count)]
    return [(text_of(message), message.jms_redelivered) for message in messages if message is not None]


def wait_left(link: object) -> None:
    """Wait until a link has no consumers. A quorum queue counts cancelled ones as long as they have messages."""
    assert isinstance(link, Link)
    flows = [each._channel for each in link.subscriptions.open]
    eventually(lambda: not any(flow.is_consuming or flow.is_busy for flow in flows), 10.0)


# -- closed, and not settled


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", [CLIENT_ACKNOWLEDGE, SESSION_TRANSACTED], ids=["client", "transacted"])
@pytest.mark.parametrize("prefetch", [250, 1, 0])
def test_a_closed_consumer_takes_no_message(
    connection: Connection, broker: Broker, name: str, mode: int, prefetch: int, kind: str
) -> None:
    open_queue(broker, name, kind)
    holding, other = connection.create_session(session_mode=mode), connection.create_session()
    queue = other.create_queue(name)
    send_texts(other, queue, "first")
    consumer = holding.create_consumer(queue, prefetch=prefetch)
    assert receive_texts(consumer, 1) == ["first"]
    consumer.close()
    wait_left(connection._core.supervisor.link)
    send_texts(other, queue, "a", "b", "c")
    with other.create_consumer(queue) as heir:
        assert receive_marks(heir, 3) == [("a", False), ("b", False), ("c", False)]
        holding.close()
        assert receive_marks(heir, 1) == [("first", True)]


def test_messages_that_arrive_while_a_consumer_closes_go_to_others(connection: Connection, name: str) -> None:
    """Until its cancellation is confirmed it may get some; they then go to the others at once."""
    holding = connection.create_session(transacted=True)
    sending, other = connection.create_session(), connection.create_session()
    queue = other.create_queue(name)
    send_texts(sending, queue, "first")
    consumer = holding.create_consumer(queue)
    assert receive_texts(consumer, 1) == ["first"]
    heir = other.create_consumer(queue)
    texts = [str(number) for number in range(200)]
    thread = threading.Thread(target=lambda: send_texts(sending, queue, *texts))
    thread.start()
    consumer.close()
    assert sorted(receive_texts(heir, 200), key=int) == texts
    thread.join(10)
    holding.rollback()
    assert receive_texts(heir, 1) == ["first"]


@pytest.mark.parametrize("durable", [True, False], ids=["durable", "passing"])
@pytest.mark.parametrize("prefetch", [5, 0])
def test_a_shared_consumer_that_polls_or_is_stopped_keeps_its_subscription(
    broker: Broker, connection: Connection, name: str, durable: bool, prefetch: int
) -> None:
    """Its subscription exists as long as this consumer, whatever the others do."""
    topic = jmsbridge.Topic(f"{name}-topic")

    def share(session: Session) -> MessageConsumer:
        make = session.create_shared_durable_consumer if durable else session.create_shared_consumer
        return make(topic, "s", prefetch=prefetch)

    session = connection.create_session()
    staying = share(session)
    with share(session) as leaving:
        polling = threading.Thread(target=lambda: [staying.receive_no_wait() for _ in range(50)])
        polling.start()
        connection.stop()
        polling.join(10)
        assert leaving.receive_no_wait() is None
    if durable:
        with pytest.raises(JMSException):
            session.unsubscribe("s")
    with jmsbridge.connect(broker.url()) as other:
        send_texts(other.create_session(), topic, "kept")
    connection.start()
    assert receive_marks(staying, 1) == [("kept", False)]
    staying.close()
    if durable:
        session.unsubscribe("s")


@pytest.mark.parametrize("kept", [True, False], ids=["commit", "rollback"])
def test_messages_of_a_closed_consumer_still_belong_to_the_session(
    connection: Connection, name: str, kept: bool
) -> None:
    holding, other = connection.create_session(transacted=True), connection.create_session()
    queue = other.create_queue(name)
    send_texts(other, queue, "a", "b", "c")
    consumer = holding.create_consumer(queue)
    assert receive_texts(consumer, 2) == ["a", "b"]
    consumer.close()
    wait_left(connection._core.supervisor.link)
    (holding.commit if kept else holding.rollback)()
    with other.create_consumer(queue) as heir:
        expected = ["c"] if kept else ["a", "b", "c"]
        assert receive_texts(heir, len(expected)) == expected
        assert heir.receive_no_wait() is None


# -- drained


def test_credit_after_a_drain_keeps_the_consumer(broker: Broker, clients: Clients, name: str) -> None:
    """As ``receive_no_wait`` does: the consumer is not renewed, and no message is marked."""
    client, address = clients(broker), Address(name)
    subscription, box = client.consume(address, 1, window=10, deferred=True)
    client.send(address, "first")
    box.wait(1, 10.0)
    subscription.grant(1)
    started: list[str] = []
    consuming = client.link.pair.consuming
    plain = consuming.consume

    def consume(channel: Any, queue: str, exclusive: bool, tag: str, done: Callable[[Any], None]) -> None:
        started.append(tag)
        plain(channel, queue, exclusive, tag, done)

    consuming.consume = consume
    for number in range(100):
        drain(subscription)
        subscription.grant(1)
        client.send(address, str(number))
        box.wait(number + 2, 10.0)
        subscription.settle(box.tokens[-1:], Outcome.ACCEPTED)
    assert len(started) <= 5  # once or twice for a larger window, but not for the hundred drains
    assert not any(arrival.redelivered for arrival in box.arrivals)


# -- returned to the broker


def test_a_consumer_is_cancelled_before_its_messages_are_requeued(broker: Broker, clients: Clients, name: str) -> None:
    """Otherwise it would get some of them itself, and the others the rest out of order."""
    client, other, address = clients(broker), clients(broker), Address(name)
    client.send(address, *"abcdef")
    subscription, box = client.consume(address, 1, window=6)
    box.wait(1, 10.0)
    eventually(lambda: client.link.depth(address) == 0, 10.0)  # five of them are held beyond the credit
    _, heir = other.consume(address, 10, window=10)
    settle(subscription, box.tokens, Outcome.FAILED)
    heir.wait(6, 10.0)
    assert heir.bodies == list("abcdef")


# -- a new window


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("window", [10, 2])
def test_a_new_window_requeues_nothing(broker: Broker, clients: Clients, name: str, window: int, kind: str) -> None:
    """Messages on their way to the old consumer come before those of the new one: all in order, none marked."""
    open_queue(broker, name, kind)
    with FaultProxy.to(broker.url()) as proxy:
        client = clients(None, url=proxy.through(broker.url()), options=RabbitOptions())
        sender, address, dice = clients(broker), Address(name), random.Random(window)
        subscription, box = client.consume(address, window, window=window, deferred=True)
        proxy.delay = 0.005
        texts = [str(number) for number in range(300)]

        def send_all() -> None:
            for text in texts:
                sender.send(address, text)

        thread = threading.Thread(target=send_all)
        thread.start()
        settled, batch = 0, 1
        for count in range(1, 301):
            part = box.wait(count, 20.0)[settled:count]
            subscription.grant(1)
            if len(part) >= batch or count == 300:
                subscription.settle([arrival.token for arrival in part], Outcome.ACCEPTED)
                settled, batch = count, dice.choice([1, 1, 1, 2, 5, 2 * window])
        thread.join(20)
        assert box.bodies == texts
        assert not [
            arrival.envelope.body for arrival in box.arrivals if arrival.redelivered or arrival.delivery_count > 1
        ]
        drain(subscription)
        subscription.close()
        assert sender.link.depth(address) == 0

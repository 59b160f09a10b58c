"""Messages that are requeued among acknowledgements come again, on every type of queue."""

from collections.abc import Callable, Iterator

import pytest

from integration.lab.broker import Broker
from integration.rabbitmq.support import Client
from jmsbridge import CLIENT_ACKNOWLEDGE, INDIVIDUAL_ACKNOWLEDGE, Connection, DeliveryMode
from jmsbridge.spi import Address, Outcome
from jmsbridge.testing.suite.contract.support import settle
from jmsbridge.testing.suite.support import receive_texts
from jmsbridge_rabbitmq import RabbitOptions


@pytest.fixture(params=["classic", "quorum"])
def link(broker: Broker, request: pytest.FixtureRequest) -> Iterator[Client]:
    made = Client(broker, options=RabbitOptions(queue_type=request.param))
    yield made
    made.close()


def test_messages_requeued_before_later_ones_are_accepted_come_again(link: Client, name: str) -> None:
    address = Address(name)
    link.send(address, *map(str, range(10)))
    subscription, box = link.consume(address, 10, window=10)
    box.wait(10)
    tokens = box.tokens
    for each in (tokens[:2], tokens[4:6]):
        subscription.settle(each, Outcome.RELEASED)
    settle(subscription, [*tokens[2:4], *tokens[6:]], Outcome.ACCEPTED)
    subscription.close()
    again, rest = link.consume(address, 10, window=10)
    assert sorted(arrival.envelope.body for arrival in rest.wait(4)) == ["0", "1", "4", "5"]
    settle(again, rest.tokens, Outcome.ACCEPTED)
    again.close()
    assert not link.log.subscriptions


@pytest.mark.parametrize("recovers", [False, True])
@pytest.mark.parametrize("kind", ["classic", "quorum"])
def test_a_session_closed_with_many_unsettled_messages_returns_them_at_once_and_in_order(
    broker: Broker, connect: Callable[..., Connection], name: str, kind: str, recovers: bool
) -> None:
    """One by one a classic queue took seconds for them, in which no other consumer could start."""
    connection = connect(broker, queue_type=kind)
    first, second = (connection.create_session(CLIENT_ACKNOWLEDGE) for _ in range(2))
    queue, texts = first.create_queue(name), [str(number) for number in range(6000)]
    with first.create_producer(queue) as producer:
        producer.delivery_mode = DeliveryMode.NON_PERSISTENT
        for text in texts:
            producer.send(text)
    assert receive_texts(first.create_consumer(queue), 5000) == texts[:5000]
    if recovers:
        first.recover()
    first.close()
    consumer = second.create_consumer(queue)
    assert receive_texts(consumer, 1, timeout=4.0) == texts[:1]
    assert receive_texts(consumer, 5999) == texts[1:]
    second.acknowledge()


@pytest.mark.parametrize("kind", ["classic", "quorum"])
def test_many_messages_return_at_once_and_in_order_though_an_older_one_is_unsettled(
    broker: Broker, connect: Callable[..., Connection], name: str, kind: str
) -> None:
    """A classic queue took 18 seconds for 10,000 of them, one by one. What is accepted later stays accepted."""
    connection = connect(broker, queue_type=kind, prefetch=6000)
    first, second = (connection.create_session(CLIENT_ACKNOWLEDGE) for _ in range(2))
    queue, texts = first.create_queue(name), [str(number) + "-" * 100 for number in range(6000)]
    with first.create_producer(queue) as producer:
        producer.delivery_mode = DeliveryMode.NON_PERSISTENT
        for text in texts:
            producer.send(text)
    with first.create_consumer(queue) as consumer:
        assert receive_texts(consumer, 1) == texts[:1]
    consumer = second.create_consumer(queue)
    assert receive_texts(consumer, 1, timeout=2.0) == texts[1:2]
    assert receive_texts(consumer, 5998) == texts[2:]
    second.acknowledge()
    first.acknowledge()
    connection.close()
    again = connect(broker, queue_type=kind).create_session(CLIENT_ACKNOWLEDGE).create_consumer(queue)
    assert again.receive(timeout=0.5) is None


def test_individual_acknowledgements_of_many_messages_take_effect(
    broker: Broker, connect: Callable[..., Connection], name: str
) -> None:
    connections = [connect(broker, queue_type="classic", prefetch=6000) for _ in range(2)]
    first, second = (connection.create_session(INDIVIDUAL_ACKNOWLEDGE) for connection in connections)
    queue, texts = first.create_queue(name), [str(number) + "-" * 100 for number in range(6000)]
    with first.create_producer(queue) as producer:
        producer.delivery_mode = DeliveryMode.NON_PERSISTENT
        for text in texts:
            producer.send(text)
    consumer = first.create_consumer(queue)
    for message in [consumer.receive(timeout=10) for _ in texts][2::3]:
        assert message is not None
        message.acknowledge()
    connections[0].close()
    del texts[2::3]
    assert receive_texts(second.create_consumer(queue), 4000) == texts


def test_what_was_acknowledged_just_before_a_connection_closed_does_not_come_again(
    broker: Broker, connect: Callable[..., Connection], name: str
) -> None:
    """For a quorum queue each basic.get is a consumer of its own; of many acknowledgements the first 32 counted."""
    connections = [connect(broker, queue_type="quorum", prefetch=0) for _ in range(2)]
    first, second = (connection.create_session(INDIVIDUAL_ACKNOWLEDGE) for connection in connections)
    queue, texts = first.create_queue(name), [str(number) for number in range(201)]
    with first.create_producer(queue) as producer:
        for text in texts:
            producer.send(text)
    consumer = first.create_consumer(queue)
    for message in [consumer.receive(timeout=10) for _ in range(200)]:
        assert message is not None
        message.acknowledge()
    connections[0].close()
    assert receive_texts(second.create_consumer(queue), 1) == texts[200:]
    second.acknowledge()

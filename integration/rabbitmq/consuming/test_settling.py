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

"""Messages that are requeued among acknowledgements come again, on every type of queue."""

from collections.abc import Iterator

import pytest

from integration.lab.broker import Broker
from integration.rabbitmq.support import Client
from jmsbridge.spi import Address, Outcome
from jmsbridge.testing.suite.contract.support import settle
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

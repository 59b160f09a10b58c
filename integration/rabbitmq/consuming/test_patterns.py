"""A topic whose name is a pattern cannot be consumed: RabbitMQ would deliver the messages of other topics."""

from collections.abc import Callable

import pytest

from integration.lab.broker import Broker
from jmsbridge import Connection, InvalidDestination
from jmsbridge.destinations import destination_of
from jmsbridge.spi import Address


@pytest.mark.parametrize("word", ["*", "#"])
@pytest.mark.parametrize("kind", ["create_consumer", "create_shared_consumer", "create_shared_durable_consumer"])
def test_received_names_that_are_patterns(
    broker: Broker, connect: Callable[..., Connection], name: str, word: str, kind: str
) -> None:
    session = connect(broker.url()).create_session()
    received = destination_of(Address(f"{name}.{word}", topic=True))  # JMSDestination, or a name on the command line
    with pytest.raises(InvalidDestination, match=rf"topic:{name}\.\{word}: a word \* or # is a wildcard of RabbitMQ"):
        getattr(session, kind)(received, *([] if kind == "create_consumer" else [name]))
    queue = destination_of(Address(f"{name}.{word}", topic=False))
    session.create_producer(queue).send("a queue has no patterns")
    session.create_consumer(queue).close()

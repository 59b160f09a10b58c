"""RabbitMQ speaks STOMP, too, but jmsbridge does not use it there."""

import pytest

from integration.lab.broker import Broker
from integration.lab.table import PASSWORD, USER
from integration.stomp.opening import open_link
from jmsbridge.spi import ConnectFailed
from jmsbridge.testing.harness import LinkLog
from jmsbridge_stomp.connection.options import WithoutTls


@pytest.mark.broker("rabbitmq")
def test_it_is_refused_when_the_connection_opens(rabbitmq: Broker) -> None:
    with pytest.raises(ConnectFailed, match="rabbitmq://"):
        open_link(rabbitmq, LinkLog(), options=WithoutTls(virtual_host="/"), user=USER, password=PASSWORD)

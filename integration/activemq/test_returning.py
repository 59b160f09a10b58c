"""Messages that are returned to ActiveMQ Classic over AMQP 1.0.

The broker keeps them until their receiver ends, so the backend does not claim FAIL; but then it marks them.
"""

from collections.abc import Callable

import pytest

from integration.lab.broker import Broker
from integration.networked.conftest import name
from integration.networked.connecting import connect
from jmsbridge import CLIENT_ACKNOWLEDGE, Connection, Queue
from jmsbridge.testing.marks import rule
from jmsbridge.testing.suite.receiving.redelivery_support import deliveries
from jmsbridge.testing.suite.support import receive_texts, send_texts

__all__ = ["connect", "name"]

pytest.importorskip("proton", reason="python-qpid-proton is not installed: pip install 'jmsbridge[amqp]' builds it")
pytestmark = pytest.mark.broker("activemq")

Connect = Callable[..., Connection]


@rule("HD-8", "AC-10")
@pytest.mark.parametrize("recovers", [False, True])
def test_other_connections_get_it_marked(activemq: Broker, connect: Connect, name: str, recovers: bool) -> None:
    """What a closed session held, whether or not the client was about to deliver it again."""
    session = connect(activemq).create_session(CLIENT_ACKNOWLEDGE)
    consumer = session.create_consumer(Queue(name))
    send_texts(session, Queue(name), "a", "b")
    assert receive_texts(consumer, 2) == ["a", "b"]
    if recovers:
        session.recover()
    session.close()
    other = connect(activemq).create_session().create_consumer(Queue(name))
    assert deliveries(other, 2) == [("a", True, 2), ("b", True, 2)]

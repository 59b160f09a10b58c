"""The broker's own deadline for acknowledgements: it ends the consumer that misses it, and nothing else."""

from collections.abc import Callable

import pytest

from integration.lab.broker import Broker
from integration.lab.fixtures import StartBroker
from integration.rabbitmq.support import Client
from jmsbridge import CLIENT_ACKNOWLEDGE, Connection, JMSException, Message, Queue
from jmsbridge.spi import Address, ChannelLost, Outcome
from jmsbridge.testing.suite.contract.support import drain, settle
from jmsbridge.testing.suite.support import eventually, receive_texts, send_texts

Connect = Callable[..., Connection]

_LONG = 20.0  # seconds


def wait_for_acknowledgements(broker: Broker, milliseconds: int) -> None:
    """For so long the broker waits on channels that are opened from now on; it looks every half second."""
    settings = {"consumer_timeout": milliseconds, "channel_tick_interval": 500}
    terms = (f"application:set_env(rabbit, {setting}, {value})" for setting, value in settings.items())
    broker.ctl("eval", ", ".join(terms) + ".")


@pytest.fixture
def hurried(own_broker: StartBroker) -> Broker:
    """A broker that waits three seconds instead of half an hour."""
    broker = own_broker("rabbitmq")
    wait_for_acknowledgements(broker, 3000)
    return broker


def received(message: Message | None) -> Message:
    """It came."""
    assert message is not None
    return message


def test_only_the_consumer_is_lost(hurried: Broker, name: str) -> None:
    """To the subscription it is the same as a dead link, but the link lives, and so do its other subscriptions."""
    client = Client(hurried)
    try:
        address, elsewhere = Address(name), Address(f"{name}-other")
        client.send(address, "held")
        late, box = client.consume(address, 1)
        box.wait(1, _LONG)
        wait_for_acknowledgements(hurried, 600_000)
        other, others = client.consume(elsewhere, 1)
        eventually(lambda: client.log.subscriptions, _LONG)
        lost, error = client.log.subscriptions[0]
        assert lost is late
        assert type(error) is ChannelLost
        assert not error.in_doubt
        assert "raise consumer_timeout" in str(error)
        with pytest.raises(ChannelLost, match="consumer_timeout"):
            late.grant(1)
        late.close()
        client.send(elsewhere, "goes on")
        assert others.wait(1, _LONG)[0].envelope.body == "goes on"
        successor, more = client.consume(address, 1)
        again = more.wait(1, _LONG)[0]
        assert (again.envelope.body, again.redelivered) == ("held", True)
        for subscription, came in ((other, others), (successor, more)):
            settle(subscription, came.tokens, Outcome.ACCEPTED)
            drain(subscription)
            subscription.close()
        assert len(client.log.subscriptions) == 1
        assert not client.log.losses
    finally:
        client.close()


def test_the_application_is_told_why(hurried: Broker, connect: Connect, name: str) -> None:
    connection, told = connect(hurried), list[Exception]()
    connection.exception_listener = told.append
    session, queue = connection.create_session(acknowledge_mode=CLIENT_ACKNOWLEDGE), Queue(name)
    send_texts(session, queue, "held")
    consumer = session.create_consumer(queue)
    held = received(consumer.receive(timeout=_LONG))
    wait_for_acknowledgements(hurried, 600_000)
    eventually(lambda: told, _LONG)
    error = told[0]
    assert isinstance(error, JMSException)
    assert error.error_code == "ChannelLost"
    assert name in str(error)
    assert "consumer_timeout" in str(error)
    held.acknowledge()  # too late, and no error: the message comes again
    with pytest.raises(JMSException, match="consumer_timeout"):
        consumer.receive(timeout=_LONG)
    consumer.close()
    with session.create_consumer(queue) as successor:
        again = received(successor.receive(timeout=_LONG))
        assert again.get_body(str) == "held"
        assert again.jms_redelivered
        again.acknowledge()
        send_texts(session, queue, "usable")
        assert receive_texts(successor, 1) == ["usable"]
    assert len(told) == 1

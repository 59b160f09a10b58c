"""The broker's deadline for acknowledgements: a session that misses it loses its channel, and nothing else."""

from collections.abc import Callable

import pytest

from integration.lab.broker import Broker
from integration.lab.fixtures import StartBroker
from integration.rabbitmq.support import Client
from jmsbridge import CLIENT_ACKNOWLEDGE, Connection, JMSException, Message, Queue
from jmsbridge.spi import Address, ChannelLost, Outcome
from jmsbridge.testing.suite.contract.support import drain, envelope, send, settle, subscribe
from jmsbridge.testing.suite.support import eventually, receive_texts, send_texts

Connect = Callable[..., Connection]

_LONG = 20.0  # seconds


def wait_for_acknowledgements(broker: Broker, milliseconds: int) -> None:
    """Set the deadline for channels that are opened from now on; the broker checks every half second."""
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


def test_only_its_channel_is_lost(hurried: Broker, name: str) -> None:
    """The loss of the channel is reported once; the link and its other channels are not affected."""
    client = Client(hurried)
    try:
        address, elsewhere = Address(name), Address(f"{name}-other")
        client.send(address, "held")
        late, box = client.consume(address, 1)
        box.wait(1, _LONG)
        idle, _ = client.consume(elsewhere)
        wait_for_acknowledgements(hurried, 600_000)  # which may take longer than the channel has
        channel = client.link.channel(False)
        other, others = subscribe(channel, elsewhere, 1)
        eventually(lambda: client.log.channels, _LONG)
        lost, error = client.log.channels[0]
        assert lost is client.channel
        assert type(error) is ChannelLost
        assert not error.in_doubt
        assert "raise consumer_timeout" in str(error)
        for subscription in (late, idle):
            with pytest.raises(ChannelLost, match="consumer_timeout"):
                subscription.grant(1)
            subscription.close()
        _refuses_everything(client, address)
        send(channel, envelope(elsewhere, "goes on"))
        assert others.wait(1, _LONG)[0].envelope.body == "goes on"
        successor, more = subscribe(channel, address, 1)
        again = more.wait(1, _LONG)[0]
        assert (again.envelope.body, again.redelivered) == ("held", True)
        for subscription, came in ((other, others), (successor, more)):
            settle(subscription, came.tokens, Outcome.ACCEPTED)
            drain(subscription)
            subscription.close()
        client.channel.close()
        assert len(client.log.channels) == 1
        assert not client.log.subscriptions
        assert not client.log.losses
    finally:
        client.close()


def _refuses_everything(client: Client, address: Address) -> None:
    answer = client.ask(address, "never sent").outcome()
    assert isinstance(answer, ChannelLost)
    assert not answer.in_doubt
    with pytest.raises(ChannelLost, match="consumer_timeout"):
        client.channel.send(envelope(address), None)
    with pytest.raises(ChannelLost, match="consumer_timeout"):
        client.consume(address)


def test_the_session_continues_and_the_application_gets_the_reason(
    hurried: Broker, connect: Connect, name: str
) -> None:
    connection, told = connect(hurried), list[Exception]()
    connection.exception_listener = told.append
    session, queue = connection.create_session(acknowledge_mode=CLIENT_ACKNOWLEDGE), Queue(name)
    bystander = connection.create_session(acknowledge_mode=CLIENT_ACKNOWLEDGE)
    send_texts(session, queue, "held")
    consumer = session.create_consumer(queue)
    held = received(consumer.receive(timeout=_LONG))
    wait_for_acknowledgements(hurried, 600_000)
    elsewhere = Queue(f"{name}-other")
    watching = bystander.create_consumer(elsewhere)
    send_texts(bystander, elsewhere, "kept")
    kept = received(watching.receive(timeout=_LONG))
    eventually(lambda: told, _LONG)
    error = told[0]
    assert isinstance(error, JMSException)
    assert error.error_code == "ChannelLost"
    assert name in str(error)
    assert "consumer_timeout" in str(error)
    held.acknowledge()  # too late, but no error: the message comes again
    again = received(consumer.receive(timeout=_LONG))
    assert again.get_body(str) == "held"
    assert again.jms_redelivered
    again.acknowledge()
    send_texts(session, queue, "usable")
    assert receive_texts(consumer, 1) == ["usable"]
    kept.acknowledge()
    assert watching.receive_no_wait() is None
    assert len(told) == 1

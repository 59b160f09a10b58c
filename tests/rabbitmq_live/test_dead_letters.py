"""Messages that are put aside, here or by the broker: none goes because its time to live is over."""

import time
from collections.abc import Callable

import pytest

import jmsbridge
from integration.brokers import Broker
from jmsbridge.spi import Address, Outcome
from jmsbridge.testing.suite.contract_support import settle
from jmsbridge.testing.suite.support import eventually
from jmsbridge_rabbitmq import RabbitOptions
from tests.rabbitmq_live.support import Client

Clients = Callable[..., Client]
LIFE = 700  # milliseconds


def now() -> int:
    return time.time_ns() // 1_000_000


@pytest.mark.parametrize("queue_type", ["classic", "quorum"])
@pytest.mark.parametrize("dialect", ["amqp", "jms"])
def test_a_dead_letter_outlives_its_time_to_live(
    broker: Broker, clients: Clients, name: str, dialect: str, queue_type: str
) -> None:
    dead = Address(f"{name}-dead")
    options = RabbitOptions(dead_letter_queue=dead.name, dialect=dialect, queue_type=queue_type)  # type: ignore[arg-type]
    client = clients(broker, options=options)
    end = now() + 5_000
    client.send(Address(name), "poison", expiration=end)
    subscription, box = client.consume(Address(name), 1)
    assert box.wait(1, 10.0)[0].envelope.expiration == end
    settle(subscription, box.tokens, Outcome.REJECTED)
    eventually(lambda: now() > end, 10.0)
    _, aside = client.consume(dead, 1)
    found = aside.wait(1, 10.0)[0].envelope
    assert (found.body, found.expiration) == ("poison", 0)


@pytest.mark.filterwarnings("ignore::jmsbridge.EmulationWarning")
def test_looking_at_dead_letters_leaves_them_there(broker: Broker, name: str) -> None:
    with jmsbridge.connect(broker.url(), dead_letter_queue=f"{name}-dead", max_redeliveries=0) as connection:
        connection.start()
        session = connection.create_session(session_mode=jmsbridge.SESSION_TRANSACTED)
        queue, dead = session.create_queue(name), session.create_queue(f"{name}-dead")
        session.create_producer(queue).send(session.create_text_message("poison"), time_to_live=3)
        session.commit()
        consumer = session.create_consumer(queue)
        poison = consumer.receive(timeout=10)
        session.rollback()
        eventually(lambda: connection.admin.depth(Address(f"{name}-dead")) == 1, 10.0)
        eventually(lambda: now() > poison.jms_expiration, 10.0)
        looking = connection.create_session()
        with looking.create_browser(dead) as browser:
            assert [each.text for each in browser] == ["poison"]
        assert looking.create_consumer(dead).receive(timeout=10).text == "poison"


@pytest.mark.parametrize("queue_type", ["classic", "quorum"])
@pytest.mark.parametrize("dialect", ["amqp", "jms"])
def test_what_the_broker_puts_aside_because_its_time_is_over_is_seen(
    broker: Broker, clients: Clients, name: str, dialect: str, queue_type: str
) -> None:
    """A queue with x-dead-letter-exchange, as a user may configure it: the broker takes the time to live away."""
    aside = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": f"{name}-dead", "x-queue-type": queue_type}
    broker.admin.put(f"/api/queues/%2F/{name}", {"durable": True, "arguments": aside})
    broker.admin.put(f"/api/queues/%2F/{name}-dead", {"durable": True})
    client = clients(broker, options=RabbitOptions(dialect=dialect))  # type: ignore[arg-type]
    client.send(Address(name), "too late", expiration=now() + LIFE)
    _, box = client.consume(Address(f"{name}-dead"), 1)
    found = box.wait(1, 20.0)[0].envelope
    assert (found.body, found.expiration) == ("too late", 0)


def test_what_waited_for_its_delivery_time_still_expires(client: Client, name: str) -> None:
    """The broker notes a death of it as well."""
    begun = now()
    client.send(Address(name), "expires", delivery_time=begun + LIFE, expiration=begun + LIFE + 1)
    client.send(Address(name), "lives", delivery_time=begun + 2 * LIFE, expiration=begun + 60_000)
    _, box = client.consume(Address(name), 2)
    found = box.wait(1, 20.0)[0].envelope
    assert (found.body, found.expiration) == ("lives", begun + 60_000)
    eventually(lambda: client.link.depth(Address(name)) == 0, 10.0)
    assert box.bodies == ["lives"]

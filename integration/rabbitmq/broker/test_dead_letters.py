"""Messages dead-lettered by the client or the broker: none is lost by expiry or for lack of a dead-letter queue."""

import time
from collections.abc import Callable

import pytest

import jmsbridge
from integration.lab.broker import Broker
from integration.rabbitmq.support import Client
from jmsbridge.spi import AccessDenied, Address, Outcome
from jmsbridge.testing.suite.contract.support import Answer, settle
from jmsbridge.testing.suite.support import eventually, text_of
from jmsbridge.transport.deliveries import dead_letters
from jmsbridge_rabbitmq import RabbitOptions

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
def test_browsing_dead_letters_leaves_them_there(broker: Broker, name: str) -> None:
    with jmsbridge.connect(broker.url(), dead_letter_queue=f"{name}-dead", max_redeliveries=0) as connection:
        connection.start()
        session = connection.create_session(session_mode=jmsbridge.SESSION_TRANSACTED)
        queue, dead = session.create_queue(name), session.create_queue(f"{name}-dead")
        session.create_producer(queue).send(session.create_text_message("poison"), time_to_live=3)
        session.commit()
        consumer = session.create_consumer(queue)
        poison = consumer.receive(timeout=10)
        assert poison is not None
        expiration = poison.jms_expiration
        session.rollback()
        eventually(lambda: connection.admin.depth(Address(f"{name}-dead")) == 1, 10.0)
        eventually(lambda: now() > expiration, 10.0)
        looking = connection.create_session()
        with looking.create_browser(dead) as browser:
            assert [text_of(each) for each in browser] == ["poison"]
        assert text_of(looking.create_consumer(dead).receive(timeout=10)) == "poison"


@pytest.mark.parametrize("queue_type", ["classic", "quorum"])
@pytest.mark.parametrize("dialect", ["amqp", "jms"])
def test_messages_that_the_broker_dead_letters_at_their_expiry_are_delivered(
    broker: Broker, clients: Clients, name: str, dialect: str, queue_type: str
) -> None:
    """A queue with x-dead-letter-exchange, as users configure it: the broker removes the time to live."""
    aside = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": f"{name}-dead", "x-queue-type": queue_type}
    broker.admin.put(f"/api/queues/%2F/{name}", {"durable": True, "arguments": aside})
    broker.admin.put(f"/api/queues/%2F/{name}-dead", {"durable": True})
    client = clients(broker, options=RabbitOptions(dialect=dialect))  # type: ignore[arg-type]
    client.send(Address(name), "too late", expiration=now() + LIFE)
    _, box = client.consume(Address(f"{name}-dead"), 1)
    found = box.wait(1, 20.0)[0].envelope
    assert (found.body, found.expiration) == ("too late", 0)


def test_a_delayed_message_still_expires(client: Client, name: str) -> None:
    """The broker adds an x-death header to such a message as well."""
    begun = now()
    client.send(Address(name), "expires", delivery_time=begun + LIFE, expiration=begun + LIFE + 1)
    client.send(Address(name), "lives", delivery_time=begun + 2 * LIFE, expiration=begun + 60_000)
    _, box = client.consume(Address(name), 2)
    found = box.wait(1, 20.0)[0].envelope
    assert (found.body, found.expiration) == ("lives", begun + 60_000)
    eventually(lambda: client.link.depth(Address(name)) == 0, 10.0)
    assert box.bodies == ["lives"]


# -- a dead-letter queue that cannot be written


@pytest.fixture
def restricted(broker: Broker, clients: Clients, name: str) -> Callable[[], Client]:
    """Clients whose user may declare one queue, but no dead-letter queue."""
    broker.admin.put(f"/api/users/{name}", {"password": "pw", "tags": ""})
    broker.admin.put(f"/api/permissions/%2F/{name}", {"configure": f"^{name}$", "write": ".*", "read": ".*"})
    options = RabbitOptions(dead_letter_queue=f"{name}-dead")
    return lambda: clients(broker, user=name, password="pw", options=options)


def test_a_message_that_cannot_be_dead_lettered_is_redelivered_after_a_pause(
    restricted: Callable[[], Client], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dead_letters, "PAUSE", 2.0)
    client = restricted()
    client.send(Address(name), "a", "b")
    subscription, box = client.consume(Address(name), 10)
    box.wait(2, 10.0)
    answer, begun = Answer(), time.monotonic()
    subscription.settle(box.tokens, Outcome.REJECTED, answer)
    error = answer.outcome()
    assert isinstance(error, AccessDenied)
    assert f"'{name}-dead'" in str(error)
    assert "set_permissions" in str(error)
    found = box.wait(4, 20.0)[2:]
    assert time.monotonic() >= begun + 2.0
    assert [(each.envelope.body, each.redelivered) for each in found] == [("a", True), ("b", True)]
    assert len(answer.answers) == 1


def test_a_failed_dead_letter_is_logged_without_a_ticket(
    restricted: Callable[[], Client], name: str, caplog: pytest.LogCaptureFixture
) -> None:
    client = restricted()
    client.send(Address(name), "a", "b")
    subscription, box = client.consume(Address(name), 10)
    box.wait(2, 10.0)
    subscription.settle(box.tokens, Outcome.REJECTED)
    eventually(lambda: caplog.messages, 10.0)
    (told,) = [each for each in caplog.messages if "dead_letter_queue" in each]
    assert told.startswith(
        f"queue:{name}: a message cannot be moved to '{name}-dead' (option dead_letter_queue) and is"
    )
    assert "set_permissions" in told
    assert box.bodies == ["a", "b"]


def test_a_consumer_closed_during_that_pause_requeues_the_message(restricted: Callable[[], Client], name: str) -> None:
    client = restricted()
    client.send(Address(name), "poison", "next")
    subscription, box = client.consume(Address(name), 1)
    box.wait(1, 10.0)
    answer = Answer()
    subscription.settle(box.tokens, Outcome.REJECTED, answer)
    assert isinstance(answer.outcome(), AccessDenied)
    begun = time.monotonic()
    subscription.close()
    _, again = client.consume(Address(name), 2)
    assert [each.envelope.body for each in again.wait(2, 10.0)] == ["poison", "next"]
    assert time.monotonic() < begun + dead_letters.PAUSE / 2
    assert not client.log.losses


@pytest.mark.filterwarnings("ignore::jmsbridge.EmulationWarning")
def test_a_poison_message_without_a_dead_letter_queue_is_paused_and_reported(
    broker: Broker, restricted: Callable[[], Client], name: str
) -> None:
    restricted().send(Address(name), "poison", "good")
    told: list[jmsbridge.JMSException] = []
    seen: list[str] = []

    def listener(message: jmsbridge.Message) -> None:
        seen.append(text_of(message))
        if text_of(message) == "poison":
            raise ValueError("cannot take it")

    options = {"user": name, "password": "pw", "dead_letter_queue": f"{name}-dead"}
    with jmsbridge.connect(broker.url(), max_redeliveries=1, redelivery_delay=0.01, **options) as connection:
        connection.exception_listener = told.append
        session = connection.create_session()
        session.create_consumer(session.create_queue(name)).message_listener = listener
        connection.start()
        eventually(lambda: told and "good" in seen, 10.0)
        time.sleep(1.0)  # sleep: no further message may come
        assert seen == ["poison", "poison", "good"]
        (why,) = told
        assert f"'{name}-dead'" in str(why)


@pytest.mark.parametrize("wrong", ["amq.foo", "x" * 300, "a%0Ab"])
def test_an_invalid_dead_letter_queue_is_refused_before_connecting(broker: Broker, wrong: str) -> None:
    with pytest.raises(jmsbridge.ConfigurationError, match="option 'dead_letter_queue'"):
        jmsbridge.connect(f"{broker.url()}?dead_letter_queue={wrong}")

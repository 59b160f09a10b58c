"""Dead letters of the client and of the broker: properties, destination, listing and returning them."""

import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from typer.testing import CliRunner

import jmsbridge
from integration.lab.broker import Broker
from integration.rabbitmq.support import Client
from jmsbridge.cli import app
from jmsbridge.spi import Address, AddressRefused, Native, NotSupported, Outcome
from jmsbridge.testing.suite.contract.support import Answer, drain, settle
from jmsbridge.testing.suite.support import assert_empty, eventually, receive_texts, send_texts, text_of
from jmsbridge.transport.deliveries import expiry
from jmsbridge_rabbitmq import RabbitOptions

pytestmark = pytest.mark.filterwarnings("ignore::jmsbridge.EmulationWarning")

Clients = Callable[..., Client]

REASON, ORIGIN = "JMS_jmsbridge_dead_letter_reason", "JMS_jmsbridge_dead_letter_origin"
TIME, DELIVERIES = "JMS_jmsbridge_dead_letter_time", "JMS_jmsbridge_dead_letter_deliveries"
HOME = "JMS_jmsbridge_dead_letter_queue"


def now() -> int:
    return time.time_ns() // 1_000_000


def is_there(broker: Broker, queue: str) -> bool:
    """Whether there is such a queue."""
    return queue in {each["name"] for each in broker.admin.get("/api/queues/%2F?disable_stats=true")}


def letter(client: Client, queue: str) -> dict[str, Any]:
    """Take the only message of this queue; return its properties."""
    subscription, box = client.consume(Address(queue), 1)
    (arrival,) = box.wait(1, 20.0)
    settle(subscription, box.tokens, Outcome.ACCEPTED)
    drain(subscription)
    subscription.close()
    return dict(arrival.envelope.properties)


def command(broker: Broker, *arguments: str, **options: str) -> str:
    """Run a command; return its output."""
    url = f"{broker.url()}?{'&'.join(f'{name}={value}' for name, value in options.items())}"
    result = CliRunner().invoke(app, [*arguments, "-t", url])
    assert result.exit_code == 0, result.output
    return result.stdout


# -- those that the client dead-letters


@pytest.mark.parametrize("dialect", ["amqp", "jms"])
def test_a_rejected_message_has_reason_and_origin(broker: Broker, clients: Clients, name: str, dialect: str) -> None:
    options = RabbitOptions(dead_letter_queue=f"{name}-dlq", dialect=dialect)  # type: ignore[arg-type]
    client, begun = clients(broker, options=options), now()
    client.send(Address(name), "poison", properties={"n": 7})
    subscription, box = client.consume(Address(name), 1)
    box.wait(1)
    settle(subscription, box.tokens, Outcome.FAILED)
    subscription.grant(1)
    box.wait(2)
    answer = Answer()
    subscription.settle(box.tokens[1:], Outcome.REJECTED, answer, failures=5)
    answer.wait()
    found = letter(client, f"{name}-dlq")
    assert begun <= found.pop(TIME) <= now()
    expected = {"n": 7, REASON: "rejected after 6 deliveries", ORIGIN: f"queue:{name}", DELIVERIES: 6}
    assert found == expected


def test_dead_letters_rejected_again_keep_their_origin(broker: Broker, clients: Clients, name: str) -> None:
    client = clients(broker, options=RabbitOptions(dead_letter_queue=f"{name}-dlq"))
    client.send(Address(name), "poison")
    for queue in (name, f"{name}-dlq"):
        subscription, box = client.consume(Address(queue), 1)
        box.wait(1)
        settle(subscription, box.tokens, Outcome.REJECTED)
        drain(subscription)
        subscription.close()
    found = letter(client, f"{name}-dlq")
    assert found.get(ORIGIN) in (f"queue:{name}", None)
    assert found[REASON] == "rejected after 1 delivery"


@pytest.mark.parametrize("kind", ["plain", "durable", "shared", "shared durable"])
def test_dead_letters_of_subscriptions_name_topic_and_subscription(
    broker: Broker, clients: Clients, name: str, kind: str
) -> None:
    client = clients(broker, options=RabbitOptions(dead_letter_queue=f"{name}-dlq"), client_id=name)
    named = kind != "plain"
    interest = {"key": "s", "shared": "shared" in kind, "durable": "durable" in kind} if named else {}
    topic = Address(f"{name}-t", topic=True)
    subscription, box = client.consume(topic, 1, **interest)
    client.send(topic, "poison")
    box.wait(1)
    settle(subscription, box.tokens, Outcome.REJECTED)
    found = letter(client, f"{name}-dlq")
    assert found[ORIGIN] == (f"topic:{name}-t/s" if named else f"topic:{name}-t")
    assert found.get(HOME) == (f"{name}.s" if "durable" in kind else None)


# -- those that the broker dead-letters


@pytest.mark.parametrize(
    ("why", "arguments", "reason"),
    [
        ("expires", {}, "expired"),
        ("no room", {"x-max-length": 1}, "its queue was full"),
        ("limit", {"x-queue-type": "quorum", "x-delivery-limit": 0}, "limit"),
        ("rejected", {}, "rejected by a consumer"),
    ],
)
def test_dead_letters_of_the_broker_have_reason_and_origin(
    broker: Broker, clients: Clients, name: str, why: str, arguments: dict[str, Any], reason: str
) -> None:
    aside = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": f"{name}-dlq"}
    broker.admin.put(f"/api/queues/%2F/{name}", {"durable": True, "arguments": {**aside, **arguments}})
    broker.admin.put(f"/api/queues/%2F/{name}-dlq", {"durable": True})
    client, begun = clients(broker), now()
    client.send(Address(name), "m", properties={"n": 7}, expiration=begun + 500 if why == "expires" else 0)
    if why == "no room":
        client.send(Address(name), "second")
    elif why in ("limit", "rejected"):  # by a consumer of another program
        how = "reject_requeue_true" if why == "limit" else "reject_requeue_false"
        got = {"count": 1, "ackmode": how, "encoding": "auto"}
        broker.admin.post(f"/api/queues/%2F/{name}/get", got)
    found = letter(client, f"{name}-dlq")
    assert reason in found.pop(REASON)
    assert abs(found.pop(TIME) - now()) < 30_000
    assert found == {"n": 7, ORIGIN: f"queue:{name}"}


def test_a_delayed_message_is_not_a_dead_letter(client: Client, name: str) -> None:
    client.send(Address(name), "later", delivery_time=now() + 100)
    assert letter(client, name) == {}


# -- list and return


def test_the_command_line_lists_and_returns_them(broker: Broker, name: str) -> None:
    dlq = {"dead_letter_queue": f"{name}-dlq"}
    aside = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": f"{name}-dlq", "x-queue-type": "classic"}
    broker.admin.put(f"/api/queues/%2F/{name}-short", {"durable": True, "arguments": aside})
    broker.admin.put(f"/api/queues/%2F/{name}-dlq", {"durable": True})
    topic = jmsbridge.Topic(f"{name}-t")
    with jmsbridge.connect(broker.url(), client_id=name, max_redeliveries=0, **dlq) as connection:
        connection.start()
        session = connection.create_session(transacted=True)
        queue, short = session.create_queue(name), session.create_queue(f"{name}-short")
        durable = session.create_durable_consumer(topic, "audit")
        send_texts(session, queue, "of the queue")
        send_texts(session, topic, "of the subscription")
        send_texts(session, short, "of the broker", time_to_live=0.001)
        session.commit()
        plain = session.create_consumer(queue)
        assert receive_texts(plain, 1) + receive_texts(durable, 1) == ["of the queue", "of the subscription"]
        session.rollback()
        eventually(lambda: connection.admin.depth(Address(f"{name}-dlq")) == 3, 20.0)
        listed = [json.loads(line) for line in command(broker, "dlq", "list", "--json", **dlq).splitlines()]
        assert {(each["count"], each["origin"], each["reason"]) for each in listed} == {
            (1, f"queue:{name}", "rejected after 1 delivery"),
            (1, f"topic:{name}-t/audit", "rejected after 1 delivery"),
            (1, f"queue:{name}-short", "expired"),
        }
        shown = command(broker, "dlq", "show", "--origin", name, "--json", **dlq)
        assert json.loads(shown)["properties"][DELIVERIES] == 1
        returned = json.loads(command(broker, "dlq", "return", "--json", **dlq))
        assert returned == {"returned": 3, "without_origin": 0}
        assert receive_texts(plain, 1) == ["of the queue"]
        message = durable.receive(timeout=5)
        assert message is not None
        assert (text_of(message), [*message.property_names]) == ("of the subscription", ["JMSXDeliveryCount"])
        assert receive_texts(session.create_consumer(short), 1) == ["of the broker"]
        session.commit()
        assert_empty(plain)
        durable.close()
        session.unsubscribe("audit")


# -- dead-letter queues of a subscription


def test_rejected_messages_go_to_the_queue_of_the_interest(broker: Broker, clients: Clients, name: str) -> None:
    client = clients(broker, options=RabbitOptions(dead_letter_queue=""))
    client.send(Address(name), "a")
    plain, box = client.consume(Address(name), 1, window=1)
    box.wait(1)
    assert Native.REJECT not in plain.native
    with pytest.raises(NotSupported):
        settle(plain, box.tokens, Outcome.REJECTED)
    settle(plain, box.tokens, Outcome.ACCEPTED)
    plain.close()
    client.send(Address(name), "b")
    named, box = client.consume(Address(name), 1, dead_letters=f"{name}-mine")
    box.wait(1)
    assert Native.REJECT in named.native
    settle(named, box.tokens, Outcome.REJECTED)
    assert letter(client, f"{name}-mine")[REASON] == "rejected after 1 delivery"


@pytest.mark.parametrize("how", ["on arrival", "while held"])
def test_expired_messages_go_to_the_queue_of_the_interest(
    broker: Broker, clients: Clients, name: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only those that the broker delivers: it drops or dead-letters the others itself."""
    client, address = clients(broker), Address(name)
    end = now() + (60_000 if how == "on arrival" else 700)
    client.send(address, "mortal", "immortal", expiration=0)
    drained, all_of_it = client.consume(address, 2)
    settle(drained, [each.token for each in all_of_it.wait(2)], Outcome.ACCEPTED)
    drain(drained)
    drained.close()
    client.send(address, "first")
    client.send(address, "mortal", expiration=end)
    if how == "on arrival":  # the clocks differ
        monkeypatch.setattr(expiry, "now_ms", lambda: end + 1)
    subscription, box = client.consume(address, 1, window=5, expired=f"{name}-expired")
    box.wait(1)
    eventually(lambda: now() > end or how == "on arrival", 10.0)
    subscription.grant(5)
    found = letter(client, f"{name}-expired")
    assert (found[REASON], found[ORIGIN]) == ("expired", f"queue:{name}")
    drain(subscription)
    assert box.bodies == ["first"]


def test_without_an_expiry_queue_expired_messages_are_dropped(client: Client, name: str) -> None:
    address, end = Address(name), now() + 500
    client.send(address, "first")
    client.send(address, "mortal", expiration=end)
    subscription, box = client.consume(address, 1, window=5)
    box.wait(1)
    eventually(lambda: now() > end, 10.0)
    subscription.grant(5)
    drain(subscription)
    settle(subscription, box.tokens, Outcome.ACCEPTED)
    subscription.close()
    assert box.bodies == ["first"]
    assert client.link.depth(address) == 0


# -- a deleted queue


def test_the_first_send_to_a_deleted_queue(broker: Broker, clients: Clients, name: str) -> None:
    """The first send is refused, and the next one declares the queue again."""
    client = clients(broker)
    client.send(Address(name), "a")
    broker.admin.delete(f"/api/queues/%2F/{name}")
    assert isinstance(client.ask(Address(name), "b").outcome(), AddressRefused)
    client.send(Address(name), "c")
    assert client.link.depth(Address(name)) == 1


def test_a_deleted_queue_with_a_cancelled_consumer_is_declared_by_the_first_send(
    broker: Broker, clients: Clients, name: str
) -> None:
    """The link knows of the deletion; the broker reports it shortly before the queue is gone."""
    client = clients(broker)
    client.consume(Address(name), 1)
    broker.admin.delete(f"/api/queues/%2F/{name}")
    eventually(lambda: client.log.subscriptions, 10.0)
    eventually(lambda: not is_there(broker, name), 10.0)
    client.send(Address(name), "a")
    assert client.link.depth(Address(name)) == 1

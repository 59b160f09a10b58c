"""How destinations and subscriptions are mapped to queues and exchanges, seen at the broker."""

import json
import time
from collections.abc import Callable
from urllib.parse import quote

import pika
import pytest

from integration.lab.broker import Broker
from integration.rabbitmq.support import Client
from jmsbridge.spi import DEAD_LETTER_NOTES, Address, AddressInUse, AddressRefused, BackendError, NotSupported, Outcome
from jmsbridge.testing.suite.contract.support import drain, settle
from jmsbridge.testing.suite.support import eventually
from jmsbridge_rabbitmq import RabbitOptions

Clients = Callable[..., Client]


def bindings(broker: Broker, queue: str) -> set[tuple[str, str]]:
    """Exchange and key of each binding, except that of the default exchange."""
    listed = broker.admin.get(f"/api/queues/%2F/{quote(queue, safe='')}/bindings")
    return {(each["source"], each["routing_key"]) for each in listed if each["source"]}


def test_a_queue_is_a_plain_durable_queue(broker: Broker, client: Client, name: str) -> None:
    client.send(Address(name), "x")
    queue = broker.admin.get(f"/api/queues/%2F/{name}")
    assert queue["durable"]
    assert not queue["exclusive"]
    assert bindings(broker, name) == set()


def test_an_amqp_program_shares_the_queue(broker: Broker, client: Client, name: str) -> None:
    parameters = pika.URLParameters(broker.url("rabbitmq").replace("rabbitmq:", "amqp:") + "/%2F")
    connection = pika.BlockingConnection(parameters)
    try:
        channel = connection.channel()
        channel.queue_declare(name, durable=True)
        channel.basic_publish("", name, "from pika", pika.BasicProperties(content_type="text/plain"))
        _, box = client.consume(Address(name), 1)
        assert box.wait(1)[0].envelope.body in ("from pika", b"from pika")
        other = Address(f"{name}-back")
        client.send(other, "to pika")
        _, _, body = channel.basic_get(other.name, auto_ack=True)
        assert body == b"to pika"
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("options", "queue"),
    [
        (RabbitOptions(), "{client}.{key}"),
        (RabbitOptions(subscription_names="java"), "{key}"),
        (RabbitOptions(dialect="jms"), "{key}"),
        (RabbitOptions(dialect="jms", subscription_names="client"), "{client}.{key}"),
    ],
    ids=["default", "java-names", "jms", "jms-client-names"],
)
def test_a_durable_subscription_is_a_queue(
    broker: Broker, clients: Clients, name: str, options: RabbitOptions, queue: str
) -> None:
    client = clients(broker, options=options, client_id=f"{name}c")
    subscription, _ = client.consume(Address(name, topic=True), key=f"{name}k", durable=True)
    found = queue.format(client=f"{name}c", key=f"{name}k")
    made = dict(bindings(broker, found))
    assert made.pop("jms.durable.topic") == name
    assert [exchange.startswith("jms.definition.") for exchange in made] == [True]
    subscription.close()
    client.link.unsubscribe(f"{name}k", None)
    marker = next(iter(made))
    assert marker not in {each["name"] for each in broker.admin.get("/api/exchanges/%2F")}


def test_a_shared_subscription_is_deleted_with_its_last_consumer(broker: Broker, clients: Clients, name: str) -> None:
    one, two = clients(broker), clients(broker)
    queue = f"jms-cons-shared-.{name}"
    first, _ = one.consume(Address(name, topic=True), key=name, shared=True)
    second, box = two.consume(Address(name, topic=True), key=name, shared=True)
    first.close()
    one.send(Address(name, topic=True), "kept")
    second.grant(1)
    assert box.wait(1)[0].envelope.body == "kept"
    settle(second, box.tokens, Outcome.ACCEPTED)
    assert queue in {each["name"] for each in broker.admin.get("/api/queues/%2F")}
    second.close()
    eventually(lambda: queue not in {each["name"] for each in broker.admin.get("/api/queues/%2F")})


def test_queues_of_a_link_end_with_it(broker: Broker, clients: Clients, name: str) -> None:
    client = clients(broker, client_id=name)
    client.link.declare(Address(f"{name}-q", temporary=True))
    client.link.declare(Address(f"{name}-t", topic=True, temporary=True))
    client.consume(Address(name, topic=True), 1)

    def own() -> set[str]:
        return {each["name"] for each in broker.admin.get("/api/queues/%2F") if name in each["name"]}

    assert own() >= {f"{name}-q", f"{name}-t", f"jms-client-{name}"}
    client.close()
    eventually(lambda: own() == set())


def test_a_temporary_topic_is_consumed_only_by_its_connection(broker: Broker, clients: Clients, name: str) -> None:
    owner, other = clients(broker), clients(broker)
    topic = owner.link.declare(Address(name, topic=True, temporary=True))
    with pytest.raises(AddressInUse):
        other.consume(topic)
    other.send(topic, "no consumer")
    subscription, box = owner.consume(topic, 10)
    other.send(topic, "reply")
    assert box.wait(1)[0].envelope.body == "reply"
    with pytest.raises(AddressInUse):
        owner.link.delete(topic)
    subscription.close()
    owner.link.delete(topic)
    assert isinstance(other.ask(topic).outcome(), AddressRefused)
    with pytest.raises(AddressRefused):
        owner.consume(topic)


def test_rejected_messages_are_copied_as_they_are(broker: Broker, clients: Clients, name: str) -> None:
    client = clients(broker, options=RabbitOptions(dead_letter_queue=f"{name}-dead"))
    later = time.time_ns() // 1_000_000 + 60_000
    client.send(Address(name), "bad", properties={"why": "bad"}, correlation_id="c", expiration=later, priority=7)
    subscription, box = client.consume(Address(name), 1)
    first = box.wait(1)[0].envelope
    settle(subscription, box.tokens, Outcome.REJECTED)
    drain(subscription)
    subscription.close()
    _, dead = client.consume(Address(f"{name}-dead"), 1)
    copy = dead.wait(1)[0].envelope
    kept = {name: value for name, value in copy.properties.items() if name not in DEAD_LETTER_NOTES}
    assert (copy.body, kept, copy.message_id) == (first.body, first.properties, first.message_id)
    assert (copy.correlation_id, copy.priority) == ("c", 7)
    assert client.link.describe(Address(name)).depth == 0


def test_a_delayed_message_waits_at_the_broker(broker: Broker, clients: Clients, name: str) -> None:
    sender = clients(broker)
    due = time.time_ns() // 1_000_000 + 700
    sender.send(Address(name), "later", delivery_time=due)
    sender.close()
    client = clients(broker)
    _, box = client.consume(Address(name), 1)
    assert box.wait(1)[0].envelope.body == "later"
    assert time.time_ns() // 1_000_000 >= due


def test_administration(client: Client, name: str) -> None:
    admin, queue = client.link, Address(name)
    admin.create(queue)
    client.send(queue, "a", "b", "c")
    assert (admin.describe(queue).depth, admin.describe(queue).consumers, admin.depth(queue)) == (
        3,
        0,
        3,
    )
    assert admin.purge(queue) == 3
    subscription, _ = client.consume(queue, 1)
    drain(subscription)
    with pytest.raises(AddressInUse):
        admin.remove(queue)
    subscription.close()
    admin.remove(queue)
    with pytest.raises(AddressRefused):
        admin.describe(queue)
    with pytest.raises(AddressRefused):
        admin.purge(queue)
    for refused in (
        admin.list_destinations,
        lambda: admin.move(queue, queue),
        lambda: admin.purge(queue, "a = 1"),
        lambda: admin.remove(Address(name, topic=True)),
    ):
        with pytest.raises(NotSupported):
            refused()
    assert admin.depth(queue) == 0
    assert admin.dead_letters == Address("jms.dlq")


def test_passive_requests_change_nothing(broker: Broker, client: Client, name: str) -> None:
    """Finding the kind of a queue does not change the queue."""
    arguments = {"x-max-priority": 5, "x-message-ttl": 60_000}
    broker.admin.put(f"/api/queues/%2F/{name}", {"durable": True, "arguments": arguments})
    before = broker.admin.get(f"/api/queues/%2F/{name}")["arguments"]
    client.consume(Address(name), 1)
    assert json.dumps(broker.admin.get(f"/api/queues/%2F/{name}")["arguments"]) == json.dumps(before)


def test_more_consumers_than_channels(client: Client, name: str) -> None:
    client.send(Address(name), "before")
    client.link.pair.consuming.params.channel_max = 4
    subscriptions = []
    with pytest.raises(BackendError, match="channel_max"):
        for number in range(6):
            subscriptions.append(client.consume(Address(f"{name}-{number}"), 1)[0])
    assert not client.log.losses
    subscriptions.pop().close()
    subscription, box = client.consume(Address(name), 1)
    assert box.wait(1)[0].envelope.body == "before"
    subscription.close()


def test_a_window_larger_than_the_limit_of_amqp(client: Client, name: str) -> None:
    client.send(Address(name), *"abc")
    _, box = client.consume(Address(name), 1_000_000, window=1_000_000, deferred=True)
    assert [arrival.envelope.body for arrival in box.wait(3)] == list("abc")

"""Quorum queues that drop or move messages after too many deliveries: closing loses no message on any queue."""

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import jmsbridge
from integration.lab.broker import Broker
from integration.lab.external import External
from integration.lab.fixtures import rabbitmq3, unavailable
from integration.rabbitmq.support import Client
from jmsbridge.spi import Address, Outcome, SendRefused
from jmsbridge.testing.proxy import FaultProxy
from jmsbridge.testing.suite.contract.support import drain, fetch, settle
from jmsbridge.testing.suite.support import eventually, text_of
from jmsbridge_rabbitmq import RabbitOptions
from jmsbridge_rabbitmq.broker.queue_kinds import UNREACHED
from jmsbridge_rabbitmq.consuming import copies

__all__ = ["rabbitmq3"]

Clients = Callable[..., Client]

TEXTS = [f"{number:02}" for number in range(30)]
ROUNDS = 25


@pytest.fixture(params=["rabbitmq", "rabbitmq3"])
def either(request: pytest.FixtureRequest) -> Broker:
    """RabbitMQ 4, and 3.10."""
    found = request.getfixturevalue(request.param)
    if isinstance(found, External):
        unavailable("these tests administer the broker: unset JMSBRIDGE_RABBITMQ_URL and JMSBRIDGE_RABBITMQ3_URL")
    assert isinstance(found, Broker)
    return found


def foreign(broker: Broker, name: str, limit: int | None, **more: Any) -> None:
    """A quorum queue as other programs declare it; dropped messages go to the queue NAME-dead."""
    aside = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": f"{name}-dead"}
    arguments = {"x-queue-type": "quorum", **aside, **more} | ({} if limit is None else {"x-delivery-limit": limit})
    broker.admin.put(f"/api/queues/%2F/{name}", {"durable": True, "arguments": arguments})
    broker.admin.put(f"/api/queues/%2F/{name}-dead", {"durable": True, "arguments": {"x-queue-type": "classic"}})


def arguments_of(broker: Broker, name: str, vhost: str = "%2F") -> dict[str, Any]:
    """The arguments of a queue."""
    found: dict[str, Any] = broker.admin.get(f"/api/queues/{vhost}/{name}")["arguments"]
    return found


def check_all_there(client: Client, name: str, texts: list[str]) -> None:
    """Check that all messages come and none was dropped."""
    assert sorted(fetch(client.link, Address(name), len(texts))) == sorted(texts)
    assert client.link.depth(Address(f"{name}-dead")) == 0


# -- how they are declared


def test_queues_that_jmsbridge_declares_have_an_unreachable_limit(either: Broker, clients: Clients, name: str) -> None:
    client = clients(
        either, options=RabbitOptions(queue_type="quorum", dead_letter_queue=f"{name}-dlq"), client_id=name
    )
    client.send(Address(name), "a")
    subscription, box = client.consume(Address(name), 1)
    box.wait(1)
    settle(subscription, box.tokens, Outcome.REJECTED)
    client.consume(Address("t", topic=True), key="d", durable=True)[0].close()
    for made in (name, f"{name}-dlq", f"{name}.d"):
        assert arguments_of(either, made) == {"x-queue-type": "quorum", "x-delivery-limit": UNREACHED}
    client.link.unsubscribe("d", None)


@pytest.fixture
def quorum_host(broker: Broker, name: str) -> Iterator[str]:
    """A virtual host whose default type of queue is quorum."""
    broker.admin.put(f"/api/vhosts/{name}", {"default_queue_type": "quorum"})
    broker.admin.put(f"/api/permissions/{name}/jb", {"configure": ".*", "write": ".*", "read": ".*"})
    yield name
    broker.admin.delete(f"/api/vhosts/{name}")


def test_a_virtual_host_of_quorum_queues(broker: Broker, clients: Clients, quorum_host: str) -> None:
    client = clients(None, url=f"{broker.url()}/{quorum_host}", client_id="c")
    client.send(Address("q"), *TEXTS)
    durable, _ = client.consume(Address("t", topic=True), key="d", durable=True)
    shared, _ = client.consume(Address("t", topic=True), key="s", shared=True)
    plain, _ = client.consume(Address("t", topic=True))
    expected = {"x-queue-type": "quorum", "x-delivery-limit": UNREACHED}
    assert arguments_of(broker, "q", quorum_host) == arguments_of(broker, "c.d", quorum_host) == expected
    assert arguments_of(broker, "jms-cons-shared-c.s", quorum_host)["x-queue-type"] == "classic"
    for subscription in (durable, shared, plain):
        subscription.close()
    for _ in range(ROUNDS):
        again = clients(None, url=f"{broker.url()}/{quorum_host}")
        _, box = again.consume(Address("q"), len(TEXTS))
        box.wait(len(TEXTS))
        again.close()
    assert fetch(client.link, Address("q"), len(TEXTS)) == TEXTS


def test_messages_requeued_to_such_a_queue_keep_their_place(either: Broker, clients: Clients, name: str) -> None:
    """Without any limit RabbitMQ would put them at the end."""
    client = clients(either, options=RabbitOptions(queue_type="quorum"))
    client.send(Address(name), *TEXTS)
    for _ in range(3):
        subscription, box = client.consume(Address(name), 5, window=5)
        box.wait(5)
        drain(subscription)
        settle(subscription, box.tokens, Outcome.RELEASED)
        subscription.close()
    assert fetch(client.link, Address(name), len(TEXTS)) == TEXTS


# -- queues of others


@pytest.mark.parametrize("limit", [None, -1, 20, 5, 1, 0])
@pytest.mark.parametrize("way", ["released", "failed", "held", "subscription", "channel", "link"])
def test_requeued_messages_are_never_dropped(
    broker: Broker, clients: Clients, name: str, way: str, limit: int | None
) -> None:
    foreign(broker, name, limit)
    client, address = clients(broker), Address(name)
    client.send(address, *TEXTS)
    counts: set[int] = set()
    for _ in range(ROUNDS):
        other = client if way != "link" else clients(broker)
        channel = other.link.channel(False)
        other.channel = channel
        subscription, box = other.consume(address, 1 if way == "held" else len(TEXTS), window=len(TEXTS))
        counts |= {each.delivery_count for each in box.wait(1 if way == "held" else len(TEXTS))}
        if way in ("released", "failed"):
            drain(subscription)
            settle(subscription, box.tokens, Outcome.RELEASED if way == "released" else Outcome.FAILED)
            subscription.close()
        elif way == "subscription":
            subscription.close()
        elif way == "link":
            other.close()
        channel.close()
    check_all_there(client, name, TEXTS)
    if way == "failed":
        assert max(counts) >= ROUNDS - 2  # the copies continue the count, although the broker starts again


def test_a_queue_of_3_10_with_a_limit(rabbitmq3: Broker, clients: Clients, name: str) -> None:
    foreign(rabbitmq3, name, 3)
    client = clients(rabbitmq3)
    client.send(Address(name), *TEXTS)
    for _ in range(ROUNDS):
        subscription, box = client.consume(Address(name), 10, window=len(TEXTS))
        box.wait(10)
        drain(subscription)
        settle(subscription, box.tokens, Outcome.RELEASED)
        subscription.close()
    check_all_there(client, name, TEXTS)


def test_a_limit_of_a_policy_counts_if_the_option_states_it(broker: Broker, clients: Clients, name: str) -> None:
    policy = {"pattern": f"^{name}$", "definition": {"delivery-limit": 4}, "apply-to": "queues"}
    broker.admin.put(f"/api/policies/%2F/{name}", policy)
    client = clients(broker, options=RabbitOptions(queue_type="quorum", delivery_limit=4))
    client.send(Address(name), *TEXTS)
    for _ in range(ROUNDS):
        subscription, box = client.consume(Address(name), len(TEXTS), window=len(TEXTS))
        box.wait(len(TEXTS))
        subscription.close()
    check_all_there(client, name, TEXTS)
    broker.admin.delete(f"/api/policies/%2F/{name}")


def test_lost_links_cost_only_the_first_message_its_place(broker: Broker, clients: Clients, name: str) -> None:
    """Messages behind it were only prefetched: they are moved to the end before their queue drops them."""
    foreign(broker, name, 6)
    sender, address = clients(broker), Address(name)
    sender.send(address, *TEXTS)
    seen: list[str] = []
    with FaultProxy.to(broker.url()) as proxy:
        for _ in range(12):
            client = clients(None, url=proxy.through(broker.url()))
            _, box = client.consume(address, len(TEXTS), window=len(TEXTS))
            seen.append(box.wait(1, 10.0)[0].envelope.body)
            if len(seen) < 4:
                box.wait(len(TEXTS), 10.0)
            else:  # those that were delivered too often are copied and delivered again
                eventually(lambda box=box: len(box.arrivals) >= len(TEXTS) - 1, 10.0)  # type: ignore[misc]
            proxy.cut()
            eventually(lambda client=client: client.log.losses, 10.0)  # type: ignore[misc]
    dead = sender.link.depth(Address(f"{name}-dead"))
    assert dead <= 2  # the message that was first each time, and the next one
    left = fetch(sender.link, address, len(TEXTS) - dead)
    assert set(left) <= set(TEXTS)
    assert len(set(left)) == len(left)


def test_a_message_that_a_full_queue_refuses_at_its_end_is_kept(
    broker: Broker,
    clients: Clients,
    name: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It is requeued as long as the limit allows; then the client keeps it until there is room."""
    monkeypatch.setattr(copies, "PAUSE", 1.0)
    foreign(broker, name, 3, **{"x-max-length": 1, "x-overflow": "reject-publish"})
    client, address = clients(broker), Address(name)
    client.send(address, "a")
    subscription, box = client.consume(address, 1, window=1)
    box.wait(1, 10.0)
    client.send(address, "x")
    eventually(lambda: isinstance(client.ask(address, "y").outcome(), SendRefused), 10.0)
    for count in range(1, 5):
        arrival = box.wait(count, 10.0)[-1]
        assert (arrival.envelope.body, arrival.delivery_count) == ("a", count)
        subscription.grant(1)
        settle(subscription, box.tokens[-1:], Outcome.FAILED)
    eventually(lambda: "as often as its queue allows" in caplog.text, 10.0)
    client.link.purge(address)
    arrival = box.wait(5, 10.0)[-1]
    assert (arrival.envelope.body, arrival.delivery_count) == ("a", 5)
    assert client.link.depth(Address(f"{name}-dead")) == 0


# -- looking at them


@pytest.mark.filterwarnings("ignore::jmsbridge.EmulationWarning")
@pytest.mark.parametrize("limit", [None, 4, UNREACHED])
def test_quorum_queues_can_be_browsed_if_the_option_states_the_limit_of_policies(
    broker: Broker, name: str, limit: int | None
) -> None:
    foreign(broker, name, limit)
    with jmsbridge.connect(broker.url()) as connection:
        session = connection.create_session()
        with pytest.raises(jmsbridge.UnsupportedFeature):
            [*session.create_browser(session.create_queue(name))]
    stated = 20 if limit is None else -1
    with jmsbridge.connect(broker.url(), delivery_limit=stated) as connection:
        connection.start()
        session = connection.create_session()
        queue = session.create_queue(name)
        with session.create_producer(queue) as producer:
            for number, text in enumerate(TEXTS[:10]):
                message = session.create_text_message(text)
                message.set_int_property("n", number)
                producer.send(message)
        for _ in range(ROUNDS):
            with session.create_browser(queue) as browser:
                assert sorted(map(text_of, browser)) == TEXTS[:10]
        with session.create_consumer(queue, "n = 7") as consumer:
            assert text_of(consumer.receive(timeout=10)) == "07"
        with session.create_consumer(queue) as consumer:
            assert sorted(text_of(consumer.receive(timeout=10)) for _ in range(9)) == [*TEXTS[:7], *TEXTS[8:10]]
        assert connection.admin.depth(Address(f"{name}-dead")) == 0


# -- telling


@pytest.mark.parametrize("limit", [None, 20, -1, UNREACHED])
def test_a_limit_is_reported(
    broker: Broker, clients: Clients, name: str, limit: int | None, caplog: pytest.LogCaptureFixture
) -> None:
    foreign(broker, name, limit)
    for _ in range(2):
        client = clients(broker)
        client.consume(Address(name), 1)
        client.close()
    told = [each for each in caplog.records if name in each.getMessage() and each.levelno == logging.WARNING]
    assert len(told) == (1 if limit in (None, 20) else 0)


@pytest.mark.filterwarnings("ignore::jmsbridge.EmulationWarning")
def test_through_the_facade(broker: Broker, name: str) -> None:
    foreign(broker, name, None)
    with jmsbridge.connect(broker.url()) as connection:
        connection.start()
        session = connection.create_session()
        queue = session.create_queue(name)
        with session.create_producer(queue) as producer:
            for text in TEXTS:
                producer.send(text)
        for _ in range(ROUNDS):
            holding = connection.create_session(transacted=True)
            consumer = holding.create_consumer(queue)
            for _ in TEXTS:
                assert consumer.receive(timeout=10) is not None
            holding.close()
        with session.create_consumer(queue) as consumer:
            assert sorted(text_of(consumer.receive(timeout=10)) for _ in TEXTS) == TEXTS
        assert connection.admin.depth(Address(f"{name}-dead")) == 0

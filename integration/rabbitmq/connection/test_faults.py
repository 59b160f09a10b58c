"""Failures of the broker and their errors: no confirmed message is lost, no lost message is confirmed."""

import contextlib
import threading
import time
from collections.abc import Callable

import pytest

from integration.lab.broker import Broker
from integration.lab.fixtures import StartBroker
from integration.rabbitmq.support import Client
from jmsbridge.spi import (
    AccessDenied,
    Address,
    AddressRefused,
    BackendError,
    ConnectFailed,
    LinkLost,
    Outcome,
    SendRefused,
)
from jmsbridge.testing.proxy import FaultProxy
from jmsbridge.testing.suite.contract.support import drain, settle
from jmsbridge.testing.suite.support import eventually
from jmsbridge_rabbitmq import RabbitOptions
from jmsbridge_rabbitmq.publishing import publisher

Clients = Callable[..., Client]

MIB = 1024 * 1024


def bodies(client: Client, address: Address, count: int) -> list[str]:
    """Receive and accept the next messages; return their bodies."""
    subscription, box = client.consume(address, count)
    found = [arrival.envelope.body for arrival in box.wait(count, 20.0)]
    settle(subscription, box.tokens, Outcome.ACCEPTED)
    drain(subscription)
    subscription.close()
    return found


# -- destinations


def test_a_queue_deleted_under_its_consumer(broker: Broker, client: Client, name: str) -> None:
    address = Address(name)
    subscription, _ = client.consume(address, 1)
    client.send(address, "last")
    eventually(lambda: broker.admin.get(f"/api/queues/%2F/{name}").get("consumers") == 1, 10.0)
    broker.admin.delete(f"/api/queues/%2F/{name}")
    eventually(lambda: client.log.subscriptions)
    lost, error = client.log.subscriptions[0]
    assert lost is subscription
    assert isinstance(error, AddressRefused)
    assert name in str(error)
    assert not client.log.losses
    with pytest.raises(LinkLost):
        subscription.grant(1)
    subscription.close()
    client.send(address, "new")
    assert bodies(client, address, 1) == ["new"]


def test_a_send_to_a_queue_that_was_deleted(broker: Broker, client: Client, name: str) -> None:
    address = Address(name)
    client.send(address, "first")
    broker.admin.delete(f"/api/queues/%2F/{name}")
    error = client.ask(address, "nowhere").outcome()
    assert isinstance(error, AddressRefused)
    assert name in str(error)
    assert not error.in_doubt
    client.send(address, "made again")
    assert bodies(client, address, 1) == ["made again"]


def test_a_deleted_queue_is_declared_again_by_the_first_or_second_send(
    broker: Broker, clients: Clients, name: str
) -> None:
    """A link that has sent to the queue learns of the deletion by a refusal, or by the end of its consumer."""
    address = Address(name)
    links = {how: clients(broker) for how in ("sent", "consumed", "consuming", "stranger")}
    links["sent"].send(address, "known by this")
    assert bodies(links["consumed"], address, 1) == ["known by this"]
    links["consuming"].consume(address, 1)
    links["consuming"].send(address, "sent there as well")
    found: dict[str, bool] = {}
    for how, client in links.items():
        broker.admin.delete(f"/api/queues/%2F/{name}")
        eventually(lambda: links["consuming"].log.subscriptions, 10.0)
        found[how] = client.ask(address, how).outcome() is None
        client.send(address, f"{how} again")
    assert found == {"sent": False, "consumed": True, "consuming": True, "stranger": True}


def test_a_full_queue_refuses(broker: Broker, client: Client, name: str) -> None:
    full = {"x-max-length": 1, "x-overflow": "reject-publish"}
    broker.admin.put(f"/api/queues/%2F/{name}", {"durable": True, "arguments": full})
    answers = [client.ask(Address(name), str(number)) for number in range(20)]
    outcomes = [answer.outcome() for answer in answers]
    refused = [error for error in outcomes if error is not None]
    assert refused
    assert all(isinstance(error, SendRefused) and "reject-publish" in str(error) for error in refused)
    confirmed = [str(number) for number, error in enumerate(outcomes) if error is None]
    assert bodies(client, Address(name), len(confirmed)) == confirmed


def test_queues_with_other_arguments_are_used_unchanged(broker: Broker, client: Client, name: str) -> None:
    arguments = {"x-max-priority": 9, "x-message-ttl": 60_000}
    broker.admin.put(f"/api/queues/%2F/{name}", {"durable": True, "arguments": arguments})
    client.send(Address(name), "a", "b")
    assert bodies(client, Address(name), 2) == ["a", "b"]


# -- limits and permissions


def test_a_message_over_the_limit(client: Client, name: str) -> None:
    address = Address(name)
    small, large = client.ask(address, "small"), client.ask(address, "x" * (17 * MIB))
    after = client.ask(address, "after")
    error = large.outcome(20.0)
    assert isinstance(error, SendRefused)
    assert "max_message_size" in str(error)
    for answer in (small, after):
        outcome = answer.outcome()
        assert outcome is None or isinstance(outcome, LinkLost)
    assert isinstance(client.ask(address, "y" * (17 * MIB)).outcome(20.0), SendRefused)
    client.send(address, "fine")
    assert not client.log.losses


def test_headers_over_a_frame(client: Client, name: str) -> None:
    properties = {f"p{number}": "x" * 10_000 for number in range(20)}
    error = client.ask(Address(name), "text", properties=properties).outcome()
    assert isinstance(error, SendRefused)
    client.send(Address(name), "fine")
    assert not client.log.losses


@pytest.fixture
def restricted(broker: Broker, clients: Clients, name: str) -> Client:
    """A client whose user has all rights on names that begin with ``free``, and no others."""
    broker.admin.put(f"/api/users/{name}", {"password": "pw", "tags": ""})
    rights = {"configure": "^(free|jms)", "write": "^(free|jms|amq.default)", "read": "^(free|jms)"}
    broker.admin.put(f"/api/permissions/%2F/{name}", rights)
    return clients(broker, user=name, password="pw")


def test_a_queue_that_the_user_may_not_make(restricted: Client, name: str) -> None:
    error = restricted.ask(Address(f"taboo-{name}")).outcome()
    assert isinstance(error, AccessDenied)
    assert "set_permissions" in str(error)
    restricted.send(Address(f"free-{name}"), "fine")
    assert not restricted.log.losses


def test_a_queue_that_the_user_may_not_read(client: Client, restricted: Client, name: str) -> None:
    client.send(Address(f"taboo-{name}"), "secret")
    subscription, _ = restricted.consume(Address(f"taboo-{name}"), 1)
    eventually(lambda: restricted.log.subscriptions)
    lost, error = restricted.log.subscriptions[0]
    assert lost is subscription
    assert isinstance(error, AccessDenied)
    assert "read access" in str(error)
    assert not restricted.log.losses


def test_an_exchange_that_the_user_may_not_write(broker: Broker, restricted: Client, name: str) -> None:
    rights = {"configure": "^(free|jms)", "write": "^free", "read": "^(free|jms)"}
    broker.admin.put(f"/api/permissions/%2F/{name}", rights)
    error = restricted.ask(Address(name, topic=True)).outcome()
    assert isinstance(error, AccessDenied)
    assert not restricted.log.losses


# -- the broker itself


def test_an_operator_closes_the_connection(broker: Broker, client: Client) -> None:
    def connections() -> list[str]:
        listed = broker.admin.get("/api/connections")
        return [each["name"] for each in listed if each.get("user") == "jb" and str(own) in each["name"]]

    own = client.link.pair.consuming._transport._sock.getsockname()[1]
    eventually(connections, 15.0)
    broker.admin.delete(f"/api/connections/{connections()[0].replace(' ', '%20').replace('>', '%3E')}")
    eventually(lambda: client.log.losses)
    assert "operator" in str(client.log.losses[0])
    assert len(client.log.losses) == 1


def test_a_silent_network_is_noticed(broker: Broker, clients: Clients, name: str) -> None:
    with FaultProxy.to(broker.url()) as proxy:
        client = clients(None, url=proxy.through(broker.url()), options=RabbitOptions(heartbeat=3))
        client.send(Address(name), "before")
        assert not client.log.losses
        proxy.stall()
        answer = client.ask(Address(name), "after")
        eventually(lambda: client.log.losses, 60.0)  # pika allows twice 5 seconds more than the heart-beat
        error = answer.outcome()
        assert isinstance(error, LinkLost)
        assert error.in_doubt
        assert len(client.log.losses) == 1


def test_the_loss_of_one_socket_ends_both(broker: Broker, client: Client, name: str) -> None:
    client.send(Address(name), "opens the publishing socket")
    client.link.pair.thread.post(lambda: client.link.pair.publishing.break_off(ConnectionError("gone")))
    eventually(lambda: client.log.losses)
    with pytest.raises(LinkLost):
        client.link.check()
    client.link.pair.thread.join(10.0)
    assert client.link.pair.consuming.is_closed
    assert len(client.log.losses) == 1


def test_a_memory_alarm_stops_senders_only(own_broker: StartBroker, clients: Clients, name: str) -> None:
    broker = own_broker("rabbitmq")
    client, address = clients(broker), Address(name)
    client.send(address, *map(str, range(10)))
    broker.ctl("set_vm_memory_high_watermark", "absolute", "1MiB")
    answer = client.ask(address, "held back")
    eventually(lambda: client.log.throttles == [True], 10.0)
    more = [client.ask(address, f"more {number}") for number in range(5)]
    assert bodies(client, address, 10) == list(map(str, range(10)))
    assert not answer.answers
    broker.ctl("set_vm_memory_high_watermark", "absolute", "1GiB")
    for each in (answer, *more):
        each.wait(15.0)
    eventually(lambda: client.log.throttles == [True, False])
    assert bodies(client, address, 6) == ["held back", *(f"more {number}" for number in range(5))]


def test_closing_does_not_wait_for_a_blocked_broker(own_broker: StartBroker, clients: Clients, name: str) -> None:
    broker = own_broker("rabbitmq")
    client = clients(broker)
    client.send(Address(name), "opens the publishing socket")
    broker.ctl("set_vm_memory_high_watermark", "absolute", "1MiB")
    answer = client.ask(Address(name), "never taken")
    eventually(lambda: client.log.throttles, 10.0)
    client.close()
    assert isinstance(answer.outcome(), LinkLost)
    assert not [
        each for each in threading.enumerate() if each.name == f"jmsbridge-rabbitmq-{client.link.pair.number}-io"
    ]


@pytest.mark.parametrize("kind", ["classic", pytest.param("quorum", marks=pytest.mark.long)])
def test_a_killed_broker_keeps_what_it_confirmed(
    own_broker: StartBroker, clients: Clients, name: str, kind: str
) -> None:
    broker = own_broker("rabbitmq")
    options = RabbitOptions(queue_type="quorum") if kind == "quorum" else RabbitOptions()
    client, address = clients(broker, options=options), Address(name)
    client.send(address, "first")
    client.close()
    broker.restart()  # RabbitMQ loses quorum queues that are only a few seconds old when it is killed
    client = clients(broker, options=options)
    answers = [client.ask(address, str(number)) for number in range(5000)]
    eventually(lambda: answers[200].answers, 20.0)
    broker.restart(kill=True)
    outcomes = [answer.outcome(20.0) for answer in answers]
    assert all(len(answer.answers) == 1 for answer in answers)
    assert {type(each) for each in outcomes} <= {type(None), LinkLost}
    confirmed = {str(number) for number, each in enumerate(outcomes) if each is None}
    assert len(client.log.losses) == 1
    again: list[Client] = []

    def reconnected() -> bool:
        with contextlib.suppress(ConnectFailed, BackendError):
            again.append(clients(broker, options=options))
        return bool(again)

    eventually(reconnected, 30.0)
    subscription, box = again[0].consume(address, 10_000, window=10_000)
    eventually(lambda: confirmed <= set(box.bodies), 30.0)
    subscription.close()


def test_a_quorum_queue_that_is_being_created_by_another_link(broker: Broker, clients: Clients, name: str) -> None:
    """Eight links find the queue before it has a leader; it refuses at first, and the first send is repeated."""
    links = [clients(broker, options=RabbitOptions(queue_type="quorum")) for _ in range(8)]
    patience = publisher._TRIES * publisher._PAUSE
    for number in range(5):
        address, begun = Address(f"{name}-{number}"), time.monotonic()
        answers = [link.ask(address, str(each)) for each, link in enumerate(links)]
        for link, answer in zip(links, answers, strict=True):
            error = answer.outcome(10.0)
            if error is None:
                continue
            assert isinstance(error, SendRefused)
            assert time.monotonic() - begun > patience  # on a slow machine there is no leader by then either
            eventually(lambda link=link, to=address: link.ask(to).outcome(10.0) is None, 20.0)  # type: ignore[misc]


def test_a_queue_that_stays_full_refuses_soon(broker: Broker, clients: Clients, name: str) -> None:
    full = {"x-max-length": 1, "x-overflow": "reject-publish"}
    broker.admin.put(f"/api/queues/%2F/{name}", {"durable": True, "arguments": full})
    first = clients(broker)
    for _ in range(3):
        first.ask(Address(name)).outcome()
    other = clients(broker)
    assert isinstance(other.ask(Address(name)).outcome(10.0), SendRefused)
    begun, sends = time.monotonic(), 20
    for _ in range(sends):
        assert isinstance(other.ask(Address(name)).outcome(), SendRefused)
    assert time.monotonic() - begun < sends * publisher._TRIES * publisher._PAUSE / 2  # none of them was repeated

"""A retired consumer ends at once at the broker; its unsettled messages can still be settled."""

import random
import threading
from collections.abc import Callable
from typing import Any

import pytest

import jmsbridge
from integration.lab.broker import Broker
from integration.rabbitmq.support import Client
from jmsbridge import CLIENT_ACKNOWLEDGE, SESSION_TRANSACTED, JMSException
from jmsbridge.spi import Address, AddressInUse, Outcome, Retires, Subscription, SubscriptionRefused
from jmsbridge.testing.suite.contract.support import Box, drain, settle
from jmsbridge.testing.suite.support import eventually, receive_texts, send_texts
from jmsbridge_rabbitmq import RabbitOptions

pytestmark = pytest.mark.filterwarnings("ignore::jmsbridge.EmulationWarning")

Clients = Callable[..., Client]

kinds = pytest.mark.parametrize("kind", ["classic", "quorum"])


def options(kind: str) -> RabbitOptions:
    """Options with which subscriptions are queues of that kind and have the same names for every link."""
    return RabbitOptions(queue_type=kind, subscription_names="java")  # type: ignore[arg-type]


def retire(subscription: Subscription) -> None:
    """Retire a subscription, as the facade does when a consumer is closed."""
    drain(subscription)
    assert isinstance(subscription, Retires)
    subscription.retire()


def marks(box: Box) -> list[tuple[Any, bool]]:
    """The arrived bodies, each with its redelivered mark."""
    return [(each.envelope.body, each.redelivered) for each in list(box.arrivals)]


def is_there(broker: Broker, queue: str) -> bool:
    """Whether there is such a queue."""
    return queue in {each["name"] for each in broker.admin.get("/api/queues/%2F?disable_stats=true")}


# -- durable subscriptions


@kinds
@pytest.mark.parametrize("elsewhere", [False, True], ids=["same link", "other link"])
def test_another_consumer_can_use_an_exclusive_durable_subscription(
    broker: Broker, clients: Clients, name: str, kind: str, elsewhere: bool
) -> None:
    first, topic = clients(broker, options=options(kind)), Address(f"{name}-t", topic=True)
    other = clients(broker, options=options(kind)) if elsewhere else first
    old, box = first.consume(topic, 10, key=name, durable=True)
    with pytest.raises(SubscriptionRefused):
        other.consume(topic, key=name, durable=True)
    first.send(topic, "a", "b", "c")
    box.wait(3)
    retire(old)
    heir, heirs = other.consume(topic, 10, key=name, durable=True)
    first.send(topic, "d")
    heirs.wait(1)
    settle(old, box.tokens[:1], Outcome.ACCEPTED)
    settle(old, box.tokens[1:2], Outcome.FAILED)
    heirs.wait(2)
    settle(old, box.tokens[2:], Outcome.REJECTED)
    assert marks(heirs) == [("d", False), ("b", True)]
    old.close()
    with pytest.raises(SubscriptionRefused):  # the new consumer's queue is another one, and is not deleted by that
        first.consume(topic, key=name, durable=True)
    settle(heir, heirs.tokens, Outcome.ACCEPTED)
    drain(heir)
    heir.close()
    other.link.unsubscribe(name, None)
    assert not is_there(broker, name)


@kinds
def test_a_subscription_with_unsettled_messages_cannot_be_deleted(
    broker: Broker, clients: Clients, name: str, kind: str
) -> None:
    """Rule SU-5: it can be deleted only after all its messages are acknowledged."""
    client, topic = clients(broker, options=options(kind)), Address(f"{name}-t", topic=True)
    for shared in (False, True):
        subscription, box = client.consume(topic, 10, key=name, durable=True, shared=shared)
        client.send(topic, "a")
        box.wait(1)
        retire(subscription)
        with pytest.raises(SubscriptionRefused):
            client.link.unsubscribe(name, None)
        settle(subscription, box.tokens, Outcome.ACCEPTED)
        subscription.close()
        client.link.unsubscribe(name, None)
        assert not is_there(broker, name)


@kinds
@pytest.mark.parametrize("mode", [CLIENT_ACKNOWLEDGE, SESSION_TRANSACTED], ids=["client", "transacted"])
def test_a_durable_consumer_can_be_recreated_before_the_session_settles(
    broker: Broker, name: str, kind: str, mode: int
) -> None:
    with jmsbridge.connect(broker.url(), client_id=name, queue_type=kind) as connection:
        connection.start()
        session = connection.create_session(session_mode=mode)
        other = connection.create_session()
        topic = session.create_topic(f"{name}-t")
        for round_ in range(3):
            with session.create_durable_consumer(topic, "d") as consumer:
                send_texts(other, topic, str(round_))
                assert receive_texts(consumer, 1) == [str(round_)]
        with pytest.raises(JMSException):
            session.unsubscribe("d")
        session.close()
        with other.create_durable_consumer(topic, "d") as heir:
            assert sorted(receive_texts(heir, 3)) == ["0", "1", "2"]
            assert heir.receive_no_wait() is None
        other.unsubscribe("d")


# -- temporary destinations


@pytest.mark.parametrize("topic", [False, True], ids=["queue", "topic"])
@pytest.mark.parametrize("outcome", [Outcome.ACCEPTED, Outcome.FAILED, Outcome.RELEASED, Outcome.REJECTED])
def test_a_temporary_destination_is_deleted(client: Client, name: str, topic: bool, outcome: Outcome) -> None:
    address = client.link.declare(Address(name, topic=topic, temporary=True))
    subscription, box = client.consume(address, 10)
    client.send(address, "a", "b")
    box.wait(2)
    with pytest.raises(AddressInUse):
        client.link.delete(address)
    retire(subscription)
    client.link.delete(address)
    settle(subscription, box.tokens, outcome)
    subscription.close()
    client.send(Address(f"{name}-other"), "the link works")
    assert not client.log.losses
    assert not client.log.subscriptions


# -- subscriptions that exist as long as their consumers


def test_a_plain_subscription_ends_with_its_consumer(broker: Broker, client: Client, name: str) -> None:
    topic = Address(name, topic=True)
    subscription, box = client.consume(topic, 1)
    client.send(topic, *"abc")
    box.wait(1)
    queue = subscription._source.queue  # type: ignore[attr-defined]
    assert is_there(broker, queue)
    retire(subscription)
    assert not is_there(broker, queue)
    client.send(topic, "unheard")
    settle(subscription, box.tokens, Outcome.ACCEPTED)
    subscription.close()
    assert box.bodies == ["a"]
    assert not client.log.subscriptions


def test_a_shared_subscription_ends_with_its_last_consumer(broker: Broker, clients: Clients, name: str) -> None:
    """The remaining consumers get the messages of the first one; after the last one the name is free."""
    client, other = clients(broker), clients(broker)
    topic, queue = Address(f"{name}-t", topic=True), f"jms-cons-shared-.{name}"
    leaving, left = client.consume(topic, 2, key=name, shared=True, window=10)
    client.send(topic, *"abcde")
    left.wait(2)
    staying, stayed = other.consume(topic, 10, key=name, shared=True, window=10)
    retire(leaving)  # it holds three messages that were pushed beyond its credit
    stayed.wait(3)
    client.send(topic, *"fgh")
    stayed.wait(6)
    settle(leaving, left.tokens[:1], Outcome.ACCEPTED)
    settle(leaving, left.tokens[1:], Outcome.FAILED)
    stayed.wait(7)
    assert sorted(stayed.bodies) == sorted("bcdefgh")
    assert left.bodies == ["a", "b"]
    settle(staying, stayed.tokens[:5], Outcome.ACCEPTED)
    retire(staying)
    assert not is_there(broker, queue)
    elsewhere = Address(f"{name}-u", topic=True)
    third, got = client.consume(elsewhere, 10, key=name, shared=True)
    settle(staying, stayed.tokens[5:], Outcome.FAILED)  # not delivered, because its subscription has ended
    staying.close()
    leaving.close()
    client.send(elsewhere, "another subscription")
    assert [each.envelope.body for each in got.wait(1)] == ["another subscription"]
    drain(third)
    assert len(got.arrivals) == 1


@kinds
@pytest.mark.parametrize("durable", [True, False], ids=["durable", "passing"])
def test_no_message_is_pushed_to_a_retired_consumer(
    broker: Broker, clients: Clients, name: str, durable: bool, kind: str
) -> None:
    """Its session settles nothing for a long time, which does not affect others."""
    client = clients(broker, options=options(kind))
    topic = Address(f"{name}-t", topic=True)
    leaving, left = client.consume(topic, 250, key=name, shared=True, durable=durable)
    client.send(topic, "first")
    left.wait(1)
    _, stayed = client.consume(topic, 250, key=name, shared=True, durable=durable)
    retire(leaving)
    client.send(topic, *map(str, range(100)))
    assert [each.envelope.body for each in stayed.wait(100)] == [str(number) for number in range(100)]
    assert left.bodies == ["first"]
    settle(leaving, left.tokens, Outcome.FAILED)
    stayed.wait(101)
    assert marks(stayed)[-1] == ("first", True)


# -- opening and closing under load


class _Sharer(threading.Thread):
    """Joins and leaves a subscription repeatedly, and settles its messages only after it has left."""

    def __init__(self, client: Client, join: Callable[[Client], tuple[Subscription, Box]], seed: int) -> None:
        super().__init__(daemon=True)
        self.accepted: list[str] = []
        self.ended = threading.Event()
        self.error: BaseException | None = None
        self._client = client
        self._join = join
        self._dice = random.Random(seed)

    def run(self) -> None:
        """Run until the end of the test."""
        try:
            while not self.ended.is_set():
                self._once()
        except BaseException as error:  # reported by the test
            self.error = error

    def _once(self) -> None:
        subscription, box = self._join(self._client)
        subscription.grant(self._dice.choice([1, 3, 20]))
        self.ended.wait(self._dice.choice([0.0, 0.005, 0.03]))
        drain(subscription)
        seen = len(box.arrivals)
        assert isinstance(subscription, Retires)
        subscription.retire()
        assert len(box.arrivals) == seen
        self.ended.wait(self._dice.choice([0.0, 0.02]))
        for arrival in box.arrivals:
            outcome = self._dice.choice([Outcome.ACCEPTED, Outcome.FAILED, Outcome.RELEASED])
            settle(subscription, [arrival.token], outcome)
            if outcome is Outcome.ACCEPTED:
                self.accepted.append(arrival.envelope.body)
        subscription.close()


@kinds
@pytest.mark.parametrize("durable", [True, False], ids=["durable", "passing"])
def test_no_message_is_lost_while_shared_consumers_open_and_close(
    broker: Broker, clients: Clients, name: str, durable: bool, kind: str
) -> None:
    topic = Address(f"{name}-t", topic=True)

    def join(client: Client) -> tuple[Subscription, Box]:
        return client.consume(topic, key=name, shared=True, durable=durable, window=20)

    keeper, kept = join(clients(broker, options=options(kind)))  # keeps the subscription
    sharers = [_Sharer(clients(broker, options=options(kind)), join, number) for number in range(3)]
    for each in sharers:
        each.start()
    texts = [str(number) for number in range(1_000)]
    sender = clients(broker)
    for start in range(0, len(texts), 50):
        sender.send(topic, *texts[start : start + 50])
    for each in sharers:
        each.ended.set()
    for each in sharers:
        each.join(30)
        assert each.error is None
    accepted = [text for each in sharers for text in each.accepted]
    keeper.grant(len(texts))
    settled = 0

    def all_there() -> bool:
        nonlocal settled
        tokens = kept.tokens[settled:]
        settled += len(tokens)
        keeper.settle(tokens, Outcome.ACCEPTED)
        return len(accepted) + settled >= len(texts)

    eventually(all_there, 30.0)
    assert sorted([*accepted, *kept.bodies], key=int) == texts


def test_a_consumer_that_joins_while_the_last_one_leaves_has_a_subscription(
    broker: Broker, clients: Clients, name: str
) -> None:
    """The old one or a new one, never one that was deleted with the other consumer."""
    topic = Address(f"{name}-t", topic=True)
    errors: list[BaseException] = []

    def come_and_go(client: Client) -> None:
        try:
            for number in range(60):
                subscription, box = client.consume(topic, 250, key=name, shared=True)
                client.send(topic, str(number))
                drain(subscription)
                retire(subscription)
                settle(subscription, box.tokens, Outcome.ACCEPTED)
                subscription.close()
                assert not client.log.subscriptions
        except BaseException as error:  # reported below
            errors.append(error)

    threads = [threading.Thread(target=come_and_go, args=(clients(broker),)) for _ in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(60)
    assert errors == []

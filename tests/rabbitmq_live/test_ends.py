"""Ends in the middle of something: what is open is answered, as what it is, and in time."""

import contextlib
import time
from collections.abc import Callable

import pytest

from integration.brokers import Broker
from integration.brokers.fixtures import StartBroker
from jmsbridge.spi import (
    Address,
    BackendError,
    ChannelLost,
    Interest,
    LinkLost,
    Outcome,
    SendRefused,
    SubscriptionRefused,
)
from jmsbridge.testing.suite.contract_support import Answer, Box
from jmsbridge.testing.suite.support import eventually
from jmsbridge_rabbitmq import RabbitOptions, flow
from tests.rabbitmq_live.support import Client

Clients = Callable[..., Client]


def test_a_channel_closed_in_an_alarm_answers_and_the_link_lives_on(
    own_broker: StartBroker, clients: Clients, name: str
) -> None:
    broker = own_broker("rabbitmq")
    client, address = clients(broker), Address(name)
    client.send(address, "opens the publishing socket")
    broker.ctl("set_vm_memory_high_watermark", "absolute", "1MiB")
    answer = client.ask(address, "never taken")
    eventually(lambda: client.log.throttles == [True], 10.0)
    unsent = client.ask(address, "not even written")
    begun = time.monotonic()
    client.channel.close()
    assert time.monotonic() < begun + 10
    error, early = answer.outcome(), unsent.outcome()
    assert isinstance(error, ChannelLost)
    assert error.in_doubt
    assert isinstance(early, ChannelLost)
    assert not early.in_doubt
    broker.ctl("set_vm_memory_high_watermark", "absolute", "1GiB")
    assert not client.log.losses
    client.link.check()


def test_a_fault_while_writing_is_answered_as_in_doubt(
    client: Client, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever breaks on the I/O thread, nobody waits for the answer in vain."""
    address = Address(name)
    client.send(address, "opens the publishing socket")

    def broken(*_: object) -> None:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(client.link.publishing, "publish", broken)
    answer = client.ask(address, "never written")
    error = answer.outcome()
    assert isinstance(error, LinkLost)
    assert error.in_doubt
    assert "a fault of ours" in str(error)
    eventually(lambda: len(client.log.losses) == 1, 10.0)


def test_a_consumer_that_never_started_holds_no_messages(client: Client, name: str) -> None:
    """A quorum queue without a leader, say: when it has one again, the consumer would take what nobody sees."""
    address = Address(name, topic=True)
    late = flow._DEADLINE
    flow._DEADLINE = 0.0
    error: BackendError | None = None
    try:
        client.channel.subscribe(Interest(address=address, key=name, durable=True, window=10), Box())
    except BackendError as each:
        error = each
    finally:
        flow._DEADLINE = late
    assert error is not None
    assert "did not start" in str(error)

    def unsubscribed() -> bool:
        with contextlib.suppress(SubscriptionRefused):
            client.link.unsubscribe(name)
            return True
        return False

    eventually(unsubscribed, 10.0)


def test_a_full_dead_letter_queue_is_one_answer_and_nothing_is_lost(
    broker: Broker, clients: Clients, name: str
) -> None:
    dead = f"{name}-dead"
    client = clients(broker, options=RabbitOptions(dead_letter_queue=dead))
    broker.admin.put(
        f"/api/queues/%2F/{dead}",
        {"durable": True, "arguments": {"x-max-length": 1, "x-overflow": "reject-publish"}},
    )
    client.send(Address(name), "a", "b", "c")
    subscription, box = client.consume(Address(name), 3)
    box.wait(3, 10.0)
    answer = Answer()
    subscription.settle(box.tokens, Outcome.REJECTED, answer)
    assert isinstance(answer.outcome(), SendRefused)
    subscription.close()
    assert len(answer.answers) == 1
    # the broker answers the close before the queue has taken back what the channel held
    eventually(lambda: [client.link.depth(Address(each)) for each in (name, dead)] == [2, 1], 10.0)

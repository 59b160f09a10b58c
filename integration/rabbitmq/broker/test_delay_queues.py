"""Delayed messages that the broker confirms late: their delay queue must not expire before them."""

import time
from collections.abc import Callable

import pytest

from integration.lab.broker import Broker
from integration.lab.fixtures import StartBroker
from integration.rabbitmq.support import Client
from jmsbridge.spi import Address, AddressRefused
from jmsbridge.testing.suite.support import eventually
from jmsbridge_rabbitmq import RabbitOptions
from jmsbridge_rabbitmq.broker import delay_queues

Clients = Callable[..., Client]


def soon(milliseconds: int) -> int:
    """The delivery time."""
    return time.time_ns() // 1_000_000 + milliseconds


def test_a_delayed_message_confirmed_late_by_an_alarm_is_not_lost(
    own_broker: StartBroker, clients: Clients, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The delay queue is declared again after the confirmation, because the delay in the queue begins only then."""
    monkeypatch.setattr(delay_queues, "FRESH", 0.5)
    broker = own_broker("rabbitmq")
    client, address = clients(broker), Address(name)
    client.send(address, "opens the publishing socket")
    broker.ctl("set_vm_memory_high_watermark", "absolute", "1MiB")
    answer = client.ask(address, "late", delivery_time=soon(2_000))
    eventually(lambda: client.log.throttles == [True], 10.0)
    ((place, declared),) = client.link.known.waiting.items()
    eventually(lambda: time.monotonic() > declared, 10.0)
    assert not answer.answers
    broker.ctl("set_vm_memory_high_watermark", "absolute", "1GiB")
    answer.wait(15.0)
    eventually(lambda: client.link.known.waiting[place] > declared, 10.0)
    _, box = client.consume(address, 2)
    assert [arrival.envelope.body for arrival in box.wait(2, 20.0)] == ["opens the publishing socket", "late"]


def test_connections_with_and_without_quorum_queues_can_delay_by_the_same_time(
    broker: Broker, clients: Clients, name: str
) -> None:
    address, made = Address(name), [clients(broker, options=RabbitOptions(queue_type=one)) for one in (None, "quorum")]
    answers = [each.ask(address, "late", delivery_time=soon(7_000_000)) for each in (*made, *made)]
    for answer in answers:
        answer.wait(15.0)
    for quorum in (False, True):
        broker.admin.delete(f"/api/queues/%2F/{delay_queues.name_of(delay_queues.bucket(7_000_000), '', quorum)}")


def test_a_deleted_delay_queue_is_declared_again(broker: Broker, client: Client, name: str) -> None:
    address, delay = (
        Address(name),
        6_050_000,
    )  # a delay that no other test uses, in the middle of those that share its queue: 6 to 6.1 million
    client.send(address, "waits", delivery_time=soon(delay))
    place = f"/api/queues/%2F/{delay_queues.name_of(delay_queues.bucket(delay), '')}"
    assert broker.admin.get(place)["durable"]  # raises if it does not exist
    broker.admin.delete(place)
    answer = client.ask(address, "refused", delivery_time=soon(delay))
    assert isinstance(answer.outcome(), AddressRefused)
    client.send(address, "waits again", delivery_time=soon(delay))
    assert broker.admin.get(place)["durable"]  # raises if it does not exist
    broker.admin.delete(place)

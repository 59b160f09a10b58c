"""Delayed messages that the broker takes late: the place where they wait must outlive them."""

import time
from collections.abc import Callable

import pytest

from integration.brokers import Broker
from integration.brokers.fixtures import StartBroker
from jmsbridge.spi import Address, AddressRefused
from jmsbridge.testing.suite.support import eventually
from jmsbridge_rabbitmq import delays
from tests.rabbitmq_live.support import Client

Clients = Callable[..., Client]


def soon(milliseconds: int) -> int:
    """The time of delivery."""
    return time.time_ns() // 1_000_000 + milliseconds


def test_a_delayed_message_that_an_alarm_held_up_outlives_its_waiting_place(
    own_broker: StartBroker, clients: Clients, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delays, "FRESH", 0.5)
    monkeypatch.setattr(delays, "_SPARE", 2_000)
    broker = own_broker("rabbitmq")
    client, address = clients(broker), Address(name)
    client.send(address, "opens the publishing socket")
    broker.ctl("set_vm_memory_high_watermark", "absolute", "1MiB")
    answer = client.ask(address, "late", delivery_time=soon(8_000))
    begun = time.monotonic()
    eventually(lambda: client.log.throttles == [True], 10.0)
    eventually(lambda: time.monotonic() > begun + 5, 10.0)
    broker.ctl("set_vm_memory_high_watermark", "absolute", "1GiB")
    answer.wait(15.0)
    _, box = client.consume(address, 2)
    assert [arrival.envelope.body for arrival in box.wait(2, 20.0)] == ["opens the publishing socket", "late"]


def test_a_waiting_place_that_somebody_deleted_is_made_anew(broker: Broker, client: Client, name: str) -> None:
    address, delay = Address(name), 7_100
    client.send(address, "waits", delivery_time=soon(delay))
    place = f"/api/queues/%2F/{delays.name_of(delays.bucket(delay), '')}"
    broker.admin.delete(place)
    answer = client.ask(address, "refused", delivery_time=soon(delay))
    assert isinstance(answer.outcome(), AddressRefused)
    client.send(address, "waits again", delivery_time=soon(delay))
    broker.admin.delete(place)

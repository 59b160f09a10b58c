"""Any mixture of sends from several threads: each is answered once, and confirmed messages are there in order."""

import random
import threading
import time
from collections.abc import Callable

import pytest

from integration.lab.broker import Broker
from integration.rabbitmq.support import Client
from jmsbridge.spi import Address, AddressRefused, SendRefused
from jmsbridge.testing.suite.contract.support import Answer, envelope
from jmsbridge.testing.suite.support import eventually, run_thread

Clients = Callable[..., Client]

SENDS = 150


class Sender:
    """One thread, its channel, and its sends by address."""

    def __init__(self, client: Client, number: int, addresses: list[Address]) -> None:
        self.channel = client.link.channel(False)
        self.random = random.Random(number)
        self.number = number
        self.addresses = addresses
        self.sent: list[tuple[Address, str, Answer]] = []

    def run(self) -> None:
        """Send without waiting for answers."""
        for count in range(SENDS):
            address = self.random.choice(self.addresses)
            text = f"{self.number}:{count}" + "x" * self.random.choice([0, 10, 5000, 200_000])
            delay = self.random.choice([0, 0, 0, 30, 200]) if address.name.endswith("later") else 0
            due = time.time_ns() // 1_000_000 + delay if delay else 0
            answer = Answer()
            persistent = self.random.random() < 0.8
            self.channel.send(envelope(address, text, persistent=persistent, delivery_time=due), answer)
            self.sent.append((address, text, answer))


@pytest.mark.parametrize("seed", range(3))
def test_any_mixture_of_sends(broker: Broker, clients: Clients, name: str, seed: int) -> None:
    threads = set(threading.enumerate())
    client = clients(broker)
    full = Address(f"{name}-full")
    arguments = {"x-max-length": 3, "x-overflow": "reject-publish"}
    broker.admin.put(f"/api/queues/%2F/{full.name}", {"durable": True, "arguments": arguments})
    gone, topic = Address(f"{name}-gone", temporary=True), Address(f"{name}-topic", topic=True)
    plain = [Address(f"{name}-{number}") for number in range(6)]
    later = Address(f"{name}-later")
    senders = [Sender(client, 10 * seed + each, [*plain, later, full, gone, topic]) for each in range(3)]
    for future in [run_thread(sender.run) for sender in senders]:
        future.result(30)
    everything = [each for sender in senders for each in sender.sent]
    outcomes = {text: answer.outcome(20.0) for _, text, answer in everything}
    refused = {text: type(error) for text, error in outcomes.items() if error is not None}
    for address, text, _ in everything:
        if address == gone:
            assert refused[text] is AddressRefused
        elif address == full:
            assert refused.get(text, SendRefused) is SendRefused
        else:
            assert text not in refused, outcomes[text]
    for address in [*plain, later]:
        check_queue(client, address, senders)
    assert [len(answer.answers) for _, _, answer in everything] == [1] * len(everything)
    assert not client.log.losses
    assert len(set(threading.enumerate()) - threads) < 10


def check_queue(client: Client, address: Address, senders: list[Sender]) -> None:
    """Check that all messages to an address are there, once, and in the order of each sender unless delayed."""
    sent = [[text for where, text, _ in sender.sent if where == address] for sender in senders]
    subscription, box = client.consume(address, 1000, window=1000)
    eventually(lambda: len(box.arrivals) >= sum(map(len, sent)), 20.0)
    assert sorted(box.bodies) == sorted(text for part in sent for text in part)
    if not address.name.endswith("later"):
        for sender, part in zip(senders, sent, strict=True):
            assert [body for body in box.bodies if body.startswith(f"{sender.number}:")] == part
    subscription.close()

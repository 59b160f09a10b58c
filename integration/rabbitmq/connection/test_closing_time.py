"""Closing waits for the broker for at most ``close_timeout``."""

import contextlib
import time
from collections.abc import Callable

import pytest

import jmsbridge
from integration.lab.broker import Broker
from integration.rabbitmq.support import Client
from jmsbridge import CompletionListener
from jmsbridge.spi import Address, BackendError, Outcome, Retires
from jmsbridge.testing.proxy import FaultProxy
from jmsbridge.testing.suite.support import eventually

Clients = Callable[..., Client]
Proxies = Callable[..., FaultProxy]

_TIMEOUT = 1.0
_SLACK = 1.0  # seconds, for a busy machine
_ENDS: dict[str, Callable[[Client, Address], Callable[[], None]]] = {}


def _end(make: Callable[[Client, Address], Callable[[], None]]) -> None:
    _ENDS[make.__name__] = make


@_end
def closing_a_consumer(client: Client, address: Address) -> Callable[[], None]:
    return client.consume(address, 1)[0].close


@_end
def retiring_a_consumer(client: Client, address: Address) -> Callable[[], None]:
    subscription, box = client.consume(address, 1)
    box.wait(1)
    assert isinstance(subscription, Retires)
    return subscription.retire


@_end
def closing_a_channel(client: Client, address: Address) -> Callable[[], None]:
    return client.channel.close


@_end
def deleting_a_temporary_queue(client: Client, address: Address) -> Callable[[], None]:
    temporary = client.link.declare(Address(f"jms-temp-queue-{address.name}", temporary=True))
    return lambda: client.link.delete(temporary)


@_end
def closing_the_link(client: Client, address: Address) -> Callable[[], None]:
    return client.link.close


@pytest.mark.parametrize("end", _ENDS)
def test_closing_on_a_silent_broker_takes_close_timeout(
    broker: Broker, clients: Clients, name: str, fault_proxy: Proxies, end: str
) -> None:
    proxy, address = fault_proxy(broker.url()), Address(name)
    client = clients(None, url=proxy.through(broker.url()), close_timeout=_TIMEOUT)
    client.send(address, "opens the publishing socket")
    ending = _ENDS[end](client, address)
    proxy.stall()
    begun = time.monotonic()
    with pytest.raises(BackendError, match="no answer") if end.startswith("deleting") else contextlib.nullcontext():
        ending()
    assert _TIMEOUT - 0.1 < time.monotonic() - begun < _TIMEOUT + _SLACK
    eventually(lambda: client.link.pair.thread.ended is not None, 5.0)  # it is given up, so another one is opened


class _Nothing(CompletionListener):
    def on_completion(self, message: object) -> None:
        """Nothing."""

    def on_exception(self, message: object, error: Exception) -> None:
        """Nothing."""


@pytest.mark.filterwarnings("ignore::jmsbridge.EmulationWarning")
@pytest.mark.parametrize("sends", [False, True])
def test_a_connection_with_all_its_objects_closes_in_that_time(
    broker: Broker, name: str, fault_proxy: Proxies, sends: bool
) -> None:
    """Sends without an answer, consumers and temporary queues of two sessions share it."""
    proxy = fault_proxy(broker.url())
    connection = jmsbridge.connect(proxy.through(broker.url()), close_timeout=_TIMEOUT)
    connection.start()
    producers = []
    for number in range(2):
        session = connection.create_session()
        queue = session.create_queue(f"{name}-{number}")
        producers.append(session.create_producer(queue))
        producers[-1].send("opens the publishing socket")
        session.create_temporary_queue()
        for _ in range(2):
            session.create_consumer(queue).receive(timeout=0.1)
    proxy.stall()
    for producer in producers if sends else ():
        producer.send(jmsbridge.TextMessage("no answer"), completion_listener=_Nothing())
    begun = time.monotonic()
    connection.close()
    assert time.monotonic() - begun < _TIMEOUT + _SLACK


def test_a_slow_broker_is_not_given_up_and_the_close_continues(
    broker: Broker, clients: Clients, name: str, fault_proxy: Proxies
) -> None:
    proxy, address = fault_proxy(broker.url()), Address(name)
    client = clients(None, url=proxy.through(broker.url()), close_timeout=_TIMEOUT)
    client.send(address, *(str(number) + "x" * 10_000 for number in range(20)))
    proxy.bandwidth = 50_000
    subscription, box = client.consume(address, 20)
    box.wait(1, 20.0)
    begun = time.monotonic()
    subscription.close()  # the answer comes after the messages, which need four seconds
    assert time.monotonic() - begun < _TIMEOUT + _SLACK
    client.link.check()
    eventually(lambda: not client.link.subscriptions.open, 20.0)
    assert not client.log.losses
    proxy.bandwidth = None
    other, again = clients(broker).consume(address, 20)
    assert again.wait(20, 20.0)[0].envelope.body.startswith("0x")
    other.settle(again.tokens, Outcome.ACCEPTED)

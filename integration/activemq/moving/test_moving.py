"""A service of Java on ActiveMQ becomes one of Python, and moves to Artemis and RabbitMQ, as docs/moving.md says."""

import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

import jmsbridge
from integration.interop.program import Program, Running
from integration.lab.broker import Broker
from integration.lab.fetching.programs import class_path
from integration.lab.fixtures import StartBroker
from integration.lab.table import HOST, PASSWORD, USER
from jmsbridge import CLIENT_ACKNOWLEDGE, MessageConsumer

pytestmark = [pytest.mark.broker("activemq"), pytest.mark.server]

_HERE = Path(__file__).resolve().parent
_JARS = _HERE.parents[1] / "interop" / "activemq" / "pom.xml"
_CUSTOMERS = 10


def in_java(activemq: Broker, command: str, count: int) -> Running:
    """The service in Java sends so many orders, or handles as many and prints their numbers."""
    sources = {"Service.java": (_HERE / "Service.java").read_text(encoding="utf-8")}
    program = Program(class_path("moving", _JARS, sources), "Service")
    # Classic puts what a closed consumer returns behind what was returned before: have little to return.
    url = f"tcp://{HOST}:{activemq.ports['openwire']}?jms.prefetchPolicy.queuePrefetch=1"
    return program.start(url, USER, PASSWORD, command, str(count))


@contextmanager
def in_python(url: str) -> Iterator[MessageConsumer]:
    """The consumer of the service in Python, of which only the URL depends on the broker."""
    with jmsbridge.connect(url) as connection:
        connection.start()
        session = connection.create_session(acknowledge_mode=CLIENT_ACKNOWLEDGE)
        yield session.create_consumer(session.create_queue("orders"))


def handle(consumer: MessageConsumer, is_enough: Callable[[int], bool]) -> list[int]:
    """The numbers of the orders that the service in Python has handled."""
    handled: list[int] = []
    while not is_enough(len(handled)):
        order = consumer.receive(timeout=1)
        if order is not None:
            number = order.get_int_property("number")
            assert order.get_body(str) == f"order {number}"
            assert order.get_string_property("JMSXGroupID") == f"customer {number % _CUSTOMERS}"
            order.acknowledge()
            handled.append(number)
    return handled


def send(url: str, numbers: range) -> None:
    """The sender in Python."""
    with jmsbridge.connect(url) as connection:
        session = connection.create_session()
        producer = session.create_producer(session.create_queue("orders"))
        for number in numbers:
            order = session.create_text_message(f"order {number}")
            order.set_int_property("number", number)
            order.set_string_property("JMSXGroupID", f"customer {number % _CUSTOMERS}")
            producer.send(order)


def side_by_side(activemq: Broker) -> list[int]:
    """Both services share the queue; the one in Java ends first, and the other goes on until 400 are handled."""
    by_java: list[int] = []
    ended = threading.Event()
    with (
        ThreadPoolExecutor(1) as pool,
        in_java(activemq, "handle", 150) as java,
        in_python(activemq.url("amqp")) as consumer,
    ):
        assert java.line() == "ready"
        by_python = pool.submit(handle, consumer, lambda count: ended.is_set() and count + len(by_java) >= 400)
        try:
            with in_java(activemq, "send", 600) as sender:
                assert sender.rest() == []
            by_java += java.rest()
        finally:
            ended.set()
        assert by_java
        return by_java + by_python.result(60)


def move(source: str, target: str) -> str:
    """What ``jmsbridge move`` says."""
    command = [sys.executable, "-m", "jmsbridge", "move", "orders", "orders", "--target", source, "--to", target]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    return ended.stderr


def test_every_order_is_handled_once_in_the_order_of_its_customer(own_broker: StartBroker) -> None:
    activemq, artemis, rabbitmq = (own_broker(name) for name in ("activemq", "artemis", "rabbitmq"))
    handled = side_by_side(activemq)
    send(activemq.url("amqp"), range(600, 1000))
    waiting = 1000 - len(handled)
    assert f"{waiting} moved" in move(activemq.url("amqp"), artemis.url("amqp"))
    with in_python(artemis.url("amqp")) as consumer:
        handled += handle(consumer, lambda count: count == 200)
    # RabbitMQ has no message groups: with one consumer the order is kept all the same
    assert f"{waiting - 200} moved" in move(artemis.url("amqp"), f"{rabbitmq.url()}?emulation.message_groups=allow")
    with in_python(rabbitmq.url()) as consumer:
        handled += handle(consumer, lambda count: count == waiting - 200)
    assert sorted(handled) == list(range(1000))
    by_customer = defaultdict(list)
    for number in handled:
        by_customer[number % _CUSTOMERS].append(number)
    assert {customer: numbers for customer, numbers in by_customer.items() if numbers != sorted(numbers)} == {}

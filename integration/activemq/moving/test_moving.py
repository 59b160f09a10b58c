"""A service of Java on ActiveMQ becomes one of Python, and moves to Artemis and RabbitMQ, as docs/moving.md says."""

import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

import jmsbridge
from integration.interop.program import Program
from integration.lab.broker import Broker
from integration.lab.fetching.programs import class_path
from integration.lab.fixtures import StartBroker
from integration.lab.table import HOST, PASSWORD, USER
from jmsbridge import CLIENT_ACKNOWLEDGE

pytestmark = [pytest.mark.broker("activemq"), pytest.mark.server]

_HERE = Path(__file__).resolve().parent
_JARS = _HERE.parents[1] / "interop" / "activemq" / "pom.xml"
_ORDERS = 1000


def in_java(activemq: Broker, command: str, count: int) -> list[int]:
    """What the Java service prints: the numbers of the orders that it has handled."""
    sources = {"Service.java": (_HERE / "Service.java").read_text(encoding="utf-8")}
    program = Program(class_path("moving", _JARS, sources), "Service")
    # Classic puts what a closed consumer returns behind what was returned before: have little to return.
    url = f"tcp://{HOST}:{activemq.ports['openwire']}?jms.prefetchPolicy.queuePrefetch=1"
    with program.start(url, USER, PASSWORD, command, str(count)) as running:
        return [int(number) for number in running.rest()]


def in_python(url: str, count: int) -> list[int]:
    """What the service in Python has handled; only the URL depends on the broker."""
    handled = []
    with jmsbridge.connect(url) as connection:
        connection.start()
        session = connection.create_session(acknowledge_mode=CLIENT_ACKNOWLEDGE)
        consumer = session.create_consumer(session.create_queue("orders"))
        for _ in range(count):
            order = consumer.receive(timeout=30)
            assert order is not None
            handled.append(order.get_int_property("number"))
            assert order.get_body(str) == f"order {handled[-1]}"
            assert order.get_string_property("JMSXGroupID") == f"customer {handled[-1] % 10}"
            order.acknowledge()
    return handled


def move(source: str, target: str) -> str:
    """What ``jmsbridge move`` says."""
    command = [sys.executable, "-m", "jmsbridge", "move", "orders", "orders", "--target", source, "--to", target]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    return ended.stderr


def test_every_order_is_handled_once_in_the_order_of_its_customer(own_broker: StartBroker) -> None:
    activemq, artemis, rabbitmq = (own_broker(name) for name in ("activemq", "artemis", "rabbitmq"))
    in_java(activemq, "send", _ORDERS)
    handled = in_java(activemq, "handle", 200)
    handled += in_python(activemq.url("amqp"), 200)
    assert "600 moved" in move(activemq.url("amqp"), artemis.url("amqp"))
    handled += in_python(artemis.url("amqp"), 200)
    # RabbitMQ has no message groups: with one consumer the order is kept all the same
    assert "400 moved" in move(artemis.url("amqp"), f"{rabbitmq.url()}?emulation.message_groups=allow")
    handled += in_python(rabbitmq.url(), 400)
    assert sorted(handled) == list(range(_ORDERS))
    by_customer = defaultdict(list)
    for number in handled:
        by_customer[number % 10].append(number)
    assert {customer: numbers for customer, numbers in by_customer.items() if numbers != sorted(numbers)} == {}

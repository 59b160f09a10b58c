"""Queues on RabbitMQ 4 over its native AMQP 1.0."""

import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from threading import Barrier
from typing import Any

import pytest

import jmsbridge
from integration.lab.broker import Broker
from jmsbridge.spi import Address

pytest.importorskip("proton", reason="python-qpid-proton is not installed: pip install 'jmsbridge[amqp]' builds it")
pytestmark = pytest.mark.broker("rabbitmq")

CLIENTS, QUEUES = 4, 10


def test_clients_may_create_a_queue_at_the_same_moment(rabbitmq: Broker) -> None:
    """RabbitMQ 4.0 ends the session of those that come second, in one case of four."""
    names = [f"meanwhile-{uuid.uuid4().hex}" for _ in range(QUEUES)]
    together = Barrier(CLIENTS, timeout=30)

    def create(link: Any) -> None:
        for name in names:
            together.wait()
            link._life.wait(lambda done, name=name: link._facts.nodes.ensure(Address(name), done), name)

    with ExitStack() as stack, ThreadPoolExecutor(CLIENTS) as threads:
        links: list[Any] = []
        for _ in range(CLIENTS):
            connection = stack.enter_context(jmsbridge.connect(rabbitmq.url("amqp")))
            connection.start()
            links.append(connection._core.wait_link()[0])
        for created in [threads.submit(create, link) for link in links]:
            created.result(60)

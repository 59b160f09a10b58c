"""A connection that was cut many times holds no more resources than one that was never cut, and a closed one none."""

import gc
import os
import threading
from collections.abc import Callable

import pytest

import jmsbridge
from integration.lab.broker import Broker
from integration.networked.schemes import Scheme
from jmsbridge import Connection, JMSException, Queue, TextMessage
from jmsbridge.core.receiving.inbox import Inbox
from jmsbridge.testing.proxy import FaultProxy
from jmsbridge.testing.suite.support import Collector, eventually

CUTS = 10


def descriptors() -> int:
    """Those in use: what Pulsar's library had of lost links is closed when the collector finds their objects."""
    gc.collect()
    return len(os.listdir("/proc/self/fd"))


def is_link(one: object, scheme: Scheme) -> bool:
    """Whether it is the backend's implementation of Link, found by the name of its class."""
    kind = type(one)
    return kind.__name__ == "Link" and kind.__module__.partition(".")[0] == scheme.package


def sent(connection: Connection, queue: Queue, text: str) -> bool:
    """Send; return whether the broker has confirmed the message."""
    with connection.create_session() as session:
        try:
            session.create_producer(queue).send(text)
        except JMSException:  # the cut hit this send
            return False
    return True


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts file descriptors as Linux shows them")
def test_many_cuts_leave_nothing(
    scheme: Scheme,
    broker: Broker,
    connect: Callable[..., Connection],
    name: str,
    fault_proxy: Callable[..., FaultProxy],
) -> None:
    proxy = fault_proxy(broker.url(scheme.plain))
    connection = connect(proxy.through(broker.url(scheme.plain)), reconnect_delay=0.01)
    collector = Collector()
    connection.create_session().create_consumer(Queue(name)).message_listener = collector
    receiving = connection.create_session()
    receiving.create_consumer(Queue(f"{name}-idle"))
    assert sent(connection, Queue(name), "first")
    collector.wait(1)
    before, threads = descriptors(), threading.active_count()
    expected = {"first"}
    for number in range(CUTS):
        proxy.cut()
        eventually(lambda text=str(number): sent(connection, Queue(name), text), 20.0)  # type: ignore[misc]
        expected.add(str(number))
        eventually(lambda: expected <= set(collector.texts), 20.0)
    eventually(lambda: descriptors() <= before + 1, 20.0)
    eventually(lambda: threading.active_count() <= threads + 1, 20.0)

    def links() -> int:
        gc.collect()
        return sum(is_link(one, scheme) and one.endpoint.port == proxy.port for one in gc.get_objects())

    assert links() > 0
    eventually(lambda: links() <= 2, 20.0)
    assert all(isinstance(message, TextMessage) for message in collector.messages)


def test_what_is_closed_or_cut_leaves_nothing(
    scheme: Scheme, broker: Broker, name: str, fault_proxy: Callable[..., FaultProxy]
) -> None:
    """Messages are known to the inbox from which they were taken last, and the collector does not look into them."""
    proxy = fault_proxy(broker.url(scheme.plain))

    def take_one() -> None:
        with jmsbridge.connect(proxy.through(broker.url(scheme.plain)), reconnect_delay=0.01) as connection:
            connection.start()
            for cut in (False, True):
                with connection.create_session() as session:
                    session.create_producer(Queue(name)).send("text")
                    consumer = session.create_consumer(Queue(name))
                    assert consumer.receive(timeout=10) is not None
                    if cut:
                        proxy.cut()
                        eventually(lambda: sent(connection, Queue(f"{name}-more"), "text"), 20.0)

    def inboxes() -> int:
        gc.collect()
        return sum(isinstance(one, Inbox) for one in gc.get_objects())

    before = inboxes()
    for _ in range(3):
        take_one()
    eventually(lambda: inboxes() <= before, 10.0)

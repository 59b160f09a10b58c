"""Heart-beats come from the I/O thread, whatever the application's threads do."""

import threading
import time
from collections.abc import Callable

import pytest

from integration.lab.broker import Broker
from integration.networked.schemes import Scheme
from jmsbridge import Connection, Message, Queue
from jmsbridge.testing.proxy import FaultProxy
from jmsbridge.testing.suite.support import Collector, send_texts

Connect = Callable[..., Connection]

_BEAT = 4  # seconds; broker and client give up after at most two intervals of silence
_BUSY = 2.2 * _BEAT


def compute(until: float) -> int:
    """Compute in pure Python, which keeps the interpreter lock until it is forced to release it."""
    number = 0
    while time.monotonic() < until:
        for _ in range(10_000):
            number = (number * 31 + 7) % 1_000_003
    return number


def test_heartbeats_continue_while_threads_compute_and_a_listener_blocks(
    scheme: Scheme, broker: Broker, connect: Connect, name: str, fault_proxy: Callable[..., FaultProxy]
) -> None:
    if scheme.heartbeat is None:
        pytest.skip(f"the heart-beats of {scheme.name} cannot be chosen")
    proxy = fault_proxy(broker.url(scheme.plain))
    connection = connect(f"{proxy.through(broker.url(scheme.plain))}?{scheme.heartbeat}={_BEAT}")
    told: list[Exception] = []
    connection.exception_listener = told.append
    begun, go_on = threading.Event(), threading.Event()

    def wait(_: Message) -> None:
        begun.set()
        go_on.wait(50)

    listener = Collector(wait)
    connection.create_session().create_consumer(Queue(name)).message_listener = listener
    session = connection.create_session()
    send_texts(session, Queue(name), "long", "next")
    assert begun.wait(10)
    until = time.monotonic() + _BUSY
    other = threading.Thread(target=compute, args=(until,))
    other.start()
    compute(until)
    other.join(30)
    assert listener.texts == ["long"]
    go_on.set()
    send_texts(session, Queue(name), "last")
    messages = listener.wait(3, 20.0)
    assert listener.texts == ["long", "next", "last"]
    assert not any(message.jms_redelivered for message in messages)
    assert proxy.accepted == scheme.sockets  # still the first connections
    assert not told

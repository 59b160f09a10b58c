"""Refusals of the broker, as an application gets them: the exception names the operation, the broker and the remedy.

After each, confirmed messages are there, the connection is usable, and closing it leaves no thread (``connect``).
"""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from integration.lab.broker import Broker
from integration.lab.fixtures import StartBroker
from jmsbridge import (
    Connection,
    InDoubtException,
    InvalidDestinationException,
    JMSSecurityException,
    Message,
    Queue,
    ResourceAllocationException,
    Session,
)
from jmsbridge.testing.proxy import FaultProxy
from jmsbridge.testing.suite.support import Completions, eventually, receive_texts, send_texts, text_of

Connect = Callable[..., Connection]
MIB = 1024 * 1024


def assert_usable(session: Session, queue: Queue, *waiting: str) -> None:
    """Check that the messages of the queue are there, and that another one can be sent and received."""
    send_texts(session, queue, "usable")
    with session.create_consumer(queue) as consumer:
        assert receive_texts(consumer, len(waiting) + 1) == [*waiting, "usable"]


# -- connecting


def test_a_wrong_password(broker: Broker, connect: Connect) -> None:
    with pytest.raises(JMSSecurityException, match="check user and password") as caught:
        connect(broker.url(password="hunter2"))
    assert f"127.0.0.1:{broker.ports['amqp']}" in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_an_unknown_virtual_host(broker: Broker, connect: Connect) -> None:
    with pytest.raises(JMSSecurityException, match="nowhere: the virtual host was refused; check"):
        connect(broker.url(path="/nowhere"))


# -- sending


def test_a_queue_that_was_deleted(broker: Broker, connect: Connect, name: str) -> None:
    session, queue = connect(broker).create_session(), Queue(name)
    producer = session.create_producer(queue)
    producer.send("goes with the queue")
    broker.admin.delete(f"/api/queues/%2F/{name}")
    with pytest.raises(InvalidDestinationException, match=name):
        producer.send("unroutable")
    assert_usable(session, queue)


def test_a_full_queue(broker: Broker, connect: Connect, name: str) -> None:
    full = {"x-max-length": 1, "x-overflow": "reject-publish"}
    broker.admin.put(f"/api/queues/%2F/{name}", {"durable": True, "arguments": full})
    session, queue = connect(broker).create_session(), Queue(name)
    producer = session.create_producer(queue)
    listener = Completions()
    for number in range(20):
        producer.send(str(number), completion_listener=listener)
    events = listener.wait(20)
    assert [event[1].get_body(str) for event in events] == [str(number) for number in range(20)]
    confirmed = [event[1].get_body(str) for event in events if event[0] == "completed"]
    errors = [event[2] for event in events if event[0] == "failed"]
    assert errors
    assert all(isinstance(error, ResourceAllocationException) for error in errors)
    assert all(name in str(error) and "reject-publish" in str(error) for error in errors)
    with session.create_consumer(queue) as consumer:
        assert receive_texts(consumer, len(confirmed)) == confirmed
    assert_usable(session, queue)


def test_a_message_over_the_limit(broker: Broker, connect: Connect, name: str) -> None:
    session, queue = connect(broker).create_session(), Queue(name)
    producer = session.create_producer(queue)
    producer.send("before")
    with pytest.raises(ResourceAllocationException, match="max_message_size") as caught:
        producer.send(bytes(17 * MIB))
    assert name in str(caught.value)
    assert_usable(session, queue, "before")


def test_a_message_over_the_limit_amid_others(broker: Broker, connect: Connect, name: str) -> None:
    """The broker closes the channel; confirmed messages are there, refused ones are not, callbacks are in order."""
    session, queue = connect(broker).create_session(), Queue(name)
    producer = session.create_producer(queue)
    listener = Completions()
    bodies: list[Any] = ["first", bytes(17 * MIB), "last"]
    for body in bodies:
        producer.send(body, completion_listener=listener)
    events = listener.wait(3, 30.0)
    assert isinstance(events[1][2], ResourceAllocationException)
    confirmed = [event[1].get_body(str) for event in events if event[0] == "completed"]
    doubtful = [event[1].get_body(str) for event in events if event[0] == "failed" and event is not events[1]]
    assert sorted(confirmed + doubtful) == ["first", "last"]
    with session.create_consumer(queue) as consumer:
        there = receive_texts(consumer, len(confirmed))
        while (more := consumer.receive_no_wait()) is not None:  # sends in doubt may be there too
            there.append(text_of(more))
    assert set(confirmed) <= set(there) <= {"first", "last"}
    assert len(there) == len(set(there))
    assert_usable(session, queue)


def test_no_permission(broker: Broker, connect: Connect, name: str) -> None:
    broker.admin.put(f"/api/users/{name}", {"password": "pw", "tags": ""})
    rights = {"configure": "^(free|jms)", "write": "^(free|jms|amq.default)", "read": "^(free|jms)"}
    broker.admin.put(f"/api/permissions/%2F/{name}", rights)
    session = connect(broker.url(user=name, password="pw")).create_session()
    with pytest.raises(JMSSecurityException, match="set_permissions") as caught:
        session.create_producer(Queue(f"taboo-{name}")).send("x")
    assert f"taboo-{name}" in str(caught.value)
    with pytest.raises(JMSSecurityException, match="set_permissions"):
        session.create_consumer(Queue(f"taboo-{name}"))
    assert_usable(session, Queue(f"free-{name}"))


# -- receiving


def test_a_queue_deleted_under_its_consumer(broker: Broker, connect: Connect, name: str) -> None:
    connection = connect(broker)
    told: list[Exception] = []
    connection.exception_listener = told.append
    session, queue = connection.create_session(), Queue(name)
    consumer = session.create_consumer(queue)
    send_texts(session, queue, "x")
    assert receive_texts(consumer, 1) == ["x"]
    broker.admin.delete(f"/api/queues/%2F/{name}")
    eventually(lambda: told, 10.0)
    assert isinstance(told[0], InvalidDestinationException)
    assert name in str(told[0])
    assert_usable(session, queue)


def test_a_queue_with_other_arguments(broker: Broker, connect: Connect, name: str) -> None:
    arguments = {"x-max-priority": 9, "x-message-ttl": 60_000}
    broker.admin.put(f"/api/queues/%2F/{name}", {"durable": True, "arguments": arguments})
    assert_usable(connect(broker).create_session(), Queue(name))


# -- the network and the broker


def test_a_silent_network(broker: Broker, connect: Connect, name: str, fault_proxy: Callable[..., FaultProxy]) -> None:
    """Half-open: a send ends in doubt after missed heart-beats; confirmed messages are there afterwards."""
    proxy = fault_proxy(broker.url())
    session = connect(proxy.through(broker.url()) + "?heartbeat=3", send_timeout=60.0).create_session()
    producer = session.create_producer(Queue(name))
    producer.send("confirmed")
    proxy.stall()
    with pytest.raises(InDoubtException, match="heart-beat") as caught:
        producer.send("in doubt")
    assert [message.get_body(str) for message in caught.value.unknown] == ["in doubt"]
    proxy.cut()
    proxy.resume()
    producer.send("afterwards")
    with session.create_consumer(Queue(name)) as consumer:
        assert receive_texts(consumer, 2, 10.0) in (["confirmed", "afterwards"], ["confirmed", "in doubt"])


def test_a_memory_alarm(own_broker: StartBroker, connect: Connect, name: str) -> None:
    """Senders wait for send_timeout and get the reason; receivers continue; afterwards all works, nothing is lost."""
    broker = own_broker("rabbitmq")
    session, queue = connect(broker).create_session(), Queue(name)
    hurried = connect(broker, send_timeout=5.0).create_session().create_producer(queue)
    producer = session.create_producer(queue)
    producer.send("patient")
    hurried.send("hurried")
    broker.ctl("set_vm_memory_high_watermark", "absolute", "1MiB")
    with pytest.raises((InDoubtException, ResourceAllocationException), match="5 s") as caught:
        for number in range(10):  # the broker may report the alarm late
            hurried.send(f"hurried {number}")
    assert "memory" in str(caught.value) or "unknown" in str(caught.value)
    receiver = connect(broker).create_session().create_consumer(queue)
    assert receive_texts(receiver, 2) == ["patient", "hurried"]
    waiting = threading.Thread(target=producer.send, args=("waited",))
    waiting.start()
    waiting.join(1.0)
    assert waiting.is_alive()
    broker.ctl("set_vm_memory_high_watermark", "absolute", "1GiB")
    waiting.join(15.0)
    assert not waiting.is_alive()
    eventually(lambda: "waited" in (receive_texts(receiver, 1, 10.0)), 15.0)


def test_a_blocked_receive_and_a_listener_survive_a_cut(
    broker: Broker, connect: Connect, name: str, fault_proxy: Callable[..., FaultProxy]
) -> None:
    proxy = fault_proxy(broker.url())
    connection = connect(proxy.through(broker.url()))
    got: list[Message | None] = []
    heard = threading.Event()
    consumer = connection.create_session().create_consumer(Queue(f"{name}-receive"))
    connection.create_session().create_consumer(Queue(f"{name}-listen")).message_listener = lambda _: heard.set()
    receiver = threading.Thread(target=lambda: got.append(consumer.receive(timeout=20)))
    receiver.start()
    eventually(lambda: consumer._core.incoming._receiving)
    assert proxy.cut()
    sender = connect(broker).create_session()
    send_texts(sender, Queue(f"{name}-receive"), "a")
    send_texts(sender, Queue(f"{name}-listen"), "b")
    receiver.join(20)
    assert [message is not None and message.get_body(str) for message in got] == ["a"]
    assert heard.wait(10)

"""The statements of the page about RabbitMQ on counts, prefetch and order with selectors."""

import threading
from collections.abc import Callable

import pytest

from integration.lab.broker import Broker
from jmsbridge import CLIENT_ACKNOWLEDGE, Connection, Message
from jmsbridge.testing.suite.support import eventually, receive_texts, send_texts

pytestmark = pytest.mark.filterwarnings("ignore::jmsbridge.EmulationWarning")

Connect = Callable[..., Connection]


@pytest.mark.parametrize("kind", ["classic", "quorum"])
def test_redeliveries_within_a_session_are_one_delivery_for_the_broker(
    broker: Broker, connect: Connect, name: str, kind: str
) -> None:
    """Receive, roll back, receive, close, and receive on a new connection."""
    url, counts = f"{broker.url()}?queue_type={kind}", []
    first = connect(url)
    session = first.create_session(transacted=True)
    queue = session.create_queue(name)
    send_texts(session, queue, "counted")
    session.commit()
    consumer = session.create_consumer(queue)
    for _ in range(2):
        message = consumer.receive(timeout=10)
        assert message is not None
        counts.append(message.get_int_property("JMSXDeliveryCount"))
        if len(counts) == 1:
            session.rollback()
    first.close()
    again = connect(url).create_session().create_consumer(queue).receive(timeout=10)
    assert again is not None
    assert [*counts, again.get_int_property("JMSXDeliveryCount")] == [1, 2, 2]


@pytest.mark.parametrize(("embedded", "left"), [(False, ["b", "c"]), (True, ["c"])])
def test_a_busy_listener_with_a_prefetch_of_one(
    broker: Broker, connect: Connect, name: str, embedded: bool, left: list[str]
) -> None:
    """On RabbitMQ it holds only the message in progress; on the memory broker one more is prefetched."""
    connection = connect(f"embedded:?broker={name}" if embedded else broker.url())
    session = connection.create_session(prefetch=1)
    queue = session.create_queue(name)
    busy, go_on = threading.Event(), threading.Event()

    def listen(message: Message) -> None:
        busy.set()
        go_on.wait(20)

    session.create_consumer(queue).message_listener = listen
    other = connection.create_session()
    send_texts(other, queue, "a")
    assert busy.wait(10)
    send_texts(other, queue, "b", "c")
    consumer = other.create_consumer(queue)
    try:
        assert receive_texts(consumer, len(left)) == left
        assert consumer.receive(timeout=0.3) is None
    finally:
        go_on.set()


def test_a_selector_on_a_queue_changes_the_order_for_the_others(broker: Broker, connect: Connect, name: str) -> None:
    connection = connect(broker.url())
    session = connection.create_session()
    queue = session.create_queue(name)
    selecting = connection.create_session(session_mode=CLIENT_ACKNOWLEDGE).create_consumer(queue, "n = 1")
    send_texts(session, queue, "first")  # without a property n
    eventually(lambda: broker.admin.get(f"/api/queues/%2F/{name}").get("messages_unacknowledged") == 1, 20.0)
    consumer = session.create_consumer(queue)
    later = ["second", "third", "fourth", "fifth"]
    send_texts(session, queue, *later)
    found = receive_texts(consumer, 1)  # the broker sends it every second message
    assert found[0] in later
    selecting.close()
    found += receive_texts(consumer, 4)
    assert sorted(found) == sorted(["first", *later])

"""The credit that consumers grant and drain."""

from collections.abc import Callable

from jmsbridge import Connection, Queue
from jmsbridge.testing.marks import rule
from jmsbridge.testing.suite.support import LONG, receive_texts, run_thread, send_texts
from tests.core.support import Embedded

Connect = Callable[..., Connection]
QUEUE = Queue("orders")


@rule("CN-1")
def test_without_a_prefetch_a_stopped_connection_takes_no_message(broker: Embedded) -> None:
    """The receive that was waiting when the connection stopped drains its credit."""
    stopped = broker.connect()
    consumer = stopped.create_session().create_consumer(QUEUE, prefetch=0)
    receiving = run_thread(lambda: consumer.receive(timeout=0.3))
    while not consumer._receiver.inbox.has_credit:
        assert not receiving.done()
    stopped.stop()
    assert receiving.result(LONG) is None
    other = broker.connect().create_session()
    send_texts(other, QUEUE, "m")
    assert receive_texts(other.create_consumer(QUEUE), 1) == ["m"]


def test_recounted_credit_leaves_room_for_returned_messages(broker: Embedded) -> None:
    """After an interrupt the window is filled up to its size, not beyond it."""
    session = broker.connect().create_session()
    send_texts(session, QUEUE, *"abcde")
    consumer = session.create_consumer(QUEUE, prefetch=2)
    receiver = consumer._receiver
    first = receiver.next(None)
    assert first is not None
    receiver.inbox.put_back(first)  # like an interrupted receive
    session._core.incoming.hand.delivery = None
    receiver.inbox.credit_unknown = True
    receiver.resync_credit()
    others = broker.connect().create_session().create_consumer(QUEUE, prefetch=3)
    assert receive_texts(others, 3) == ["c", "d", "e"]
    assert receive_texts(consumer, 2) == ["a", "b"]

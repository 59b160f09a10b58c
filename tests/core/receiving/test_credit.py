"""What is asked of the broker, and what is taken back."""

from collections.abc import Callable

from jmsbridge import Connection, Queue
from jmsbridge.testing.marks import rule
from jmsbridge.testing.suite.support import LONG, receive_texts, run_thread, send_texts
from tests.review.support import Embedded

Connect = Callable[..., Connection]
QUEUE = Queue("orders")


@rule("CN-1")
def test_without_a_prefetch_a_stopped_connection_takes_no_message(broker: Embedded) -> None:
    """The receive that was waiting when the connection stopped takes back what it had asked for."""
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

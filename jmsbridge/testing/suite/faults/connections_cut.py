"""The network fails under a connection: what continues, what is delivered again, and what is reported."""

import contextlib
import threading
from collections.abc import Iterator
from concurrent.futures import wait
from typing import Any

import pytest

from jmsbridge import (
    Connection,
    Destination,
    IllegalStateException,
    InvalidClientID,
    JMSException,
    Message,
    MessageConsumer,
    Queue,
    Session,
    Topic,
)
from jmsbridge.spi import Native
from jmsbridge.testing.harness import Harness
from jmsbridge.testing.marks import pitfall, requires, rule
from jmsbridge.testing.suite.support import (
    LONG,
    SHORT,
    Collector,
    assert_empty,
    eventually,
    receive_texts,
    run_thread,
    send_surely,
    send_texts,
    text_of,
)


def connect(harness: Harness, **options: Any) -> Connection:
    """A started connection that reconnects quickly, and gives up before the test times out."""
    return harness.connect(**{"reconnect_delay": 0.01, "send_timeout": 2 * LONG, **options})


def send_elsewhere(harness: Harness, destination: Destination, *texts: str) -> None:
    """Send through a connection opened after the cut, whose link is certainly usable."""
    connection = connect(harness)
    send_texts(connection.create_session(), destination, *texts)
    connection.close()


def wait_until_back(harness: Harness, connection: Connection) -> None:
    """Return when the connection has made a round trip on its new link."""
    session = connection.create_session()
    queue = harness.queue("probe")
    send_surely(session, queue, "probe")
    assert receive_texts(session.create_consumer(queue), 1) == ["probe"]
    session.close()


def drained(harness: Harness, queue: Queue) -> Iterator[str]:
    """All texts that are left on the queue."""
    with connect(harness).create_session().create_consumer(queue) as consumer:
        while (message := consumer.receive(timeout=SHORT)) is not None:
            yield text_of(message)


def receive_messages(consumer: MessageConsumer, count: int) -> list[Message]:
    """The next messages, each of which must come."""
    messages: list[Message] = []
    for number in range(count):
        message = consumer.receive(timeout=LONG)
        assert message is not None, f"message {number + 1} of {count} did not come; got {texts_of(messages)}"
        messages.append(message)
    return messages


def receive_until(consumer: MessageConsumer, last: str) -> list[str]:
    """The texts up to and including ``last``: a message whose acknowledgement was lost with the link comes twice."""
    texts: list[str] = []
    while last not in texts:
        texts += receive_texts(consumer, 1)
    return texts


def texts_of(messages: list[Message]) -> list[str | None]:
    """The texts of these messages."""
    return [message.get_body(str) for message in messages]


@rule("CN-8")
def test_fault_consumer_goes_on(harness: Harness, queue: Queue) -> None:
    """The same consumer object receives before and after the cut."""
    session = connect(harness).create_session()
    consumer = session.create_consumer(queue)
    send_texts(session, queue, "before")
    assert receive_texts(consumer, 1) == ["before"]
    harness.cut()
    send_elsewhere(harness, queue, "after")
    assert set(receive_until(consumer, "after")) <= {"before", "after"}
    assert_empty(consumer)


def test_fault_producer_goes_on(harness: Harness, queue: Queue) -> None:
    """The same producer continues with its settings; its sends meanwhile wait for the new link or are in doubt."""
    connection = connect(harness)
    session = connection.create_session()
    producer = session.create_producer(queue)
    producer.priority = 7
    producer.send(session.create_text_message("before"))
    harness.cut()
    with contextlib.suppress(JMSException):
        producer.send(session.create_text_message("during"))
    wait_until_back(harness, connection)
    producer.send(session.create_text_message("after"))
    consumer = connect(harness).create_session().create_consumer(queue)
    got: dict[str | None, int] = {}
    while "after" not in got:
        message = receive_messages(consumer, 1)[0]
        got[message.get_body(str)] = message.jms_priority
    assert {"before", "after"} <= set(got) <= {"before", "during", "after"}
    assert set(got.values()) == {7}


def test_fault_several_in_a_row(harness: Harness, queue: Queue) -> None:
    """With confirmed acknowledgements only the last received message may be redelivered; without, any of them."""
    confirmed = Native.SETTLE_CONFIRM in harness.native
    consumer = connect(harness, block_on_acknowledge=confirmed).create_session().create_consumer(queue)
    for number in range(4):
        harness.cut()
        send_elsewhere(harness, queue, str(number))
        again = range(number - 1 if confirmed else 0, number)
        assert set(receive_until(consumer, str(number))) <= {*map(str, again), str(number)}
    assert_empty(consumer)


def test_fault_topic_consumer_goes_on(harness: Harness, topic: Topic) -> None:
    """A non-durable topic consumer may miss messages sent meanwhile, and gets those sent after the reconnect."""
    connection = connect(harness)
    session = connection.create_session()
    consumer = session.create_consumer(topic)
    harness.cut()
    wait_until_back(harness, connection)
    send_surely(session, topic, "after")
    assert receive_texts(consumer, 1) == ["after"]


@requires(Native.DURABLE)
def test_fault_durable_subscription_resumes(harness: Harness, topic: Topic) -> None:
    """Messages published while the connection was down arrive, too."""
    session = connect(harness, client_id=harness.name("client")).create_session()
    name = harness.name("sub")
    consumer = session.create_durable_consumer(topic, name)
    send_elsewhere(harness, topic, "before")
    assert receive_texts(consumer, 1) == ["before"]
    harness.cut()
    send_elsewhere(harness, topic, "after", "later")
    assert dict.fromkeys(receive_until(consumer, "later")).keys() - {"before"} == {"after", "later"}
    consumer.close()
    session.unsubscribe(name)


@requires(Native.SHARED_DURABLE)
def test_fault_shared_subscription_resumes(harness: Harness, topic: Topic) -> None:
    """All consumers come back to the one subscription: still one copy of each message."""
    name = harness.name("sub")
    listeners = [Collector(), Collector()]
    sessions = [connect(harness).create_session() for _ in listeners]
    for session, listener in zip(sessions, listeners, strict=True):
        session.create_shared_durable_consumer(topic, name).message_listener = listener
    harness.cut()
    texts = [f"{number:02}" for number in range(10)]
    send_elsewhere(harness, topic, *texts)
    eventually(lambda: sum(len(listener.messages) for listener in listeners) >= 10)
    for session in sessions:
        session.close()
    assert sorted(text or "" for listener in listeners for text in listener.texts) == texts
    session = connect(harness).create_session()
    eventually(lambda: _is_unsubscribed(session, name))  # a broker may notice late that a link is dead


def _is_unsubscribed(session: Session, name: str) -> bool:
    with contextlib.suppress(IllegalStateException):
        session.unsubscribe(name)
        return True
    return False


@rule("TD-1")
@requires(Native.TEMPORARY)
def test_fault_temporary_queue_is_usable_again(harness: Harness) -> None:
    """The same queue object and its consumer work after a reconnect, for this connection and for others."""
    connection = connect(harness)
    session = connection.create_session()
    temporary = session.create_temporary_queue()
    consumer = session.create_consumer(temporary)
    send_texts(session, temporary, "before")
    assert receive_texts(consumer, 1) == ["before"]
    harness.cut()
    wait_until_back(harness, connection)
    send_surely(session, temporary, "after")
    assert set(receive_until(consumer, "after")) <= {"before", "after"}
    send_elsewhere(harness, temporary, "from elsewhere")
    assert set(receive_until(consumer, "from elsewhere")) <= {"after", "from elsewhere"}


def test_fault_blocked_receive_goes_on(harness: Harness, queue: Queue) -> None:
    """A receive that was waiting when the link died returns the message that comes afterwards."""
    consumer = connect(harness).create_session().create_consumer(queue)
    pending = run_thread(consumer.receive)
    with pytest.raises(TimeoutError):
        pending.result(0.05)
    harness.cut()
    with pytest.raises(TimeoutError):
        pending.result(0.05)
    send_elsewhere(harness, queue, "after")
    message = pending.result(LONG)
    assert message is not None
    assert message.get_body(str) == "after"


@rule("CN-6")
def test_fault_timed_receive_keeps_its_time(harness: Harness, queue: Queue) -> None:
    """An outage neither ends a timed receive early with an error nor prolongs it."""
    consumer = connect(harness, reconnect_delay=20).create_session().create_consumer(queue)
    harness.cut()
    pending = run_thread(lambda: consumer.receive(timeout=0.1))
    assert pending.result(LONG) is None


def test_fault_listener_goes_on(harness: Harness, queue: Queue) -> None:
    """The listener stays set, and gets later messages in order."""
    listener = Collector()
    connect(harness).create_session().create_consumer(queue).message_listener = listener
    send_elsewhere(harness, queue, "1")
    listener.wait(1)
    harness.cut()
    send_elsewhere(harness, queue, "2", "3")
    eventually(lambda: "3" in listener.texts)
    assert list(dict.fromkeys(listener.texts)) == ["1", "2", "3"]


@rule("CN-8")
def test_fault_exception_listener_is_not_called_for_a_reconnect(harness: Harness, queue: Queue) -> None:
    """A reconnect is not reported to the exception listener."""
    connection = connect(harness)
    reported: list[Exception] = []
    connection.exception_listener = reported.append
    consumer = connection.create_session().create_consumer(queue)
    harness.cut()
    wait_until_back(harness, connection)
    send_elsewhere(harness, queue, "after")
    assert receive_texts(consumer, 1) == ["after"]
    assert reported == []


@rule("CN-8")
def test_fault_exception_listener_is_called_once_at_the_end(harness: Harness, queue: Queue) -> None:
    """Without reconnection the connection is lost for good: reported once, and every later call fails at once."""
    connection = connect(harness, reconnect_attempts=0)
    reported: list[Exception] = []
    told = threading.Event()

    def listen(error: Exception) -> None:
        reported.append(error)
        told.set()

    connection.exception_listener = listen
    session = connection.create_session()
    consumer, producer = session.create_consumer(queue), session.create_producer(queue)
    waiting = run_thread(lambda: consumer.receive(timeout=60))
    harness.cut()
    assert told.wait(LONG)
    assert waiting.exception(LONG) is not None or waiting.result() is None
    with pytest.raises(JMSException):
        producer.send(session.create_text_message("too late"))
    with pytest.raises(JMSException):
        connection.create_session().create_consumer(queue)
    connection.close()
    assert [type(error) for error in reported if not isinstance(error, JMSException)] == []
    assert len(reported) == 1


def test_fault_close_during_an_outage(harness: Harness, queue: Queue) -> None:
    """close does not wait for a reconnection, and ends a receive that waits for one."""
    connection = connect(harness, reconnect_delay=20)
    consumer = connection.create_session().create_consumer(queue)
    waiting = run_thread(lambda: consumer.receive(timeout=60))
    harness.cut()
    assert not wait([waiting], timeout=SHORT).done
    run_thread(connection.close).result(LONG)
    assert waiting.result(LONG) is None


@rule("CN-4")
def test_fault_stopped_stays_stopped(harness: Harness, queue: Queue) -> None:
    """A reconnection does not start what the application stopped."""
    connection = connect(harness)
    consumer = connection.create_session().create_consumer(queue)
    connection.stop()
    harness.cut()
    send_elsewhere(harness, queue, "later")
    assert_empty(consumer)
    connection.start()
    assert receive_texts(consumer, 1) == ["later"]


@rule("CI-4")
@requires(Native.CLIENT_ID)
def test_fault_client_id_is_kept(harness: Harness) -> None:
    """After a reconnect the client id still belongs to this connection, and another one cannot use it."""
    client_id = harness.name("client")
    connection = connect(harness, client_id=client_id)
    connection.create_session()
    harness.cut()
    wait_until_back(harness, connection)
    assert connection.client_id == client_id
    with pytest.raises(InvalidClientID):
        connect(harness, client_id=client_id).create_session()


@pitfall(31)
@requires(Native.NO_LOCAL)
def test_fault_no_local_survives(harness: Harness, topic: Topic) -> None:
    """The connection's own messages are still hidden after it came back over another link."""
    connection = connect(harness)
    session = connection.create_session()
    consumer = session.create_consumer(topic, None, True)
    harness.cut()
    wait_until_back(harness, connection)
    send_surely(session, topic, "own")
    send_elsewhere(harness, topic, "foreign")
    assert receive_texts(consumer, 1) == ["foreign"]
    assert_empty(consumer)


@rule("SE-23")
@requires(Native.QUEUE_SELECTORS)
def test_fault_selector_survives(harness: Harness, queue: Queue) -> None:
    consumer = connect(harness).create_session().create_consumer(queue, "JMSType = 'wanted'")
    harness.cut()
    session = connect(harness).create_session()
    with session.create_producer(queue) as producer:
        for jms_type in ("other", "wanted"):
            message = session.create_text_message(jms_type)
            message.jms_type = jms_type
            producer.send(message)
    assert receive_texts(consumer, 1) == ["wanted"]
    assert_empty(consumer)
    assert receive_texts(session.create_consumer(queue), 1) == ["other"]

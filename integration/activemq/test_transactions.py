"""What ActiveMQ Classic does with a transaction of which it refuses a message, over both wires.

Groups of sends are such transactions. Over STOMP their messages ask for no answers, so only the commit tells.
"""

import importlib.util
from collections.abc import Callable, Iterator

import pytest

from integration.lab.broker import Broker
from integration.lab.fixtures import StartBroker, unavailable
from integration.lab.starting import start
from integration.lab.table import COMMITS_REFUSED, REFUSALS, SMALL_QUEUES
from integration.networked.conftest import name
from integration.networked.connecting import connections
from jmsbridge import Connection, Queue, Session, TransactionRolledBackException
from jmsbridge.errors import JMSSecurityException, ResourceAllocationException
from jmsbridge.testing.suite.sending.send_groups import outcomes
from jmsbridge.testing.suite.support import LONG, Completions, assert_empty, eventually, receive_texts

__all__ = ["name"]

pytestmark = pytest.mark.broker("activemq")

Connect = Callable[..., Connection]
TEXTS = [str(number) for number in range(60)]
LARGE = "x" * 30_000
"""A queue below ``open.small.`` has no room for sixty of these."""


@pytest.fixture(params=["amqp", "stomp"])
def connect(request: pytest.FixtureRequest) -> Iterator[Connect]:
    """Connections by each scheme."""
    if request.param == "amqp" and importlib.util.find_spec("proton") is None:
        unavailable("python-qpid-proton is not installed: pip install 'jmsbridge[amqp]' builds it")
    with connections(request.param, send_timeout=LONG, close_timeout=LONG) as begin:
        yield lambda broker, **options: begin(broker.url(request.param, user=None), **options)


@pytest.fixture(scope="module")
def refusing(activemq: Broker) -> Iterator[Broker]:
    """A broker that refuses what ``REFUSALS`` says; ``activemq`` skips the test if there is none."""
    with start("activemq", options=[REFUSALS, SMALL_QUEUES]) as broker:
        yield broker


def refused(name: str, how: str) -> tuple[Queue, str, type[Exception]]:
    """Where to send what, so that the broker refuses it, and what it becomes."""
    if how == "no right":
        return Queue(f"closed.{name}"), "secret", JMSSecurityException
    return Queue(f"open.small.{name}"), LARGE, ResourceAllocationException


def fill(session: Session, queue: Queue) -> None:
    """Send until the queue takes no more: what it has written to disk may make room for one after a refusal."""
    producer = session.create_producer(queue)
    refusals = 0
    for _ in range(90):
        try:
            producer.send(LARGE)
        except ResourceAllocationException:
            refusals += 1
        if refusals == 3:
            return
    pytest.fail(f"{queue.queue_name} takes any number of messages")


@pytest.mark.parametrize("how", ["no right", "full"])
@pytest.mark.parametrize("at", [0, 30, 59])
def test_a_refused_message_of_a_group_fails_alone(
    refusing: Broker, connect: Connect, name: str, how: str, at: int
) -> None:
    """The group is rolled back, and its messages are sent again one by one: those behind it arrive once, in order."""
    queue, (bad, body, kind) = Queue(f"open.{name}"), refused(name, how)
    session, listener = connect(refusing, send_confirmation="group").create_session(), Completions()
    if how == "full":
        fill(session, bad)
    producer = session.create_producer(None)
    for number, text in enumerate(TEXTS):
        to, what = (bad, body) if number == at else (queue, text)
        producer.send(to, what, completion_listener=listener)
    listener.wait(len(TEXTS))
    expected = [("failed", body) if number == at else ("completed", text) for number, text in enumerate(TEXTS)]
    assert outcomes(listener) == expected
    assert [type(event[2]) for event in listener.events if event[0] == "failed"] == [kind]
    consumer = session.create_consumer(queue)
    assert receive_texts(consumer, 59) == [text for number, text in enumerate(TEXTS) if number != at]
    assert_empty(consumer)


@pytest.mark.parametrize("how", ["no right", "full"])
@pytest.mark.parametrize("at", [0, 10, 19])
@pytest.mark.parametrize("consumes", [False, True])
def test_a_refused_message_rolls_its_transaction_back(
    refusing: Broker, connect: Connect, name: str, how: str, at: int, consumes: bool
) -> None:
    """Nothing of it is visible, what was consumed in it comes again, and the next one is committed whole."""
    queue, source, (bad, body, _) = Queue(f"open.{name}"), Queue(f"open.from.{name}"), refused(name, how)
    other = connect(refusing).create_session()
    if how == "full":
        fill(other, bad)
    other.create_producer(source).send("consumed")
    session = connect(refusing).create_session(transacted=True)
    producer = session.create_producer(None)
    consumer = session.create_consumer(source) if consumes else None
    for again in (False, True):
        if consumer is not None:
            assert receive_texts(consumer, 1) == ["consumed"]
        for number, text in enumerate(TEXTS[:20]):
            to, what = (bad, body) if number == at and not again else (queue, text)
            producer.send(to, what)
        if again:
            session.commit()
            continue
        with pytest.raises(TransactionRolledBackException):
            session.commit()
        watching = other.create_consumer(queue)
        assert_empty(watching)
        watching.close()
    assert receive_texts(other.create_consumer(queue), 20) == TEXTS[:20]
    session.close()
    assert_empty(other.create_consumer(source)) if consumes else None


def test_many_refused_transactions_leave_nothing_at_the_broker(refusing: Broker, connect: Connect, name: str) -> None:
    """The broker keeps what it refused to commit until the socket ends; all of these would fill its memory."""
    queue, (bad, body, _) = Queue(f"open.{name}"), refused(name, "no right")
    session = connect(refusing).create_session(transacted=True)
    producer = session.create_producer(None)
    for _ in range(60):
        for _ in range(5):
            producer.send(queue, "x" * 1_000_000)
        producer.send(bad, body)
        with pytest.raises(TransactionRolledBackException):
            session.commit()
    producer.send(queue, "the last one")
    session.commit()
    assert receive_texts(connect(refusing).create_session().create_consumer(queue), 1) == ["the last one"]


@pytest.mark.parametrize("grouped", [False, True])
def test_a_broker_that_commits_what_it_refused_in_part(
    own_broker: StartBroker, connect: Connect, name: str, grouped: bool
) -> None:
    """By its option ``rollbackOnlyOnAsyncException``; then each message asks for an answer."""
    broker = own_broker("activemq", COMMITS_REFUSED, REFUSALS)
    queue, (bad, body, _) = Queue(f"open.{name}"), refused(name, "no right")
    options = {"send_confirmation": "group"} if grouped else {}
    connection, listener = connect(broker, **options), Completions()
    session = connection.create_session(transacted=not grouped)
    producer = session.create_producer(None)
    for _ in range(20):
        producer.send(queue, "a", completion_listener=listener)
        producer.send(bad, body, completion_listener=listener)  # the last one, whose refusal is reported late
        if grouped:
            listener.wait(len(listener.events) + 1)
        else:
            with pytest.raises(TransactionRolledBackException):
                session.commit()
    session.close()
    if grouped:
        assert sorted(outcomes(listener)) == [("completed", "a")] * 20 + [("failed", body)] * 20
    count = 20 if grouped else 0
    consumer = connect(broker).create_session().create_consumer(queue)
    assert receive_texts(consumer, count) == ["a"] * count
    assert_empty(consumer)


def test_a_full_queue_stops_senders_and_not_their_consumers(
    own_broker: StartBroker, connect: Connect, name: str
) -> None:
    """Over STOMP the broker reads nothing more from a socket while a queue is full; consumers have other sockets."""
    queue, listener = Queue(f"open.small.{name}"), Completions()
    connection = connect(own_broker("activemq", SMALL_QUEUES), send_confirmation="group")
    producer = connection.create_session().create_producer(queue)
    texts = [f"{number}{LARGE}" for number in range(120)]
    for text in texts:
        producer.send(text, completion_listener=listener)
    eventually(lambda: listener.events)
    assert len(listener.events) < 60
    assert receive_texts(connection.create_session().create_consumer(queue), 120) == texts
    listener.wait(120)
    assert [what for what, _ in outcomes(listener)] == ["completed"] * 120

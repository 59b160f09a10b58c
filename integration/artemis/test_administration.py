"""``Connection.admin`` on Artemis, by management messages over AMQP 1.0 and over STOMP."""

import importlib.util
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

import jmsbridge
from integration.lab.broker import Broker
from integration.networked.conftest import name
from integration.networked.connecting import connections
from jmsbridge import Connection, IllegalState, InvalidDestination, JMSSecurityException, Queue, Topic
from jmsbridge.administration import Administration
from jmsbridge.testing.suite.support import eventually, send_texts

__all__ = ["name"]

pytestmark = pytest.mark.broker("artemis")

Connect = Callable[..., Connection]


@pytest.fixture(params=["amqp", "stomp"])
def scheme(request: pytest.FixtureRequest) -> str:
    """The scheme of the URLs."""
    found: str = request.param
    if found == "amqp" and importlib.util.find_spec("proton") is None:
        pytest.skip("python-qpid-proton is not installed: pip install 'jmsbridge[amqp]' builds it")
    return found


@pytest.fixture
def connect(scheme: str) -> Iterator[Connect]:
    """Opens connections."""
    with connections(scheme) as begin:
        yield begin


def test_queues_are_created_counted_emptied_and_removed(artemis: Broker, connect: Connect, name: str) -> None:
    connection = connect(artemis)
    admin, orders, others = connection.admin, Queue(name), Queue(f"{name}-others")
    for _ in range(2):
        admin.create(orders)
    send_texts(connection.create_session(), orders, "a", "b", "c")
    assert admin.depth(orders) == 3
    assert admin.move(orders, others, limit=2) == 2
    assert (admin.depth(orders), admin.depth(others)) == (1, 2)
    assert admin.move(orders, others, limit=0) == 0
    assert admin.purge(others) == 2
    found = {info.destination: info for info in admin.list()}
    assert (found[orders].depth, found[others].depth) == (1, 0)
    assert found[orders].oldest is not None
    for queue in (orders, others):
        admin.remove(queue)
        assert admin.depth(queue) == 0
    assert not {orders, others} & {info.destination for info in admin.list()}


def test_lists_while_queues_are_deleted(artemis: Broker, connect: Connect, name: str) -> None:
    """Artemis fails when a queue vanishes while it makes the list."""
    over = threading.Event()

    def churn(admin: Administration, part: int) -> None:
        queues = [Queue(f"{name}-{part}-{number}") for number in range(20)]
        while not over.is_set():
            for act in (admin.create, admin.remove):
                for queue in queues:
                    act(queue)

    admin = connect(artemis).admin
    with ThreadPoolExecutor() as pool:
        parts = [pool.submit(churn, connect(artemis).admin, part) for part in range(2)]
        try:
            for _ in range(20):
                admin.list()
        finally:
            over.set()
    assert [part.exception() for part in parts] == [None, None]


def test_selectors_choose_by_headers_and_properties(artemis: Broker, connect: Connect, name: str) -> None:
    connection = connect(artemis)
    admin, queue, session = connection.admin, Queue(name), connection.create_session()
    producer = session.create_producer(queue)
    for number in range(6):
        message = session.create_text_message(str(number))
        message.set_int_property("n", number)
        message.jms_type = "odd" if number % 2 else "even"
        producer.send(message, priority=number)
    assert admin.purge(queue, "JMSType <> 7 OR größe IS NOT NULL") == 0  # a text is not comparable to a number
    assert admin.purge(queue, "n = 0 OR JMSPriority = 5") == 2
    assert admin.purge(queue, "JMSType = 'odd'") == 2
    assert admin.move(queue, Queue(f"{name}-to"), "n > 2") == 1
    assert admin.depth(queue) == 1


def test_what_a_consumer_holds_stays(artemis: Broker, connect: Connect, name: str) -> None:
    connection = connect(artemis)
    admin, queue = connection.admin, Queue(name)
    session = connection.create_session(jmsbridge.CLIENT_ACKNOWLEDGE)
    consumer = session.create_consumer(queue)
    sender = connection.create_session()
    send_texts(sender, queue, "held")
    held = consumer.receive(timeout=10.0)
    assert held is not None
    connection.stop()
    producer = sender.create_producer(queue)
    producer.delivery_delay = 60
    producer.send("later")
    eventually(lambda: admin.depth(queue) == 2, 10.0)
    assert admin.purge(queue) == 1
    assert admin.depth(queue) == 1
    with pytest.raises(IllegalState, match="consumers"):
        admin.remove(queue)
    held.acknowledge()


@pytest.mark.filterwarnings("ignore:.*checked within the process:jmsbridge.EmulationWarning")  # over STOMP
def test_topics_with_their_subscriptions(artemis: Broker, connect: Connect, scheme: str, name: str) -> None:
    connection = connect(artemis, client_id=f"{name}.client")
    admin, news, session = connection.admin, Topic(name), connection.create_session()
    admin.create(news)
    # both may have one name, except over STOMP, where the broker takes a subscription for a consumer of the queue then
    queue = Queue(f"{name}.queue" if scheme == "stomp" else name)
    admin.create(queue)
    consumer = session.create_durable_consumer(news, "own.one")
    session.create_shared_consumer(news, "many").close()
    other = connect(artemis)
    shared = other.create_session().create_shared_durable_consumer(news, "everybody's")
    send_texts(session, news, "a")
    listed = {
        (info.destination, info.depth, info.consumers, info.subscription, info.client_id)
        for info in admin.list()
        if info.destination.address.name.startswith(name)
    }
    assert listed == {
        (queue, 0, 0, None, None),
        (news, 0, 0, None, None),
        (news, 1, 1, "everybody's", None),
        (news, 1, 1, "own.one", f"{name}.client"),
    }
    with pytest.raises(InvalidDestination):  # the queue of a subscription is none of the user's
        admin.remove(Queue(f"{name}.client.own.one"))
    with pytest.raises(IllegalState, match="close them first"):
        admin.remove(news)
    consumer.close()
    shared.close()
    admin.remove(queue)
    admin.remove(news)
    assert name not in [info.destination.address.name for info in admin.list()]


def test_a_user_without_the_permission_is_told_which_one(
    artemis: Broker, connect: Connect, scheme: str, name: str
) -> None:
    guest = connect(artemis.url(scheme, user=None))
    with pytest.raises(JMSSecurityException, match="permission 'manage'"):
        guest.admin.list()
    send_texts(guest.create_session(), Queue(name), "the connection is still there")
    assert connect(artemis).admin.depth(Queue(name)) == 1


@pytest.mark.broker("activemq")
def test_a_broker_without_administration_says_so(activemq: Broker, connect: Connect, name: str) -> None:
    admin = connect(activemq).admin
    assert admin.dead_letters == Queue("ActiveMQ.DLQ")
    for act in (admin.list, lambda: admin.create(Queue(name)), lambda: admin.purge(Queue(name))):
        with pytest.raises(jmsbridge.UnsupportedFeature, match=r"Classic .* has no administration over (AMQP|STOMP)"):
            act()


def test_temporary_queues_are_deleted(artemis: Broker, connect: Connect) -> None:
    """At once by ``delete``, the others with their connection; also with messages that nobody has read."""
    admin, connection = connect(artemis).admin, connect(artemis)
    session = connection.create_session()
    deleted, kept, unused = (session.create_temporary_queue() for _ in range(3))
    for each in (deleted, kept):
        send_texts(session, each, "unread")

    def left() -> set[str]:
        return {each.address.name for each in admin.list()} & {each.queue_name for each in (deleted, kept, unused)}

    deleted.delete()
    assert left() == {kept.queue_name}
    connection.close()
    assert left() == set()


def test_temporary_topics_are_deleted(artemis: Broker, connect: Connect) -> None:
    connection = connect(artemis)
    session = connection.create_session()
    topic = session.create_temporary_topic()
    with session.create_consumer(topic) as consumer:
        send_texts(session, topic, "one")
        assert consumer.receive(timeout=5) is not None
    topic.delete()
    with pytest.raises(InvalidDestination, match="deleted"):
        send_texts(session, topic, "late")

"""Subscriptions on a real Pulsar: whose they are, what they are called, and what policies say of them."""

import time
from collections.abc import Callable, Iterator

import pytest

from integration.lab.broker import Broker
from integration.networked.conftest import name
from integration.networked.connecting import connect
from integration.pulsar.test_faults import path, url_of
from jmsbridge import Connection, IllegalState, InvalidDestination, Queue, Topic
from jmsbridge.testing.suite.support import receive_texts, send_texts

__all__ = ["connect", "name"]

pytestmark = pytest.mark.timeout(120)

Connect = Callable[..., Connection]


@pytest.fixture
def namespace(pulsar: Broker, name: str) -> Iterator[str]:
    """A namespace of the test's own."""
    made = f"public/{name}"
    pulsar.admin.put(f"/admin/v2/namespaces/{made}", {"replication_clusters": ["standalone"]})
    yield made
    pulsar.admin.delete(f"/admin/v2/namespaces/{made}?force=true")


def test_names_that_are_the_same_with_their_client_ids(pulsar: Broker, connect: Connect, name: str) -> None:
    """The broker has one subscription for ``a`` and ``b_c``, and for ``a_b`` and ``c``: the first one keeps it."""
    first = connect(url_of(pulsar), client_id=name).create_session()
    second = connect(url_of(pulsar), client_id=f"{name}_b").create_session()
    topic = Topic(name)
    first.create_durable_consumer(topic, "b_c").close()
    send_texts(first, topic, "kept")
    for other in (topic, Topic(f"{name}-other")):
        with pytest.raises(IllegalState, match="'b_c' of client id"):
            second.create_durable_consumer(other, "c")
    with pytest.raises(IllegalState, match="'b_c' of client id"):
        second.unsubscribe("c")
    with first.create_durable_consumer(topic, "b_c") as consumer:
        assert receive_texts(consumer, 1) == ["kept"]


def test_no_local_is_not_for_a_client_id_that_begins_with_another(pulsar: Broker, connect: Connect, name: str) -> None:
    topic = Topic(name)
    session = connect(url_of(pulsar), client_id=name).create_session()
    other = connect(url_of(pulsar), client_id=f"{name}_b").create_session()
    with session.create_consumer(topic, no_local=True) as consumer:
        send_texts(session, topic, "own")
        send_texts(other, topic, "other")
        assert receive_texts(consumer, 1) == ["other"]


@pytest.mark.parametrize(("kept", "removed"), [("x y", "x+y"), ("aA", "a%41"), ("p/q", "p%2Fq"), ("ü", "50%")])
def test_names_are_taken_literally(pulsar: Broker, connect: Connect, name: str, kept: str, removed: str) -> None:
    """The broker decodes names of subscriptions in paths twice."""
    session, topic = connect(url_of(pulsar), client_id=name).create_session(), Topic(name)
    for each in (kept, removed):
        session.create_durable_consumer(topic, each).close()
    send_texts(session, topic, "one")
    session.unsubscribe(removed)
    assert pulsar.admin.get(f"{path(name)}/subscriptions") == [f"{name}_{kept}"]
    with session.create_durable_consumer(topic, kept) as consumer:
        assert receive_texts(consumer, 1) == ["one"]


@pytest.mark.parametrize("key", ["ü/x", "a b/x", "ü/"])
def test_names_for_which_the_broker_never_answers(pulsar: Broker, connect: Connect, name: str, key: str) -> None:
    """They are refused at once; the calls hung for 15 or 30 seconds."""
    session, topic, began = connect(url_of(pulsar), client_id=name).create_session(), Topic(name), time.monotonic()
    with pytest.raises(InvalidDestination, match="slash"):
        session.create_durable_consumer(topic, key)
    with pytest.raises(InvalidDestination, match="slash"):
        session.create_shared_consumer(topic, key)
    with pytest.raises(InvalidDestination, match="slash"):
        session.unsubscribe(key)
    assert time.monotonic() - began < 5
    for works in (f"x/{key}", f"/{key}"):
        session.create_durable_consumer(topic, works).close()
        session.unsubscribe(works)


@pytest.mark.parametrize("damaged", ["{", "[]", '{"shared": 1}'])
def test_a_definition_that_cannot_be_read(pulsar: Broker, connect: Connect, name: str, damaged: str) -> None:
    """As one of a later version may be: it is refused until the application has unsubscribed it."""
    session, topic = connect(url_of(pulsar), client_id=name).create_session(), Topic(name)
    session.create_durable_consumer(topic, "sub").close()
    properties = {"jmsbridge.definition": damaged, "jmsbridge.client_id": name}
    pulsar.admin.put(f"{path(name)}/subscription/{name}_sub/properties", properties)
    with pytest.raises(IllegalState, match="unsubscribe it first"):
        session.create_durable_consumer(topic, "sub")
    session.unsubscribe("sub")
    session.create_durable_consumer(topic, "sub").close()


@pytest.mark.filterwarnings("ignore:.*client id:jmsbridge.EmulationWarning")
def test_a_namespace_where_nobody_makes_topics(pulsar: Broker, connect: Connect, namespace: str) -> None:
    """The topic that tells which topic a subscription is of is made by REST."""
    settings = {"allowAutoTopicCreation": False}
    pulsar.admin.post(f"/admin/v2/namespaces/{namespace}/autoTopicCreation", settings)
    pulsar.admin.put(path("t", namespace))
    session = connect(url_of(pulsar, namespace=namespace), client_id="id").create_session()
    topic = Topic("t")
    with (
        session.create_durable_consumer(topic, "one") as durable,
        session.create_shared_consumer(topic, "two") as shared,
    ):
        send_texts(session, topic, "text")
        assert receive_texts(durable, 1) == receive_texts(shared, 1) == ["text"]


@pytest.mark.filterwarnings("ignore:.*client id:jmsbridge.EmulationWarning")
def test_policies_that_allow_few_consumers(pulsar: Broker, connect: Connect, namespace: str) -> None:
    """They are no reason to refuse a send to a queue that has its consumer, nor a client id that nobody uses."""
    limits = f"/admin/v2/namespaces/{namespace}"
    pulsar.admin.post(f"{limits}/maxConsumersPerSubscription", 1)
    url, queue = url_of(pulsar, namespace=namespace), Queue("q")
    consumer = connect(url).create_session().create_consumer(queue)
    assert consumer.receive(timeout=0.5) is None
    send_texts(connect(url).create_session(), queue, "text")
    assert receive_texts(consumer, 1) == ["text"]
    with pytest.raises(IllegalState, match="policies allow no more"):
        connect(url).create_session().create_consumer(queue).receive(timeout=5)
    browsing = connect(url).create_session()
    send_texts(browsing, queue, "another")
    pulsar.admin.post(f"{limits}/maxConsumersPerTopic", 1)
    for number in range(3):
        connect(url, client_id=f"id{number}")
    with pytest.raises(IllegalState, match="policies allow no more"):
        list(browsing.create_browser(queue))

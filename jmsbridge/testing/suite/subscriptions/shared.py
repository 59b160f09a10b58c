"""Shared subscriptions, durable and non-durable: joining, conflicts, distribution (sections 8.3.2 and 8.3.4)."""

from collections.abc import Callable

import pytest

from jmsbridge import (
    CLIENT_ACKNOWLEDGE,
    IllegalStateException,
    InvalidDestinationException,
    MessageConsumer,
    Session,
    Topic,
)
from jmsbridge.spi import Native
from jmsbridge.testing.harness import Harness
from jmsbridge.testing.marks import pitfall, requires, rule
from jmsbridge.testing.suite.receiving.redelivery_support import returned, unseen
from jmsbridge.testing.suite.support import (
    LONG,
    Collector,
    assert_empty,
    eventually,
    receive_texts,
    send_texts,
    text_of,
)

RED = "colour = 'red'"

either_kind = pytest.mark.parametrize(
    "durable",
    [
        pytest.param(False, id="plain", marks=requires(Native.SHARED)),
        pytest.param(True, id="durable", marks=requires(Native.SHARED_DURABLE)),
    ],
)


def share(session: Session, durable: bool, topic: Topic, name: str, selector: str | None = None) -> MessageConsumer:
    """One more consumer of a shared subscription of either kind."""
    if durable:
        return session.create_shared_durable_consumer(topic, name, selector)
    return session.create_shared_consumer(topic, name, selector)


def take_turns(consumers: list[MessageConsumer], count: int) -> list[list[str]]:
    """The messages of each consumer when they receive in turns until ``count`` messages have come."""
    taken: list[list[str]] = [[] for _ in consumers]

    def one_round() -> bool:
        for consumer, texts in zip(consumers, taken, strict=True):
            message = consumer.receive(timeout=0.01)
            if message is not None:
                texts.append(text_of(message))
        return sum(map(len, taken)) >= count

    eventually(one_round)
    return taken


@rule("SU-1")
@either_kind
def test_shared_gives_each_message_to_one(harness: Harness, session: Session, topic: Topic, durable: bool) -> None:
    """Consumers of one name divide the messages; an unshared consumer and another name get their own copies."""
    name, other = harness.name("sub"), harness.name("sub")
    pair = [share(session, durable, topic, name) for _ in range(2)]
    alone = share(session, durable, topic, other)
    plain = session.create_consumer(topic)
    texts = [str(number) for number in range(6)]
    send_texts(session, topic, *texts)
    split = take_turns(pair, 6)
    assert sorted(split[0] + split[1]) == texts
    assert receive_texts(alone, 6) == texts
    assert receive_texts(plain, 6) == texts
    assert [consumer.receive_no_wait() for consumer in pair] == [None, None]


@rule("SU-4")
@either_kind
def test_shared_spans_connections(harness: Harness, topic: Topic, durable: bool) -> None:
    """A consumer on another connection joins; the subscription remains when the first connection is closed."""
    name = harness.name("sub")
    first, second = harness.connect(), harness.connect()
    share(first.create_session(), durable, topic, name)
    session = second.create_session()
    consumer = share(session, durable, topic, name)
    first.close()
    send_texts(session, topic, "a", "b")
    assert receive_texts(consumer, 2) == ["a", "b"]
    assert_empty(consumer)


@pitfall(29)
@either_kind
def test_shared_both_consumers_get_work(harness: Harness, session: Session, topic: Topic, durable: bool) -> None:
    """Two waiting consumers with the default prefetch both get messages."""
    name = harness.name("sub")
    consumers = [share(harness.connect().create_session(), durable, topic, name) for _ in range(2)]
    texts = [f"{number:02}" for number in range(20)]
    send_texts(session, topic, *texts)
    first, second = take_turns(consumers, 20)
    assert sorted(first + second) == texts
    assert first != []
    assert second != []


@pitfall(29)
@either_kind
def test_shared_both_listeners_get_work(harness: Harness, session: Session, topic: Topic, durable: bool) -> None:
    name = harness.name("sub")
    listeners = [Collector() for _ in range(2)]
    for listener in listeners:
        share(harness.connect().create_session(), durable, topic, name).message_listener = listener
    texts = [f"{number:02}" for number in range(20)]
    send_texts(session, topic, *texts)
    eventually(lambda: sum(len(listener.messages) for listener in listeners) >= 20)
    first, second = (listener.texts for listener in listeners)
    assert sorted(text or "" for text in first + second) == texts
    assert first != []
    assert second != []


@rule("SU-6")
@pitfall(26, 27)
@either_kind
@pytest.mark.parametrize("change", ["topic", "selector"])
def test_shared_clash_with_active_subscription(harness: Harness, topic: Topic, durable: bool, change: str) -> None:
    """While there is a consumer, the name is refused with another topic or selector; the consumer is not affected."""
    name = harness.name("sub")
    active_session, session = harness.connect().create_session(), harness.connect().create_session()
    active = share(active_session, durable, topic, name)
    selector = RED if change == "selector" else None
    with pytest.raises(IllegalStateException):
        share(session, durable, harness.topic() if change == "topic" else topic, name, selector)
    send_texts(session, topic, "colourless")
    assert receive_texts(active, 1) == ["colourless"]


@rule("SU-8")
@requires(Native.SHARED)
def test_shared_ends_with_its_last_consumer(session: Session, harness: Harness, topic: Topic) -> None:
    """A non-durable shared subscription ends with its last consumer: its name is free, its messages are gone."""
    name = harness.name("sub")
    first, second = (session.create_shared_consumer(topic, name) for _ in range(2))
    first.close()
    send_texts(session, topic, "still shared")
    assert receive_texts(second, 1) == ["still shared"]
    send_texts(session, topic, "gone")
    second.close()
    send_texts(session, topic, "unheard")
    with session.create_shared_consumer(topic, name) as again:
        assert_empty(again)
    session.create_shared_consumer(harness.topic(), name, RED).close()  # another topic and selector: no clash any more


@rule("SU-2")
@pitfall(27)
@requires(Native.DURABLE | Native.SHARED_DURABLE)
@pytest.mark.parametrize("active", [True, False])
@pytest.mark.parametrize("shared_first", [True, False])
def test_shared_durable_and_unshared_durable_exclude_each_other(
    harness: Harness, topic: Topic, shared_first: bool, active: bool
) -> None:
    """A durable name is either shared or unshared; using it the other way is refused, also without a consumer."""
    session = harness.connect(client_id=harness.name("client")).create_session()
    name = harness.name("sub")
    ways: list[Callable[[], MessageConsumer]] = [
        lambda: session.create_durable_consumer(topic, name),
        lambda: session.create_shared_durable_consumer(topic, name),
    ]
    if shared_first:
        ways.reverse()
    first = ways[0]()
    if not active:
        first.close()
    with pytest.raises(IllegalStateException):
        ways[1]()
    send_texts(session, topic, "kept")
    consumer = first if active else ways[0]()
    assert receive_texts(consumer, 1) == ["kept"]
    consumer.close()
    session.unsubscribe(name)


@rule("SU-2")
@pitfall(27)
@requires(Native.DURABLE | Native.SHARED | Native.SHARED_DURABLE)
@pytest.mark.parametrize("shared_durable", [True, False])
def test_shared_name_may_repeat_a_durable_name(harness: Harness, topic: Topic, shared_durable: bool) -> None:
    """A non-durable shared and a durable subscription may have the same name; each gets its own copies."""
    session = harness.connect(client_id=harness.name("client")).create_session()
    name = harness.name("sub")
    make = session.create_shared_durable_consumer if shared_durable else session.create_durable_consumer
    with make(topic, name) as durable, session.create_shared_consumer(topic, name, RED) as plain:
        message = session.create_text_message("red")
        message.set_string_property("colour", "red")
        session.create_producer(topic).send(message)
        assert receive_texts(durable, 1) == ["red"]
        assert receive_texts(plain, 1) == ["red"]
    session.unsubscribe(name)


@rule("SU-4")
@requires(Native.SHARED_DURABLE)
def test_shared_durable_keeps_its_backlog_without_client_id(harness: Harness, topic: Topic) -> None:
    """A shared durable subscription created without a client id can be resumed by any connection without one."""
    name = harness.name("sub")
    creator = harness.connect()
    session = creator.create_session()
    session.create_shared_durable_consumer(topic, name).close()
    send_texts(session, topic, "1", "2")
    creator.close()
    later = harness.connect().create_session()
    with later.create_shared_durable_consumer(topic, name) as consumer:
        assert receive_texts(consumer, 2) == ["1", "2"]
    later.unsubscribe(name)


@rule("SU-4")
@requires(Native.SHARED_DURABLE)
def test_shared_client_id_is_part_of_the_identity(harness: Harness, session: Session, topic: Topic) -> None:
    """A shared subscription created with a client id is only for that id; without, only for clients without one."""
    client_id, name = harness.name("client"), harness.name("sub")
    identified = harness.connect(client_id=client_id)
    identified.create_session().create_shared_durable_consumer(topic, name).close()
    identified.close()
    send_texts(session, topic, "for the identified")
    with session.create_shared_durable_consumer(topic, name) as anonymous:
        assert_empty(anonymous)
    session.unsubscribe(name)
    again = harness.connect(client_id=client_id).create_session()
    with again.create_shared_durable_consumer(topic, name) as consumer:
        assert receive_texts(consumer, 1) == ["for the identified"]
    again.unsubscribe(name)


@rule("SU-4")
@requires(Native.SHARED)
def test_shared_names_of_two_clients_do_not_meet(harness: Harness, session: Session, topic: Topic) -> None:
    """The same name under different client ids, or with and without one, means different subscriptions."""
    name = harness.name("sub")
    consumers = [
        harness.connect(client_id=harness.name("client")).create_session().create_shared_consumer(topic, name)
        for _ in range(2)
    ]
    consumers.append(session.create_shared_consumer(topic, name))
    send_texts(session, topic, "everybody")
    assert [receive_texts(consumer, 1) for consumer in consumers] == [["everybody"]] * 3


@rule("SU-6", "SU-7")
@pitfall(26)
@requires(Native.SHARED_DURABLE)
@pytest.mark.parametrize("change", ["topic", "selector"])
def test_shared_durable_change_while_inactive_starts_afresh(
    harness: Harness, session: Session, topic: Topic, change: str
) -> None:
    name = harness.name("sub")
    session.create_shared_durable_consumer(topic, name).close()
    send_texts(session, topic, "old")
    new_topic = harness.topic() if change == "topic" else topic
    selector = "colour IS NULL" if change == "selector" else None
    with session.create_shared_durable_consumer(new_topic, name, selector) as changed:
        send_texts(session, new_topic, "new")
        assert receive_texts(changed, 1) == ["new"]
        assert_empty(changed)
    session.unsubscribe(name)


@rule("SU-5")
@pitfall(27)
@requires(Native.SHARED_DURABLE)
def test_shared_durable_unsubscribe(harness: Harness, session: Session, topic: Topic) -> None:
    """unsubscribe is refused while one of two consumers is open; afterwards the subscription is deleted."""
    name = harness.name("sub")
    first, second = (session.create_shared_durable_consumer(topic, name) for _ in range(2))
    first.close()
    with pytest.raises(IllegalStateException):
        session.unsubscribe(name)
    second.close()
    send_texts(session, topic, "forgotten")
    session.unsubscribe(name)
    with pytest.raises(InvalidDestinationException):
        session.unsubscribe(name)
    with session.create_shared_durable_consumer(topic, name) as fresh:
        assert_empty(fresh)
    session.unsubscribe(name)


@rule("SU-4", "AC-10", "AC-12")
@either_kind
def test_shared_closed_consumer_leaves_its_messages_to_the_others(
    harness: Harness, session: Session, topic: Topic, durable: bool
) -> None:
    """Unacknowledged and prefetched messages of a closed session go to the other consumers."""
    name = harness.name("sub")
    leaving = harness.connect().create_session(acknowledge_mode=CLIENT_ACKNOWLEDGE)
    consumer = share(leaving, durable, topic, name)
    send_texts(session, topic, "1", "2", "3", "4")
    assert consumer.receive(timeout=LONG) is not None
    staying = share(session, durable, topic, name)
    leaving.close()
    left = [staying.receive(timeout=LONG) for _ in range(4)]
    flags = {message.get_body(str): message.jms_redelivered for message in left if message is not None}
    assert flags == dict([returned(harness, "1")[:2], *(unseen(harness, text)[:2] for text in "234")])


@rule("SU-1")
@either_kind
def test_shared_selector(harness: Harness, session: Session, topic: Topic, durable: bool) -> None:
    name = harness.name("sub")
    pair = [share(session, durable, topic, name, RED) for _ in range(2)]
    with session.create_producer(topic) as producer:
        for number, colour in enumerate(("red", "green", "red", "green")):
            message = session.create_text_message(f"{colour}-{number}")
            message.set_string_property("colour", colour)
            producer.send(message)
    first, second = take_turns(pair, 2)
    assert sorted(first + second) == ["red-0", "red-2"]
    assert [consumer.receive_no_wait() for consumer in pair] == [None, None]

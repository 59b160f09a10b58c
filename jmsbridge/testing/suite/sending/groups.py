"""Message groups: JMSXGroupID and JMSXGroupSeq, and where a broker keeps a group with one consumer (section 3.5.9)."""

import pytest

from jmsbridge import Message, Queue, Session, Topic, UnsupportedFeature
from jmsbridge.spi import Native
from jmsbridge.testing.harness import Harness
from jmsbridge.testing.marks import requires, rule
from jmsbridge.testing.suite.support import LONG, Collector, assert_empty, eventually, grouping, receive_texts
from jmsbridge.values import Int


def send_grouped(session: Session, queue: Queue, *items: tuple[str, str]) -> None:
    """One text message per (group, text)."""
    with session.create_producer(queue) as producer:
        for group, text in items:
            message = session.create_text_message(text)
            message.set_string_property("JMSXGroupID", group)
            producer.send(message)


def groups_of(messages: list[Message]) -> dict[str | None, list[str | None]]:
    """The texts of each group, in delivery order."""
    found: dict[str | None, list[str | None]] = {}
    for message in messages:
        found.setdefault(message.get_string_property("JMSXGroupID"), []).append(message.get_body(str))
    return found


@rule("JX-2")
@pytest.mark.parametrize("kind", ["queue", "topic"])
def test_group_properties_arrive_as_set(harness: Harness, queue: Queue, topic: Topic, kind: str) -> None:
    """A string and an int, on queues and on topics, with their types."""
    session = grouping(harness)
    destination = queue if kind == "queue" else topic
    consumer = session.create_consumer(destination)
    message = session.create_text_message("grouped")
    message.set_string_property("JMSXGroupID", "group-é")
    message.set_int_property("JMSXGroupSeq", 3)
    session.create_producer(destination).send(message)
    got = consumer.receive(timeout=LONG)
    assert got is not None
    assert got.get_string_property("JMSXGroupID") == "group-é"
    assert got.get_int_property("JMSXGroupSeq") == 3
    assert type(got.get_object_property("JMSXGroupSeq")) is Int
    assert {"JMSXGroupID", "JMSXGroupSeq"} <= set(got.property_names)


@rule("JX-2")
def test_group_properties_may_be_absent(session: Session, queue: Queue) -> None:
    session.create_producer(queue).send(session.create_text_message("alone"))
    got = session.create_consumer(queue).receive(timeout=LONG)
    assert got is not None
    assert got.get_string_property("JMSXGroupID") is None
    assert got.property_exists("JMSXGroupSeq") is False


@rule("JX-2", "JX-3")
@requires(Native.QUEUE_SELECTORS)
def test_group_selects_like_any_property(harness: Harness, queue: Queue) -> None:
    session = grouping(harness)
    send_grouped(session, queue, ("a", "a1"), ("b", "b1"), ("a", "a2"))
    with session.create_consumer(queue, "JMSXGroupID = 'b'") as consumer:
        assert receive_texts(consumer, 1) == ["b1"]
        assert consumer.receive_no_wait() is None
    rest = session.create_consumer(queue, "JMSXGroupID = 'a' AND JMSXGroupSeq IS NULL")
    assert receive_texts(rest, 2) == ["a1", "a2"]


@rule("JX-2")
@requires(Native.GROUPS)
def test_group_is_asked_for_by_its_property(session: Session, queue: Queue) -> None:
    """If the broker does not support groups, the send is refused, and nothing is sent."""
    try:
        send_grouped(session, queue, ("g", "1"))
    except UnsupportedFeature:
        assert_empty(session.create_consumer(queue))
        raise
    assert receive_texts(session.create_consumer(queue), 1) == ["1"]


@rule("JX-2")
@requires(Native.GROUPS, native=True)
def test_group_stays_with_one_consumer(harness: Harness, session: Session, queue: Queue) -> None:
    """Each group goes to one of two waiting consumers, whole and in order, and both get groups."""
    listeners = [Collector(), Collector()]
    for listener in listeners:
        harness.connect().create_session().create_consumer(queue).message_listener = listener
    names = [f"g{number}" for number in range(6)]
    send_grouped(session, queue, *((group, f"{group}-{step}") for step in range(4) for group in names))
    eventually(lambda: sum(len(listener.messages) for listener in listeners) >= 24)
    first, second = (groups_of(listener.messages) for listener in listeners)
    assert set(first) & set(second) == set()
    assert first | second == {group: [f"{group}-{step}" for step in range(4)] for group in names}
    assert first != {}
    assert second != {}


@rule("JX-2")
@requires(Native.GROUPS, native=True)
def test_group_waits_for_its_consumer(harness: Harness, session: Session, queue: Queue) -> None:
    """A message of a group whose consumer is busy is not delivered to an idle one."""
    consumers = [harness.connect().create_session().create_consumer(queue, prefetch=1) for _ in range(2)]
    send_grouped(session, queue, ("g", "1"))
    owner = next(consumer for _ in range(500) for consumer in consumers if consumer.receive(timeout=0.01) is not None)
    idle = next(consumer for consumer in consumers if consumer is not owner)
    send_grouped(session, queue, ("g", "2"), ("g", "3"), ("h", "other group"))
    assert receive_texts(idle, 1) == ["other group"]
    assert receive_texts(owner, 2) == ["2", "3"]
    assert idle.receive_no_wait() is None


@rule("JX-2")
@requires(Native.GROUPS, native=True)
def test_group_moves_when_its_consumer_closes(harness: Harness, session: Session, queue: Queue) -> None:
    """After its consumer was closed, a group's messages go to another one, prefetched messages included."""
    sessions = [harness.connect().create_session() for _ in range(2)]
    owner = sessions[0].create_consumer(queue)
    send_grouped(session, queue, ("g", "1"), ("g", "2"))
    assert receive_texts(owner, 1) == ["1"]
    other = sessions[1].create_consumer(queue)
    send_grouped(session, queue, ("g", "3"))
    assert other.receive_no_wait() is None
    owner.close()
    send_grouped(session, queue, ("g", "4"))
    assert receive_texts(other, 3) == ["2", "3", "4"]

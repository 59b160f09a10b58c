"""Durable and non-durable subscriptions: copies, names, unsubscribing, no_local (sections 4.2 and 8.3)."""

from collections.abc import Callable

import pytest

from jmsbridge import (
    CLIENT_ACKNOWLEDGE,
    Connection,
    IllegalStateException,
    IllegalStateRuntimeException,
    InvalidDestination,
    InvalidDestinationException,
    InvalidDestinationRuntimeException,
    JMSException,
    MessageConsumer,
    Session,
    Topic,
)
from jmsbridge.spi import Native
from jmsbridge.testing.harness import Harness
from jmsbridge.testing.marks import pitfall, requires, rule
from jmsbridge.testing.suite.support import assert_empty, receive_texts, send_coloured, send_texts


def identified(harness: Harness, client_id: str | None = None) -> Connection:
    """A started connection with this client id, or with a new one."""
    return harness.connect(client_id=client_id or harness.name("client"))


@rule("SU-1")
@requires(Native.DURABLE)
def test_dur_each_subscription_gets_its_own_copy(harness: Harness, session: Session, topic: Topic) -> None:
    """Each durable or non-durable subscription gets its own copy of every matching message."""
    owner = identified(harness).create_session()
    first = owner.create_durable_consumer(topic, harness.name("a"))
    second = owner.create_durable_consumer(topic, harness.name("b"), "colour = 'red'")
    plain = session.create_consumer(topic)
    send_coloured(session, topic, "red", "green", "red")
    assert receive_texts(first, 3) == ["red", "green", "red"]
    assert receive_texts(second, 2) == ["red", "red"]
    assert receive_texts(plain, 3) == ["red", "green", "red"]
    assert_empty(second)


@rule("SU-1")
def test_dur_nothing_from_before_it_existed(session: Session, topic: Topic) -> None:
    witness = session.create_consumer(topic)
    send_texts(session, topic, "early")
    assert receive_texts(witness, 1) == ["early"]
    late = session.create_consumer(topic)
    send_texts(session, topic, "on time")
    assert receive_texts(late, 1) == ["on time"]
    assert receive_texts(witness, 1) == ["on time"]


@rule("SU-1")
def test_dur_each_plain_consumer_is_a_subscription_of_its_own(session: Session, topic: Topic) -> None:
    """Two consumers of one topic in one session do not share: both get everything."""
    consumers = [session.create_consumer(topic) for _ in range(2)]
    send_texts(session, topic, "a", "b")
    assert [receive_texts(consumer, 2) for consumer in consumers] == [["a", "b"], ["a", "b"]]


@rule("SU-8")
def test_dur_plain_subscription_ends_with_its_consumer(session: Session, topic: Topic) -> None:
    """After a non-durable consumer was closed, the next one does not get its messages, nor those sent meanwhile."""
    send_first = session.create_consumer(topic)
    send_texts(session, topic, "waiting")
    send_first.close()
    send_texts(session, topic, "in between")
    fresh = session.create_consumer(topic)
    send_texts(session, topic, "new")
    assert receive_texts(fresh, 1) == ["new"]
    assert_empty(fresh)


@rule("SU-1")
@requires(Native.DURABLE)
def test_dur_backlog_outlives_its_connection(harness: Harness, session: Session, topic: Topic) -> None:
    """Messages sent while there is no consumer wait, in order, for the next connection with the same client id."""
    client_id, name = harness.name("client"), harness.name("sub")
    owner = identified(harness, client_id)
    before = owner.create_session().create_durable_consumer(topic, name)
    send_texts(session, topic, "1")
    assert receive_texts(before, 1) == ["1"]
    owner.close()
    send_texts(session, topic, "2", "3")
    later = identified(harness, client_id).create_session()
    with later.create_durable_consumer(topic, name) as consumer:
        send_texts(session, topic, "4")
        assert receive_texts(consumer, 3) == ["2", "3", "4"]
    later.unsubscribe(name)


@rule("SU-3")
@requires(Native.DURABLE)
def test_dur_names_may_be_long(harness: Harness, topic: Topic) -> None:
    """128 letters, digits, underscores, dots and minus signs; the last character counts."""
    session = identified(harness).create_session()
    stem = (harness.name("S_ub.x") + "-aZ09_." * 20)[:127]
    names = [stem + "a", stem + "b"]
    assert [len(name) for name in names] == [128, 128]
    session.create_durable_consumer(topic, names[0]).close()
    send_texts(session, topic, "first")
    session.create_durable_consumer(topic, names[1]).close()
    send_texts(session, topic, "both")
    for name, expected in zip(names, (["first", "both"], ["both"]), strict=True):
        with session.create_durable_consumer(topic, name) as consumer:
            assert receive_texts(consumer, len(expected)) == expected
        session.unsubscribe(name)


@pitfall(28)
@pytest.mark.parametrize("form", ["consumer", "subscriber", "context"])
def test_dur_needs_a_client_id(harness: Harness, session: Session, topic: Topic, form: str) -> None:
    """Creating an unshared durable subscription without a client id raises IllegalState."""
    if form == "context":
        context = harness.context()
        with pytest.raises(IllegalStateRuntimeException):
            context.create_durable_consumer(topic, "sub")
        return
    create: Callable[[Topic, str], MessageConsumer] = (
        session.create_durable_consumer if form == "consumer" else session.create_durable_subscriber
    )
    with pytest.raises(IllegalStateException):
        create(topic, "sub")


@rule("SU-5")
@pitfall(28)
@requires(Native.DURABLE)
def test_dur_unsubscribe_unknown_name(harness: Harness, session: Session) -> None:
    """Unsubscribing an unknown name raises InvalidDestination, with and without a client id, in both APIs."""
    unknown = harness.name("unknown")
    with pytest.raises(InvalidDestinationException):
        session.unsubscribe(unknown)
    with pytest.raises(InvalidDestinationException):
        identified(harness).create_session().unsubscribe(unknown)
    with pytest.raises(InvalidDestinationRuntimeException):
        harness.context(client_id=harness.name("client")).unsubscribe(unknown)


@rule("SU-5")
@requires(Native.DURABLE)
def test_dur_unsubscribe_needs_inactivity(harness: Harness, topic: Topic) -> None:
    """unsubscribe is refused while there is a consumer, which is not affected, and works after its close, once."""
    session = identified(harness).create_session()
    name = harness.name("sub")
    consumer = session.create_durable_consumer(topic, name)
    with pytest.raises(IllegalStateException):
        session.unsubscribe(name)
    send_texts(session, topic, "alive")
    assert receive_texts(consumer, 1) == ["alive"]
    consumer.close()
    session.unsubscribe(name)
    with pytest.raises(InvalidDestinationException):
        session.unsubscribe(name)


@rule("SU-5")
@requires(Native.DURABLE)
def test_dur_unsubscribe_needs_acknowledged_messages(harness: Harness, topic: Topic) -> None:
    """unsubscribe is refused while a closed consumer's message is unacknowledged."""
    session = identified(harness).create_session(acknowledge_mode=CLIENT_ACKNOWLEDGE)
    name = harness.name("sub")
    consumer = session.create_durable_consumer(topic, name)
    send_texts(session, topic, "held")
    message = consumer.receive(timeout=5)
    assert message is not None
    consumer.close()
    with pytest.raises(IllegalStateException):
        session.unsubscribe(name)
    message.acknowledge()
    session.unsubscribe(name)


@rule("SU-5")
@requires(Native.DURABLE | Native.TRANSACTIONS)
def test_dur_unsubscribe_needs_committed_messages(harness: Harness, session: Session, topic: Topic) -> None:
    transacted = identified(harness).create_session(transacted=True)
    name = harness.name("sub")
    consumer = transacted.create_durable_consumer(topic, name)
    send_texts(session, topic, "uncommitted")
    assert receive_texts(consumer, 1) == ["uncommitted"]
    consumer.close()
    with pytest.raises(IllegalStateException):
        transacted.unsubscribe(name)
    transacted.commit()
    transacted.unsubscribe(name)


@rule("AC-11")
@requires(Native.DURABLE)
@pytest.mark.parametrize("transacted", [False, pytest.param(True, marks=requires(Native.TRANSACTIONS))])
@pytest.mark.parametrize("keeps", [True, False])
def test_dur_opened_again_with_unsettled_messages(
    harness: Harness, session: Session, topic: Topic, transacted: bool, keeps: bool
) -> None:
    """A closed consumer is no active one: the next one goes on, and a session settles or redelivers what both got."""
    owner = identified(harness).create_session(transacted, CLIENT_ACKNOWLEDGE)
    name = harness.name("sub")
    consumer = owner.create_durable_consumer(topic, name)
    send_texts(session, topic, "1", "2", "3")
    assert receive_texts(consumer, 1) == ["1"]
    consumer.close()
    consumer = owner.create_durable_consumer(topic, name)
    assert receive_texts(consumer, 1) == ["2"]
    if not keeps:
        (owner.rollback if transacted else owner.recover)()
    rest = ["3"] if keeps else ["1", "2", "3"]
    assert sorted(receive_texts(consumer, len(rest))) == rest
    (owner.commit if transacted else owner.acknowledge)()
    assert_empty(consumer)
    consumer.close()
    owner.unsubscribe(name)


@rule("SU-5", "SU-8")
@requires(Native.DURABLE)
def test_dur_unsubscribe_deletes_the_backlog(harness: Harness, topic: Topic) -> None:
    """After unsubscribe, a subscription of the same name is new and empty."""
    session = identified(harness).create_session()
    name = harness.name("sub")
    session.create_durable_consumer(topic, name).close()
    send_texts(session, topic, "forgotten")
    session.unsubscribe(name)
    with session.create_durable_consumer(topic, name) as consumer:
        send_texts(session, topic, "new")
        assert receive_texts(consumer, 1) == ["new"]
        assert_empty(consumer)
    session.unsubscribe(name)


@rule("SU-6")
@pitfall(26)
@requires(Native.DURABLE)
@pytest.mark.parametrize("change", ["nothing", "selector", "no_local"])
def test_dur_active_consumer_excludes_a_second(harness: Harness, topic: Topic, change: str) -> None:
    """A second consumer of an unshared durable subscription is refused, and the first one is not affected."""
    session = identified(harness).create_session()
    name = harness.name("sub")
    active = session.create_durable_consumer(topic, name)
    selector = "colour = 'red'" if change == "selector" else None
    with pytest.raises(JMSException if change == "no_local" else IllegalStateException):  # some have no no_local
        session.create_durable_consumer(topic, name, selector, change == "no_local")
    send_coloured(session, topic, "green")
    assert receive_texts(active, 1) == ["green"]
    active.close()
    session.unsubscribe(name)


@rule("SU-6")
@pitfall(27)
@requires(Native.DURABLE)
def test_dur_other_topic_while_active_clashes(harness: Harness, topic: Topic) -> None:
    """The same name on another topic is the same subscription, so it is refused while it has a consumer."""
    session = identified(harness).create_session()
    name = harness.name("sub")
    active = session.create_durable_consumer(topic, name)
    with pytest.raises(IllegalStateException):
        session.create_durable_consumer(harness.topic(), name)
    send_texts(session, topic, "undisturbed")
    assert receive_texts(active, 1) == ["undisturbed"]


@rule("SU-6", "SU-7")
@pitfall(26)
@requires(Native.DURABLE)
@pytest.mark.parametrize("change", ["topic", "selector", pytest.param("no_local", marks=requires(Native.NO_LOCAL))])
def test_dur_change_while_inactive_starts_afresh(harness: Harness, session: Session, topic: Topic, change: str) -> None:
    """Another topic, selector or no_local replaces the subscription: its messages are gone, also for the old form."""
    owner = identified(harness).create_session()
    name = harness.name("sub")
    owner.create_durable_consumer(topic, name).close()
    send_coloured(session, topic, "red")
    new_topic = harness.topic() if change == "topic" else topic
    selector = "colour = 'red'" if change == "selector" else None
    with owner.create_durable_consumer(new_topic, name, selector, change == "no_local") as changed:
        send_coloured(session, new_topic, "green", "red")
        expected = ["red"] if change == "selector" else ["green", "red"]
        assert receive_texts(changed, len(expected)) == expected
        assert_empty(changed)
    with owner.create_durable_consumer(topic, name) as old_form:
        assert_empty(old_form)
    owner.unsubscribe(name)


@rule("SU-7")
@requires(Native.DURABLE)
def test_dur_wider_selector_brings_nothing_back(harness: Harness, topic: Topic) -> None:
    """A message that an earlier selector did not match is not delivered after changing to a wider one."""
    session = identified(harness).create_session()
    name = harness.name("sub")
    session.create_durable_consumer(topic, name, "colour = 'red'").close()
    send_coloured(session, topic, "green", "red")
    with session.create_durable_consumer(topic, name, "colour IN ('red', 'green')") as wider:
        send_coloured(session, topic, "red")
        assert receive_texts(wider, 1) == ["red"]
        assert_empty(wider)
    session.unsubscribe(name)


@rule("SU-7")
@requires(Native.DURABLE)
def test_dur_resubscribing_alike_keeps_the_backlog(harness: Harness, session: Session, topic: Topic) -> None:
    """Resubscribing with the same selector and no_local keeps the messages."""
    no_local = Native.NO_LOCAL in harness.native
    owner = identified(harness).create_session()
    name = harness.name("sub")
    for number in range(3):
        with owner.create_durable_consumer(topic, name, "colour = 'red'", no_local) as consumer:
            expected = ["red"] if number else []
            assert receive_texts(consumer, len(expected)) == expected
        send_coloured(session, topic, "red", "green")
    owner.unsubscribe(name)


@rule("SU-6")
@requires(Native.DURABLE)
def test_dur_another_client_id_is_another_subscription(harness: Harness, session: Session, topic: Topic) -> None:
    """The same name under two client ids: each gets its copy, and ending one leaves the other."""
    name = harness.name("sub")
    first, second = (identified(harness).create_session() for _ in range(2))
    first.create_durable_consumer(topic, name).close()
    with second.create_durable_consumer(topic, name) as consumer:
        send_texts(session, topic, "copy")
        first.unsubscribe(name)
        assert receive_texts(consumer, 1) == ["copy"]
    second.unsubscribe(name)


@rule("SU-2")
@requires(Native.DURABLE)
def test_dur_subscriber_and_consumer_are_one_space(harness: Harness, topic: Topic) -> None:
    """create_durable_subscriber and create_durable_consumer reach the same subscription."""
    session = identified(harness).create_session()
    name = harness.name("sub")
    session.create_durable_subscriber(topic, name).close()
    send_texts(session, topic, "kept")
    with session.create_durable_consumer(topic, name) as consumer:
        with pytest.raises(IllegalStateException):
            session.create_durable_subscriber(topic, name)
        assert receive_texts(consumer, 1) == ["kept"]
    session.unsubscribe(name)


@rule("SU-9")
@requires(Native.TEMPORARY)
def test_dur_on_a_temporary_topic(harness: Harness) -> None:
    session = identified(harness).create_session()
    temporary = session.create_temporary_topic()
    with pytest.raises(InvalidDestination):
        session.create_durable_consumer(temporary, harness.name("sub"))


@rule("SU-10")
def test_dur_topic_names_have_no_patterns(harness: Harness, session: Session) -> None:
    """Dots in a topic's name have no meaning: a consumer of ``a`` does not get messages to ``a.b``."""
    stem = harness.name("tree")
    parent, child, sibling = (session.create_topic(stem + suffix) for suffix in ("", ".a", ".b"))
    consumers = {str(topic): session.create_consumer(topic) for topic in (parent, child, sibling)}
    send_texts(session, child, "for the child")
    send_texts(session, parent, "for the parent")
    send_texts(session, sibling, "for the sibling")
    received = {name[len(stem) :]: receive_texts(consumer, 1) for name, consumer in consumers.items()}
    assert received == {"": ["for the parent"], ".a": ["for the child"], ".b": ["for the sibling"]}


@pitfall(31)
@requires(Native.DURABLE | Native.NO_LOCAL)
def test_dur_no_local_hides_the_own_connection(harness: Harness, session: Session, topic: Topic) -> None:
    """With no_local a consumer does not get messages sent by any session of its connection, but those of others."""
    connection = identified(harness)
    owner, sibling = connection.create_session(), connection.create_session()
    name = harness.name("sub")
    with owner.create_durable_consumer(topic, name, None, True) as consumer:
        send_texts(owner, topic, "own")
        send_texts(sibling, topic, "sibling")
        send_texts(session, topic, "foreign")
        assert receive_texts(consumer, 1) == ["foreign"]
        assert_empty(consumer)
    owner.unsubscribe(name)


@pitfall(31)
@requires(Native.DURABLE | Native.NO_LOCAL)
def test_dur_no_local_covers_the_client_id(harness: Harness, session: Session, topic: Topic) -> None:
    """With no_local a consumer does not get messages that an earlier connection with its client id sent."""
    client_id, name = harness.name("client"), harness.name("sub")
    earlier = identified(harness, client_id)
    earlier_session = earlier.create_session()
    earlier_session.create_durable_consumer(topic, name, None, True).close()
    send_texts(earlier_session, topic, "same client id")
    send_texts(session, topic, "foreign")
    earlier.close()
    later = identified(harness, client_id).create_session()
    with later.create_durable_consumer(topic, name, None, True) as consumer:
        assert receive_texts(consumer, 1) == ["foreign"]
        assert_empty(consumer)
    later.unsubscribe(name)


@pitfall(31)
@requires(Native.DURABLE | Native.NO_LOCAL)
def test_dur_no_local_with_selector(harness: Harness, session: Session, topic: Topic) -> None:
    """Both conditions hold together, also when the selector is an OR."""
    owner = identified(harness).create_session()
    name = harness.name("sub")
    with owner.create_durable_consumer(topic, name, "colour = 'red' OR colour = 'blue'", True) as consumer:
        send_coloured(owner, topic, "red", "blue", "green")
        send_coloured(session, topic, "green", "blue", "red")
        assert receive_texts(consumer, 2) == ["blue", "red"]
        assert_empty(consumer)
    owner.unsubscribe(name)

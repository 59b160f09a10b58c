"""Messages that come again over the next link: marked if the application had them, whatever was settled."""

import pytest

from jmsbridge import (
    AUTO_ACKNOWLEDGE,
    CLIENT_ACKNOWLEDGE,
    DUPS_OK_ACKNOWLEDGE,
    INDIVIDUAL_ACKNOWLEDGE,
    PRE_ACKNOWLEDGE,
    SESSION_TRANSACTED,
    Message,
    MessageConsumer,
    MessageFormatException,
    Queue,
    Session,
    Topic,
)
from jmsbridge.spi import Address
from jmsbridge.testing.marks import rule
from jmsbridge.testing.scripted import Call, ScriptedBackend, ScriptedSubscription, text_envelope
from jmsbridge.testing.suite.support import LONG, Collector, eventually, receive_texts
from tests.core.conftest import Connect

QUEUE = Queue("orders")
ADDRESS = Address("orders")
MODES = [
    AUTO_ACKNOWLEDGE,
    CLIENT_ACKNOWLEDGE,
    DUPS_OK_ACKNOWLEDGE,
    INDIVIDUAL_ACKNOWLEDGE,
    PRE_ACKNOWLEDGE,
    SESSION_TRANSACTED,
]


def _deliver(subscription: ScriptedSubscription, *texts: str) -> None:
    """Deliver them unmarked, as brokers do that do not count what a lost connection had."""
    subscription.deliver(*(text_envelope(ADDRESS, text) for text in texts))


def _next_link(backend: ScriptedBackend, subscriptions: int = 1) -> None:
    """Cut the link; wait until the next one has granted credit."""
    number = len(backend.links) + 1
    backend.link.cut()
    eventually(lambda: len(backend.links) == number and backend.script.verbs(number).count("grant") == subscriptions)


def _marks(messages: list[Message | None]) -> list[tuple[bool, int]]:
    """JMSRedelivered and JMSXDeliveryCount."""
    assert None not in messages
    return [(one.jms_redelivered, one.get_int_property("JMSXDeliveryCount")) for one in messages if one is not None]


def _receive(consumer: MessageConsumer, count: int) -> list[tuple[bool, int]]:
    return _marks([consumer.receive(timeout=LONG) for _ in range(count)])


def _finish(session: Session, last: Message | None) -> None:
    """Acknowledge or commit what was received."""
    assert last is not None
    if session.transacted:
        session.commit()
    else:
        last.acknowledge()


@rule("HD-8", "JX-1")
@pytest.mark.parametrize("mode", MODES)
def test_settled_messages_that_come_again_are_marked(backend: ScriptedBackend, connect: Connect, mode: int) -> None:
    """The broker was killed before their settlements took effect."""
    session = connect().create_session(session_mode=mode)
    consumer = session.create_consumer(QUEUE)
    _deliver(backend.subscription, *"abc")
    received = [consumer.receive(timeout=LONG) for _ in range(3)]
    assert _marks(received) == [(False, 1)] * 3
    _finish(session, received[-1])
    _next_link(backend)
    _deliver(backend.subscription, *"abcd")
    assert _receive(consumer, 4) == [(True, 2), (True, 2), (True, 2), (False, 1)]


@rule("HD-8", "JX-1")
def test_a_listeners_messages_that_come_again_are_marked(backend: ScriptedBackend, connect: Connect) -> None:
    listener = Collector()
    session = connect().create_session()
    session.create_consumer(QUEUE).message_listener = listener
    _deliver(backend.subscription, *"abc")
    listener.wait(3)
    eventually(lambda: len(backend.settled) == 3)
    _next_link(backend)
    _deliver(backend.subscription, *"abcd")
    assert _marks([*listener.wait(7)[3:]]) == [(True, 2), (True, 2), (True, 2), (False, 1)]


def test_they_are_marked_over_several_losses(backend: ScriptedBackend, connect: Connect) -> None:
    """The first link that comes back may be lost before it delivers anything."""
    consumer = connect().create_session().create_consumer(QUEUE)
    _deliver(backend.subscription, *"ab")
    assert receive_texts(consumer, 2) == ["a", "b"]
    for _ in range(3):
        _next_link(backend)
    _deliver(backend.subscription, *"abc")
    assert _receive(consumer, 3) == [(True, 2), (True, 2), (False, 1)]


def test_a_bounded_number_is_remembered(backend: ScriptedBackend, connect: Connect) -> None:
    """What can be in flight: twice the prefetch, and at least a hundred."""
    consumer = connect(prefetch=10).create_session().create_consumer(QUEUE)
    texts = [str(number) for number in range(300)]
    _deliver(backend.subscription, *texts)
    assert receive_texts(consumer, 300) == texts
    _next_link(backend)
    _deliver(backend.subscription, *texts)
    assert [mark for mark, _ in _receive(consumer, 300)] == [False] * 200 + [True] * 100


def test_messages_that_the_application_did_not_get_are_not_marked(backend: ScriptedBackend, connect: Connect) -> None:
    consumer = connect().create_session().create_consumer(QUEUE)
    _deliver(backend.subscription, *"abc")
    assert receive_texts(consumer, 1) == ["a"]
    _next_link(backend)
    _deliver(backend.subscription, *"abc")
    assert _receive(consumer, 3) == [(True, 2), (False, 1), (False, 1)]


@rule("BO-18")
def test_a_message_whose_body_was_refused_is_not_marked(backend: ScriptedBackend, connect: Connect) -> None:
    """It is the next one again; the application did not receive it."""
    consumer = connect().create_session().create_consumer(QUEUE)
    _deliver(backend.subscription, "a")
    with pytest.raises(MessageFormatException):
        consumer._take(LONG, lambda message: message.get_body(bytes))
    _next_link(backend)
    _deliver(backend.subscription, "a")
    assert _receive(consumer, 1) == [(False, 1)]


def test_a_message_that_is_handed_over_while_the_link_is_replaced(backend: ScriptedBackend, connect: Connect) -> None:
    consumer = connect().create_session(session_mode=PRE_ACKNOWLEDGE).create_consumer(QUEUE)

    def cut(_: Call) -> None:
        del backend.script.before["settle"]
        _next_link(backend)

    backend.script.before["settle"] = cut
    _deliver(backend.subscription, "a")
    assert receive_texts(consumer, 1) == ["a"]
    _deliver(backend.subscription, "a")
    assert _receive(consumer, 1) == [(True, 2)]


# ---- several consumers in one session


@pytest.mark.parametrize("mode", [AUTO_ACKNOWLEDGE, CLIENT_ACKNOWLEDGE])
def test_two_subscriptions_to_one_topic(backend: ScriptedBackend, connect: Connect, mode: int) -> None:
    """Each has its own copy of a message, under one message id: only the one that was received is marked."""
    session = connect(client_id="c").create_session(session_mode=mode)
    first, second = (session.create_durable_consumer(Topic("news"), name) for name in ("first", "second"))
    for subscription in backend.link.subscriptions:
        _deliver(subscription, "a")
    assert receive_texts(first, 1) == ["a"]
    _next_link(backend, 2)
    for subscription in backend.link.subscriptions:
        _deliver(subscription, "a")
    assert _receive(second, 1) == [(False, 1)]
    assert _receive(first, 1) == [(True, 2)]


def test_two_consumers_of_one_queue(backend: ScriptedBackend, connect: Connect) -> None:
    """The broker may give a message that one of them had to the other."""
    session = connect().create_session()
    first, second = session.create_consumer(QUEUE), session.create_consumer(QUEUE)
    _deliver(backend.link.subscriptions[0], "a")
    assert receive_texts(first, 1) == ["a"]
    _next_link(backend, 2)
    _deliver(backend.link.subscriptions[1], "a")
    assert _receive(second, 1) == [(True, 2)]


@rule("HD-8", "JX-1")
@pytest.mark.parametrize("mode", MODES)
def test_two_sessions_with_one_queue(backend: ScriptedBackend, connect: Connect, mode: int) -> None:
    """The broker may give a message that one of them had to the other."""
    connection = connect()
    sessions = [connection.create_session(session_mode=mode) for _ in range(2)]
    first, second = (session.create_consumer(QUEUE) for session in sessions)
    _deliver(backend.link.subscriptions[0], "a")
    assert receive_texts(first, 1) == ["a"]
    _next_link(backend, 2)
    _deliver(backend.link.subscriptions[1], "a", "b")
    assert _receive(second, 2) == [(True, 2), (False, 1)]


@rule("HD-8", "JX-1")
@pytest.mark.parametrize("mode", MODES)
def test_a_message_that_is_handed_over_while_the_link_is_lost(
    backend: ScriptedBackend, connect: Connect, mode: int
) -> None:
    """The broker may give it to another session before the first one receives again."""
    connection = connect()
    sessions = [connection.create_session(session_mode=mode) for _ in range(2)]
    first, second = (session.create_consumer(QUEUE) for session in sessions)

    def read(message: Message) -> str:
        _next_link(backend, 2)
        return str(message.get_body(str))

    _deliver(backend.link.subscriptions[0], "a")
    assert first._take(LONG, read) == "a"
    _deliver(backend.link.subscriptions[1], "a", "b")
    assert _receive(second, 2) == [(True, 2), (False, 1)]


def test_two_sessions_with_subscriptions_to_one_topic(backend: ScriptedBackend, connect: Connect) -> None:
    """Each has its own copy of a message, under one message id."""
    connection = connect(client_id="c")
    consumers = [connection.create_session().create_durable_consumer(Topic("news"), name) for name in ("one", "two")]
    plain = connection.create_session().create_consumer(Topic("news"))
    for subscription in backend.link.subscriptions:
        _deliver(subscription, "a")
    assert receive_texts(consumers[0], 1) == ["a"]
    _next_link(backend, 3)
    for subscription in backend.link.subscriptions:
        _deliver(subscription, "a")
    assert [_receive(one, 1) for one in (*consumers, plain)] == [[(True, 2)], [(False, 1)], [(False, 1)]]


def test_a_message_that_was_moved_to_another_queue(backend: ScriptedBackend, connect: Connect) -> None:
    """It keeps its id, and its first delivery from there is not a redelivery."""
    session = connect().create_session()
    first, second = session.create_consumer(QUEUE), session.create_consumer(Queue("others"))
    _deliver(backend.link.subscriptions[0], "a")
    assert receive_texts(first, 1) == ["a"]
    _next_link(backend, 2)
    _deliver(backend.link.subscriptions[1], "a")
    assert _receive(second, 1) == [(False, 1)]


def test_a_consumer_that_replaces_a_closed_one(backend: ScriptedBackend, connect: Connect) -> None:
    session = connect().create_session(session_mode=CLIENT_ACKNOWLEDGE)
    consumer = session.create_consumer(QUEUE)
    _deliver(backend.subscription, "a")
    assert receive_texts(consumer, 1) == ["a"]
    _next_link(backend)
    consumer.close()
    consumer = session.create_consumer(QUEUE)
    _deliver(backend.subscription, "a")
    assert _receive(consumer, 1) == [(True, 2)]

"""A durable subscription is opened again while messages of its closed consumer are unsettled.

The backend has no ``retire``, so that it has the subscription until the last of them is settled.
"""

from collections.abc import Callable

import pytest

from jmsbridge import CLIENT_ACKNOWLEDGE, Connection, Message, MessageConsumer, Session, Topic
from jmsbridge.spi import AddressRefused, Outcome
from jmsbridge.testing.marks import rule
from jmsbridge.testing.scripted import ScriptedBackend, text_envelope
from jmsbridge.testing.suite.support import LONG, eventually, receive_texts

Connect = Callable[..., Connection]
TOPIC = Topic("news")


@pytest.fixture
def connection(connect: Connect) -> Connection:
    """A started connection."""
    return connect(client_id="me", prefetch=4)


@pytest.fixture
def session(connection: Connection) -> Session:
    """A session whose application acknowledges."""
    return connection.create_session(acknowledge_mode=CLIENT_ACKNOWLEDGE)


def _closed(backend: ScriptedBackend, session: Session) -> tuple[Message, list[int]]:
    """A message of a consumer that is closed, and the tokens of three: the two others it has not seen."""
    consumer = session.create_durable_consumer(TOPIC, "mine")
    tokens = backend.subscription.deliver(*(text_envelope(TOPIC.address, text) for text in "abc"))
    message = consumer.receive(timeout=LONG)
    assert message is not None
    consumer.close()
    return message, tokens


def _again(session: Session) -> MessageConsumer:
    return session.create_durable_consumer(TOPIC, "mine")


@rule("AC-11")
def test_the_next_consumer_goes_on(backend: ScriptedBackend, session: Session) -> None:
    """With what the first had not seen, within the same window; then all of it can be redelivered in order."""
    _closed(backend, session)
    consumer = _again(session)
    assert backend.script.count("subscribe") == 1
    assert backend.subscription.credit == 2  # the window without the two that are here
    assert receive_texts(consumer, 2) == ["b", "c"]
    session.recover()
    assert receive_texts(consumer, 3) == ["a", "b", "c"]


@rule("AC-11")
def test_the_subscription_ends_with_the_last_consumer(backend: ScriptedBackend, session: Session) -> None:
    _, tokens = _closed(backend, session)
    consumer = _again(session)
    message = consumer.receive(timeout=LONG)
    assert message is not None
    consumer.close()
    assert backend.script.count("close-subscription") == 0
    message.acknowledge()
    assert backend.script.count("close-subscription") == 1
    assert backend.settled == list(zip(tokens, [Outcome.ACCEPTED] * 2 + [Outcome.RELEASED], strict=True))


@rule("AC-11", "AC-12")
def test_without_another_consumer_the_unseen_return(backend: ScriptedBackend, session: Session) -> None:
    message, tokens = _closed(backend, session)
    assert backend.settled == []
    message.acknowledge()
    assert backend.settled == list(zip(tokens, [Outcome.ACCEPTED] + [Outcome.RELEASED] * 2, strict=True))
    assert backend.script.verbs()[-1] == "close-subscription"


@pytest.mark.parametrize("what", ["link", "channel", "subscription"])
def test_nothing_is_left_of_what_was_lost(backend: ScriptedBackend, session: Session, what: str) -> None:
    """The next consumer gets a subscription of its own."""
    _closed(backend, session)
    if what == "link":
        backend.link.cut()
    elif what == "channel":
        backend.link.channels[0].lose(AddressRefused("the session was ended"))
    else:
        backend.subscription.lose(AddressRefused("the topic was deleted"))
    lost = backend.subscription
    eventually(lambda: all(inbox.is_lost() for inbox in session._core.incoming._left()))
    consumer = _again(session)
    assert backend.subscription is not lost
    backend.subscription.deliver(text_envelope(TOPIC.address, "d"))
    assert receive_texts(consumer, 1) == ["d"]


def test_another_definition_is_left_to_the_broker(backend: ScriptedBackend, session: Session) -> None:
    _closed(backend, session)
    session.create_durable_consumer(TOPIC, "mine", "colour = 'red'")
    assert backend.script.count("subscribe") == 2


def test_another_session_is_left_to_the_broker(
    backend: ScriptedBackend, connection: Connection, session: Session
) -> None:
    _closed(backend, session)
    _again(connection.create_session())
    assert backend.script.count("subscribe") == 2


@rule("CL-6", "AC-11")
def test_opened_again_by_the_listener(backend: ScriptedBackend, session: Session) -> None:
    """A listener closes its own consumer, and sets itself on the next one."""
    seen: list[Message] = []
    first = session.create_durable_consumer(TOPIC, "mine")

    def listener(message: Message) -> None:
        seen.append(message)
        if len(seen) == 1:
            first.close()
            _again(session).message_listener = listener

    first.message_listener = listener
    backend.subscription.deliver(*(text_envelope(TOPIC.address, text) for text in "abc"))
    eventually(lambda: len(seen) == 3)
    assert backend.script.count("subscribe") == 1

"""What a session does after Ctrl-C in rollback, recover or acknowledge: nothing twice, nothing by halves."""

import contextlib
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from jmsbridge import (
    CLIENT_ACKNOWLEDGE,
    SESSION_TRANSACTED,
    Connection,
    JMSException,
    Message,
    Queue,
    Session,
    TextMessage,
)
from jmsbridge.spi import Address, Outcome
from jmsbridge.testing.scripted import ScriptedBackend, text_envelope
from jmsbridge.testing.suite.support import LONG, eventually, run_thread, send_texts
from tests.review.interrupting import each_point, needs_plain_locks
from tests.review.support import Embedded

pytestmark = needs_plain_locks

Connect = Callable[..., Connection]
QUEUE = Queue("orders")


@pytest.mark.parametrize(("mode", "act"), [(SESSION_TRANSACTED, "rollback"), (CLIENT_ACKNOWLEDGE, "recover")])
def test_a_consumer_that_is_closed_then_settles_each_message_once(
    backend: ScriptedBackend, connect: Connect, mode: int, act: str
) -> None:
    connection = connect(redelivery_delay=0.0, max_redeliveries=10_000)

    def prepare() -> tuple[Session, Any]:
        session = connection.create_session(session_mode=mode)
        consumer: Any = session.create_consumer(QUEUE)
        backend.subscription.deliver(*(text_envelope(Address("orders"), text) for text in "ab"))
        assert [consumer.receive(timeout=LONG).text for _ in "ab"] == ["a", "b"]
        backend.settled.clear()
        return session, consumer

    def undo() -> None:
        getattr(session, act)()

    session, consumer = prepare()
    for point, _ in enumerate(each_point(undo)):
        consumer.close()
        getattr(session, act)()
        session.close()
        assert list(Counter(token for token, _ in backend.settled).values()) == [1, 1], point
        session, consumer = prepare()


def test_a_later_acknowledgement_outlives_the_closing_of_its_consumer(broker: Embedded) -> None:
    connection = broker.connect()
    other = connection.create_session()

    def prepare() -> tuple[Session, Any]:
        session = connection.create_session(session_mode=CLIENT_ACKNOWLEDGE)
        consumer: Any = session.create_consumer(QUEUE)
        send_texts(other, QUEUE, "first", "second")
        assert consumer.receive(timeout=LONG) is not None
        return session, consumer

    def acknowledge() -> None:
        session.acknowledge()

    session, consumer = prepare()
    for point, _ in enumerate(each_point(acknowledge)):
        session.acknowledge()
        assert consumer.receive(timeout=LONG).text == "second"
        consumer.close()
        session.acknowledge()
        session.close()
        with other.create_consumer(QUEUE) as looking:
            assert looking.receive_no_wait() is None, point
        session, consumer = prepare()


def test_a_doomed_transaction_stays_whole(backend: ScriptedBackend, connect: Connect) -> None:
    def prepare() -> tuple[Connection, Session]:
        connection = connect(redelivery_delay=0.0, reconnect_delay=0.001)
        session = connection.create_session(transacted=True)
        producer = session.create_producer(Queue("to"))
        producer.send("one")
        links = len(backend.links)
        backend.link.cut()
        eventually(lambda: len(backend.links) > links)
        connection.create_session().close()  # waits for the new link
        with contextlib.suppress(JMSException):
            producer.send("two")
        backend.accepted.clear()
        return connection, session

    def roll_back() -> None:
        session.rollback()

    connection, session = prepare()
    for point, _ in enumerate(each_point(roll_back)):
        with contextlib.suppress(JMSException):
            session.commit()
        assert [envelope.body for envelope in backend.accepted] == [], point
        connection.close()
        connection, session = prepare()


def test_an_acknowledgement_elsewhere_does_not_touch_what_the_lane_puts_back(
    backend: ScriptedBackend, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule AC-4: it is ignored, also while a listener's failure is dealt with."""
    session = connect(redelivery_delay=0.0).create_session()
    consumer: Any = session.create_consumer(QUEUE)
    incoming = session._engine.incoming
    replay = incoming._replay
    begun, go_on = threading.Event(), threading.Event()
    got: list[Message] = []

    def slow(*arguments: Any) -> None:
        begun.set()
        assert go_on.wait(LONG)
        replay(*arguments)

    def listener(message: Message) -> None:
        got.append(message)
        if len(got) == 1:
            raise ValueError("fails")

    monkeypatch.setattr(incoming, "_replay", slow)
    consumer.message_listener = listener
    backend.subscription.deliver(text_envelope(Address("orders"), "a"))
    assert begun.wait(LONG)
    run_thread(got[0].acknowledge).result(LONG)
    go_on.set()
    eventually(lambda: bool(backend.settled))
    assert [message.text for message in got if isinstance(message, TextMessage)] == ["a", "a"]
    assert [outcome for _, outcome in backend.settled] == [Outcome.ACCEPTED]

"""What a session does after Ctrl-C in rollback, recover or acknowledge: nothing twice, nothing by halves."""

import contextlib
import os
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from jmsbridge import CLIENT_ACKNOWLEDGE, SESSION_TRANSACTED, Connection, JMSException, Message, Queue, TextMessage
from jmsbridge.spi import Address, Outcome
from jmsbridge.testing.scripted import ScriptedBackend, text_envelope
from jmsbridge.testing.suite.support import LONG, eventually, run_thread, send_texts
from tests.review.interrupting import Interrupter
from tests.review.support import Embedded

pytestmark = pytest.mark.skipif(
    bool(os.environ.get("JMSBRIDGE_DEBUG_LOCKS")),
    reason="the debugging locks are written in Python: an interrupt inside them leaves them held",
)

Connect = Callable[..., Connection]
QUEUE = Queue("orders")
_MOST = 500


def _interrupted_at(point: int, act: Callable[[], object]) -> bool:
    """Whether there was such a point."""
    with Interrupter(point, "/jmsbridge/") as interrupter, contextlib.suppress(KeyboardInterrupt):
        act()
    return interrupter.fired


def _cut(backend: ScriptedBackend) -> None:
    links = len(backend.links)
    backend.link.cut()
    eventually(lambda: len(backend.links) > links)


@pytest.mark.parametrize(("mode", "act"), [(SESSION_TRANSACTED, "rollback"), (CLIENT_ACKNOWLEDGE, "recover")])
def test_a_consumer_that_is_closed_then_settles_each_message_once(
    backend: ScriptedBackend, connect: Connect, mode: int, act: str
) -> None:
    connection = connect(redelivery_delay=0.0, max_redeliveries=10_000)
    for point in range(_MOST):
        session = connection.create_session(session_mode=mode)
        consumer = session.create_consumer(QUEUE)
        backend.subscription.deliver(*(text_envelope(Address("orders"), text) for text in "ab"))
        assert [consumer.receive(timeout=LONG).text for _ in "ab"] == ["a", "b"]
        backend.settled.clear()
        fired = _interrupted_at(point, getattr(session, act))
        consumer.close()
        getattr(session, act)()
        session.close()
        assert list(Counter(token for token, _ in backend.settled).values()) == [1, 1], point
        if not fired:
            return
    raise AssertionError("never finished")


def test_a_later_acknowledgement_outlives_the_closing_of_its_consumer(broker: Embedded) -> None:
    connection = broker.connect()
    other = connection.create_session()
    for point in range(_MOST):
        session = connection.create_session(session_mode=CLIENT_ACKNOWLEDGE)
        consumer = session.create_consumer(QUEUE)
        send_texts(other, QUEUE, "first", "second")
        assert consumer.receive(timeout=LONG) is not None
        fired = _interrupted_at(point, session.acknowledge)
        session.acknowledge()
        assert consumer.receive(timeout=LONG).text == "second"
        consumer.close()
        session.acknowledge()
        session.close()
        with other.create_consumer(QUEUE) as looking:
            assert looking.receive_no_wait() is None, point
        if not fired:
            return
    raise AssertionError("never finished")


def test_a_doomed_transaction_stays_whole(backend: ScriptedBackend, connect: Connect) -> None:
    for point in range(_MOST):
        connection = connect(redelivery_delay=0.0, reconnect_delay=0.001)
        session = connection.create_session(transacted=True)
        producer = session.create_producer(Queue("to"))
        producer.send("one")
        _cut(backend)
        connection.create_session().close()  # waits for the new link
        with contextlib.suppress(JMSException):
            producer.send("two")
        backend.accepted.clear()
        fired = _interrupted_at(point, session.rollback)
        with contextlib.suppress(JMSException):
            session.commit()
        assert [envelope.body for envelope in backend.accepted] == [], point
        connection.close()
        if not fired:
            return
    raise AssertionError("never finished")


def test_an_acknowledgement_elsewhere_does_not_touch_what_the_lane_puts_back(
    backend: ScriptedBackend, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule AC-4: it is ignored, also while a listener's failure is dealt with."""
    session = connect(redelivery_delay=0.0).create_session()
    consumer = session.create_consumer(QUEUE)
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

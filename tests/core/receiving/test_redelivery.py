"""How often and after which pauses a failed message is redelivered: by option, by destination, without limit."""

import time
from collections.abc import Callable

import pytest

from jmsbridge import CLIENT_ACKNOWLEDGE, Connection, Queue, Session, Topic
from jmsbridge.config import RedeliveryPolicy
from jmsbridge.spi import Address, Outcome
from jmsbridge.testing.marks import rule
from jmsbridge.testing.scripted import ScriptedBackend, text_envelope
from jmsbridge.testing.suite.support import LONG, receive_texts

Connect = Callable[..., Connection]


def _pauses(backend: ScriptedBackend, session: Session, destination: Queue | Topic, count: int) -> list[float]:
    """The pauses in seconds before this many redeliveries."""
    consumer = session.create_consumer(destination)
    backend.subscription.deliver(text_envelope(Address("x"), "m"))
    assert receive_texts(consumer, 1) == ["m"]
    pauses = []
    for _ in range(count):
        begun = time.monotonic()
        session.recover()
        assert consumer.receive(timeout=LONG) is not None
        pauses.append(time.monotonic() - begun)
    consumer.close()
    return pauses


def test_each_destination_has_its_own_pauses(backend: ScriptedBackend, connect: Connect) -> None:
    slow = RedeliveryPolicy(first_delay=0.4, delay=0.3, factor=1.0)
    connection = connect(redelivery={"slow": slow, "topic:slow": RedeliveryPolicy(delay=0.0)}, redelivery_delay=0.0)
    session = connection.create_session(session_mode=CLIENT_ACKNOWLEDGE)
    first, second, third = _pauses(backend, session, Queue("slow"), 3)
    assert first >= 0.4
    assert min(second, third) >= 0.3
    assert max(_pauses(backend, session, Topic("slow"), 3)) < 0.25
    assert max(_pauses(backend, session, Queue("quick"), 3)) < 0.25


@rule("AC-6", "TX-3")
def test_messages_that_come_again_together_wait_for_the_longest_pause(
    backend: ScriptedBackend, connect: Connect
) -> None:
    """The first has failed twice and waits, the second once; without waiting it would overtake the first."""
    policy = RedeliveryPolicy(first_delay=0.0, delay=0.3, factor=1.0)
    session = connect(redelivery={"orders": policy}).create_session(session_mode=CLIENT_ACKNOWLEDGE)
    consumer = session.create_consumer(Queue("orders"))
    backend.subscription.deliver(text_envelope(Address("orders"), "first"))
    assert receive_texts(consumer, 1) == ["first"]
    session.recover()
    backend.subscription.deliver(text_envelope(Address("orders"), "second"))
    assert receive_texts(consumer, 2) == ["first", "second"]
    begun = time.monotonic()
    session.recover()
    assert receive_texts(consumer, 2) == ["first", "second"]
    assert time.monotonic() - begun >= 0.3


@rule("AC-6")
@pytest.mark.parametrize(("limit", "outcomes"), [(2, [Outcome.REJECTED]), (-1, [])])
def test_a_limit_is_kept_and_minus_one_is_none(
    backend: ScriptedBackend, connect: Connect, limit: int, outcomes: list[Outcome]
) -> None:
    session = connect(max_redeliveries=limit, redelivery_delay=0.0).create_session(session_mode=CLIENT_ACKNOWLEDGE)
    consumer = session.create_consumer(Queue("orders"))
    backend.subscription.deliver(text_envelope(Address("orders"), "m"))
    for _ in range(20 if limit < 0 else limit + 1):
        assert receive_texts(consumer, 1) == ["m"]
        session.recover()
    assert [outcome for _, outcome in backend.settled] == outcomes

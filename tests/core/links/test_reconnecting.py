"""Reconnecting when something about it goes wrong."""

import threading
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from jmsbridge import (
    DUPS_OK_ACKNOWLEDGE,
    Connection,
    EmulationWarning,
    InvalidClientIDException,
    InvalidDestinationException,
    JMSException,
    Queue,
)
from jmsbridge.spi import Address, AddressRefused, Endpoint, LinkLost, Native
from jmsbridge.testing.scripted import Call, ScriptedBackend, text_envelope
from jmsbridge.testing.suite.support import LONG, Completions, eventually, receive_texts, run_thread, send_texts
from tests.core.support import Embedded

Connect = Callable[..., Connection]
QUEUE = Queue("orders")


def _length(error: BaseException | None) -> int:
    count, trace = 0, error.__traceback__ if error is not None else None
    while trace is not None:
        count, trace = count + 1, trace.tb_next
    return count


def _failure(act: Callable[[], object]) -> JMSException:
    with pytest.raises(JMSException) as caught:
        act()
    return caught.value


def test_a_refused_client_id_leaves_the_connection_as_it_was(broker: Embedded) -> None:
    broker.connect(client_id="taken")
    other = broker.stopped(send_timeout=LONG)
    with pytest.raises(InvalidClientIDException):
        other.client_id = "taken"
    session = other.create_session()
    send_texts(session, QUEUE, "before")
    broker.cut(other)
    send_texts(session, QUEUE, "after")
    other.start()
    assert receive_texts(other.create_session().create_consumer(QUEUE), 2) == ["before", "after"]


def test_only_the_consumer_that_cannot_be_recreated_is_closed(backend: ScriptedBackend, connect: Connect) -> None:
    heard: list[Exception] = []
    connection = connect()
    connection.exception_listener = heard.append
    session = connection.create_session()
    gone = session.create_consumer(Queue("gone"))
    kept = session.create_consumer(QUEUE)

    def refuse(call: Call) -> None:
        if call.detail.address.name == "gone":
            raise AddressRefused("the queue was deleted")

    backend.script.before["subscribe"] = refuse
    backend.link.cut()
    eventually(lambda: "grant" in backend.script.verbs(2))
    eventually(lambda: heard)
    assert [type(error) for error in heard] == [InvalidDestinationException]
    assert "deleted" in str(_failure(gone.receive))
    backend.subscription.deliver(text_envelope(Address("orders"), "m"))
    assert receive_texts(kept, 1) == ["m"]


def test_warnings_as_errors_do_not_stop_recovery(backend: ScriptedBackend, connect: Connect) -> None:
    connection = connect()
    session = connection.create_session(transacted=True)
    backend.lower(Native.TRANSACTIONS | Native.SEND_TRANSACTIONS | Native.CLIENT_ID)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        backend.link.cut()
        session.create_producer(QUEUE).send("m")
        session.commit()
    assert [envelope.body for envelope in backend.accepted] == ["m"]
    assert len(backend.links) == 2


def test_a_connection_warns_of_an_emulation_once(
    backend: ScriptedBackend, connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    """Not for each session, nor again for each link: also where the first word of it was in the log."""
    connection = connect()
    sessions = [connection.create_session(transacted=True) for _ in range(3)]
    backend.lower(Native.TRANSACTIONS | Native.SEND_TRANSACTIONS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for count in (2, 3):
            backend.link.cut()
            eventually(lambda count=count: len(backend.links) == count)  # type: ignore[misc]  # bound above
            sessions[0].commit()
        connection.create_session(transacted=True)
    told = [each.getMessage() for each in caplog.records if each.name == "jmsbridge.plan"]
    assert len(told) == len(set(told)) == 2


def test_a_feature_used_after_recovery_warns_where_it_is_used(backend: ScriptedBackend, connect: Connect) -> None:
    connection = connect()
    backend.lower(Native.TRANSACTIONS | Native.SEND_TRANSACTIONS)
    backend.link.cut()
    with (
        pytest.warns(EmulationWarning, match="never loss"),
        pytest.warns(EmulationWarning, match="not atomic"),
    ):
        connection.create_session(transacted=True)


def test_an_exception_listener_that_waits_for_the_link_does_not_block_recovery(
    backend: ScriptedBackend, connect: Connect
) -> None:
    connection = connect(send_timeout=LONG)
    session = connection.create_session()
    entered, go = threading.Event(), threading.Event()
    done: list[str] = []

    def listener(error: Exception) -> None:
        entered.set()
        assert go.wait(LONG)
        connection.create_session().create_consumer(QUEUE)  # while the link is down
        done.append(str(error))

    connection.exception_listener = listener
    session.create_consumer(QUEUE)
    backend.subscription.lose(AddressRefused("deleted"))
    assert entered.wait(LONG)
    backend.refuse(1)
    backend.link.cut()
    go.set()
    run_thread(connection.create_session).result(LONG)
    eventually(lambda: done)
    assert len(backend.links) == 2


def test_a_consumer_closed_while_it_is_subscribed_again_leaves_nothing(
    backend: ScriptedBackend, connect: Connect
) -> None:
    session = connect(client_id="me").create_session()
    consumer = session.create_durable_consumer(session.create_topic("news"), "mine")
    inside, go = threading.Event(), threading.Event()

    def slow(call: Call) -> None:
        if call.link == 2:
            inside.set()
            assert go.wait(LONG)

    backend.script.before["subscribe"] = slow
    backend.link.cut()
    assert inside.wait(LONG)
    consumer.close()
    go.set()
    eventually(lambda: backend.link.number == 2 and backend.link.subscriptions)
    eventually(lambda: backend.subscription.closed)
    assert backend.script.verbs(2).count("subscribe") == 1


def test_failures_after_giving_up_do_not_grow(broker: Embedded) -> None:
    heard = threading.Event()
    connection = broker.connect(reconnect_attempts=0)
    connection.exception_listener = lambda error: heard.set()
    session = connection.create_session()
    producer = session.create_producer(QUEUE)
    broker.cut()
    assert heard.wait(LONG)
    for act in (lambda: producer.send("m"), connection.create_session, lambda: session.create_consumer(QUEUE)):
        first, *_, last = [_failure(act) for _ in range(20)]
        assert _length(first) == _length(last)
        assert _length(first.__cause__) == _length(last.__cause__)
        assert isinstance(last.__cause__, LinkLost)


def test_an_asynchronous_send_that_waited_for_room_uses_the_new_link(
    backend: ScriptedBackend, connect: Connect
) -> None:
    session = connect(send_window=1).create_session()
    producer = session.create_producer(QUEUE)
    completions = Completions()
    backend.hold("send")
    producer.send("first", completion_listener=completions)
    sending = run_thread(lambda: producer.send("second", completion_listener=completions))
    eventually(lambda: session._core.outgoing.ledger.is_awaited)
    backend.script.answer_inline("send")
    backend.link.cut()
    sending.result(LONG)
    assert [(event[0], event[1].text) for event in completions.wait(2)] == [
        ("failed", "first"),
        ("completed", "second"),
    ]
    assert [envelope.body for envelope in backend.accepted] == ["second"]


def test_a_receive_on_a_lost_subscription_says_why(backend: ScriptedBackend, connect: Connect) -> None:
    consumer = connect().create_session().create_consumer(QUEUE)
    receiving = run_thread(consumer.receive)
    eventually(lambda: bool(consumer._receiver.inbox.waiting))
    backend.subscription.lose(AddressRefused("the queue was deleted"))
    error = receiving.exception(LONG)
    assert isinstance(error, InvalidDestinationException)
    assert isinstance(error.__cause__, AddressRefused)
    for act in (consumer.receive, lambda: consumer.receive(timeout=0.1), consumer.receive_no_wait):
        assert "deleted" in str(_failure(act))


def test_recover_on_a_lost_link_raises_a_jms_exception(backend: ScriptedBackend, connect: Connect) -> None:
    connection = connect(block_on_acknowledge=True, send_timeout=LONG)
    session = connection.create_session(
        session_mode=DUPS_OK_ACKNOWLEDGE, dups_ok_messages=50, dups_ok_interval=0, prefetch=100
    )
    consumer = session.create_consumer(QUEUE)
    backend.subscription.deliver(text_envelope(Address("orders"), "m"))
    assert receive_texts(consumer, 1) == ["m"]

    def cut(call: Call) -> None:
        del backend.script.before["settle"]
        backend.link.cut()

    backend.script.before["settle"] = cut
    assert isinstance(_failure(session.recover).__cause__, LinkLost)


def test_the_connect_timeout_reaches_the_backend(backend: ScriptedBackend, connect: Connect) -> None:
    connect(connect_timeout=7)
    opened: Any = backend.script.wait_call("open").detail
    assert isinstance(opened, Endpoint)
    assert opened.connect_timeout == 7


def test_a_consumer_that_no_link_takes_says_why(backend: ScriptedBackend, connect: Connect) -> None:
    """Subscribing finds that the link is lost, and no other one comes in time."""
    session = connect(send_timeout=0.3).create_session()
    backend.refuse(1000)

    def lose(call: Call) -> None:
        backend.link.cut(LinkLost("the broker was silent"))

    backend.script.before["subscribe"] = lose
    with pytest.raises(JMSException, match=r"the broker was silent.* within 0\.3 s \(option send_timeout") as caught:
        session.create_consumer(QUEUE)
    assert isinstance(caught.value.__cause__, LinkLost)


@pytest.mark.parametrize("verb", ["subscribe", "channel"])
def test_what_loses_each_new_link_ends_after_the_send_timeout(
    backend: ScriptedBackend, connect: Connect, verb: str
) -> None:
    connection = connect(send_timeout=0.5, reconnect_delay=0.001, reconnect_delay_max=0.01)
    make: Callable[[], object] = connection.create_session
    if verb == "subscribe":
        make = partial(connection.create_session().create_consumer, QUEUE)

    def lose(call: Call) -> None:
        backend.link.cut(LinkLost("the broker does not like it"))

    backend.script.before[verb] = lose
    began = time.monotonic()
    with pytest.raises(JMSException, match="the broker does not like it"):
        make()
    assert time.monotonic() - began < LONG
    del backend.script.before[verb]

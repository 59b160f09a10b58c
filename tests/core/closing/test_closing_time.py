"""How long closing may take, and what remains afterwards."""

import threading
import time
from collections.abc import Callable
from contextlib import nullcontext

import pytest

from jmsbridge import (
    CLIENT_ACKNOWLEDGE,
    DUPS_OK_ACKNOWLEDGE,
    Connection,
    DeliveryMode,
    InvalidClientIDException,
    JMSException,
    Queue,
)
from jmsbridge.core.runtime import waiting
from jmsbridge.spi import Address, ClientIdRefused, Native
from jmsbridge.testing.marks import rule
from jmsbridge.testing.scripted import Call, ScriptedBackend, text_envelope
from jmsbridge.testing.suite.support import LONG, eventually, receive_texts, run_thread

Connect = Callable[..., Connection]
QUEUE = Queue("orders")


@pytest.mark.parametrize("groups", [True, False])
def test_closing_on_a_silent_broker_takes_one_close_timeout(
    backend: ScriptedBackend, connect: Connect, groups: bool
) -> None:
    """Two sessions with two consumers and two producers each; the broker answers none of their requests."""
    connection = connect(close_timeout=0.3, send_timeout=60.0)
    for _ in range(2):
        session = connection.create_session()
        for _ in range(2):
            session.create_consumer(QUEUE)
            producer = session.create_producer(QUEUE)
            producer.delivery_mode = DeliveryMode.PERSISTENT_GROUPACK if groups else DeliveryMode.NON_PERSISTENT
            backend.hold("send", "drain", "settle")
            session.group_ack_threshold = 100
            producer.send("m")
    begun = time.monotonic()
    with pytest.raises(JMSException) if groups else nullcontext():
        connection.close()
    assert time.monotonic() - begun < 2.0


def test_a_slow_broker_does_not_get_to_delete_all_temporary_destinations(
    backend: ScriptedBackend, connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    """They are deleted one by one: on a far broker hundreds of them took minutes."""
    connection = connect(close_timeout=0.2)
    session = connection.create_session()
    for _ in range(5):
        session.create_temporary_queue()
    backend.script.before["delete"] = lambda _: time.sleep(0.25)  # sleep: longer than close_timeout
    connection.close()
    assert backend.script.verbs().count("delete") < 5
    assert "temporary destinations were not deleted within close_timeout" in caplog.text


@pytest.mark.parametrize("what", ["consumer", "session"])
def test_closing_wakes_a_blocked_receive_and_is_woken_by_it(
    backend: ScriptedBackend, connect: Connect, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """Not only by the check that every wait makes once per second, which here comes after a minute."""
    monkeypatch.setattr(waiting, "LONGEST_WAIT", 60.0)
    session = connect(close_timeout=60.0).create_session()
    consumer = session.create_consumer(QUEUE)
    receiving = run_thread(consumer.receive)
    eventually(lambda: consumer._receiver.inbox.waiting.gates)
    closing = run_thread(consumer.close if what == "consumer" else session.close)
    closing.result(LONG)
    assert receiving.result(LONG) is None


@rule("AC-2")
def test_closing_a_consumer_acknowledges_its_incomplete_batch(backend: ScriptedBackend, connect: Connect) -> None:
    session = connect().create_session(session_mode=DUPS_OK_ACKNOWLEDGE, dups_ok_messages=100, dups_ok_interval=60)
    consumer = session.create_consumer(QUEUE)
    tokens = backend.subscription.deliver(*(text_envelope(Address("orders"), text) for text in "ab"))
    assert receive_texts(consumer, 2) == ["a", "b"]
    consumer.close()
    assert [token for token, _ in backend.settled] == list(tokens)
    assert "close-subscription" in backend.script.verbs()


@rule("CI-4")
@pytest.mark.filterwarnings("ignore::jmsbridge.EmulationWarning")
def test_a_refused_client_id_frees_no_other_claim(backend: ScriptedBackend, connect: Connect) -> None:
    """On a broker that does not check client ids the process does; a failed connect does not free the id of another."""
    backend.lower(Native.CLIENT_ID)
    failing = connect(start=False, emulation="allow")

    def refuse(_: Call) -> None:
        raise ClientIdRefused("no")

    backend.script.before["open"] = refuse
    with pytest.raises(InvalidClientIDException):
        failing.client_id = "x"
    backend.script.before.clear()
    holder = connect(start=False, emulation="allow")
    holder.client_id = "x"
    failing.close()
    third = connect(start=False, emulation="allow")
    with pytest.raises(InvalidClientIDException):
        third.client_id = "x"


def test_a_session_that_is_closed_while_its_link_is_replaced_leaves_no_channel(
    backend: ScriptedBackend, connect: Connect
) -> None:
    connection = connect()
    session = connection.create_session(session_mode=CLIENT_ACKNOWLEDGE)
    session.create_consumer(QUEUE)
    subscribing, go_on = threading.Event(), threading.Event()

    def slow(_: Call) -> None:
        subscribing.set()
        assert go_on.wait(LONG)

    backend.script.before["subscribe"] = slow
    backend.link.cut()
    assert subscribing.wait(LONG)
    session.close()
    backend.script.before.clear()
    go_on.set()
    eventually(lambda: backend.script.verbs(2).count("close-channel") == 1)
    connection.close()

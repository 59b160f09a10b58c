"""Windows of messages and of bytes."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from jmsbridge import Connection, DeliveryMode, JMSException, Queue, ResourceAllocationException, Session
from jmsbridge.core.sending.pending import PendingSends
from jmsbridge.core.sending.tickets import PlainSend
from jmsbridge.core.sending.weight import weigh
from jmsbridge.spi import Address, BodyKind, Envelope
from jmsbridge.testing.scripted import ScriptedBackend
from jmsbridge.testing.suite.support import LONG, eventually, run_thread, text_of

Connect = Callable[..., Connection]
QUEUE = Queue("orders")


def _envelope(body: Any, kind: BodyKind, **properties: Any) -> Envelope:
    return Envelope(Address("orders"), kind, body, properties, "ID:1", 1)


@pytest.mark.parametrize(
    ("body", "kind", "least"),
    [
        ("é" * 1000, BodyKind.TEXT, 2000),
        (b"x" * 1000, BodyKind.BYTES, 1000),
        ({"bytes": b"x" * 100_000, "text": "y" * 1000}, BodyKind.MAP, 101_000),
        (["z" * 1000, b"w" * 1000, 1, None], BodyKind.STREAM, 2008),
    ],
)
def test_the_size_of_a_message_is_that_of_its_body(body: Any, kind: BodyKind, least: int) -> None:
    plain = weigh(_envelope(body, kind))
    assert least <= plain <= least + 400
    assert weigh(_envelope(body, kind, name="v" * 5000)) >= plain + 5000


def _send_maps(session: Session, producer: Any, **options: Any) -> None:
    for _ in range(10):
        message = session.create_map_message()
        message.set_bytes("data", b"x" * 100_000)
        producer.send(message, **options)


@pytest.mark.parametrize("listening", [True, False])
def test_the_window_of_bytes_bounds_what_is_in_flight(
    backend: ScriptedBackend, connect: Connect, listening: bool
) -> None:
    """With a completion listener, and for background sends."""
    session = connect(confirmation_window_size=250_000, send_timeout=0.1).create_session()
    producer = session.create_producer(QUEUE)
    producer.delivery_mode = DeliveryMode.NON_PERSISTENT
    backend.hold("send")
    options: dict[str, Any] = {"completion_listener": lambda message, error: None} if listening else {}
    with pytest.raises(JMSException if listening else ResourceAllocationException, match="confirmation_window_size"):
        _send_maps(session, producer, **options)
    assert backend.script.count("send") == 2
    backend.script.release("send")
    backend.script.answer_inline("send")
    producer.send("room again", **options)


def test_a_callback_that_sends_does_not_wait_while_throttled(backend: ScriptedBackend, connect: Connect) -> None:
    """It would delay the next callbacks by up to ``send_timeout``."""
    session = connect(send_timeout=60.0).create_session()
    producer, done = session.create_producer(QUEUE), threading.Event()
    backend.hold("send")

    def again(message: Any, error: Any) -> None:
        producer.send("second", completion_listener=lambda message, error: None)

    producer.send("first", completion_listener=again)
    producer.send("behind", completion_listener=lambda message, error: done.set())
    backend.link.throttle(True)
    backend.script.release("send")
    assert done.wait(LONG)
    backend.link.throttle(False)
    backend.script.answer_inline("send")
    eventually(lambda: backend.script.count("send") == 3)


def test_a_closed_producer_leaves_no_group_behind(backend: ScriptedBackend, connect: Connect) -> None:
    session = connect().create_session()
    for _ in range(20):
        with session.create_producer(QUEUE) as producer:
            producer.delivery_mode = DeliveryMode.PERSISTENT_GROUPACK
            producer.send("m")
    assert not session._core.outgoing._groups


def test_a_blocking_send_with_a_handler_is_repeated_if_resend_is_on(backend: ScriptedBackend, connect: Connect) -> None:
    handled: list[str] = []
    session = connect(resend=True).create_session()
    session.send_acknowledgement_handler = lambda message: handled.append(text_of(message))
    producer, cut = session.create_producer(QUEUE), threading.Event()

    def once(_: Any) -> None:
        if not cut.is_set():
            cut.set()
            backend.link.cut()

    backend.script.before["send"] = once
    producer.send("m")
    eventually(lambda: handled == ["m"])
    assert [envelope.body for envelope in backend.accepted] == ["m"]


def test_a_sender_goes_on_when_the_window_is_half_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jmsbridge.core.runtime.waiting.LONGEST_WAIT", 30.0)
    sends = PendingSends(8, None, 20.0, lambda message, error: None, lambda tickets: None)
    tickets = [PlainSend(sends, 0, None) for _ in range(8)]
    for ticket in tickets:
        sends.add(ticket)
    waiting = run_thread(lambda: sends.wait_room(0))
    eventually(lambda: sends._changed.gates)
    for ticket in tickets[:3]:
        ticket.succeed()
    assert not waiting.done()
    tickets[3].succeed()
    waiting.result(5.0)

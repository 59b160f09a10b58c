"""Senders on a broker with an alarm: every wait ends, and every error names the remedy."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from jmsbridge import Connection, DeliveryMode, InDoubtException, Queue, ResourceAllocationException, Session
from jmsbridge.core.links.supervisor import Supervisor
from jmsbridge.spi import Native
from jmsbridge.testing.scripted import ScriptedBackend
from jmsbridge.testing.suite.support import Completions, eventually, run_thread

Connect = Callable[..., Connection]
QUEUE = Queue("orders")
UNWATCHED = DeliveryMode.NON_PERSISTENT


def send(session: Session, text: str, **options: Any) -> None:
    session.create_producer(QUEUE).send(session.create_text_message(text), **options)


def bodies(backend: ScriptedBackend) -> list[object]:
    return [envelope.body for envelope in backend.accepted]


# -- the broker asks senders to pause ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["persistent", "non-persistent", "asynchronous"])
def test_senders_wait_until_the_alarm_ends(backend: ScriptedBackend, connect: Connect, kind: str) -> None:
    session = connect().create_session()
    options: dict[str, Any] = {"persistent": {}, "non-persistent": {"delivery_mode": UNWATCHED}}.get(
        kind, {"completion_listener": Completions()}
    )
    send(session, "before", **options)
    backend.link.throttle(True)
    sending = run_thread(lambda: send(session, "after", **options))
    with pytest.raises(TimeoutError):
        sending.result(0.1)
    assert bodies(backend) == ["before"]
    backend.link.throttle(False)
    sending.result(5)
    eventually(lambda: bodies(backend) == ["before", "after"])


def test_an_alarm_that_comes_with_the_send_is_named(backend: ScriptedBackend, connect: Connect) -> None:
    session = connect(send_timeout=0.5).create_session()
    backend.hold("send")
    sending = run_thread(lambda: send(session, "held up"))
    backend.script.wait_held("send")
    backend.link.throttle(True)
    with pytest.raises(InDoubtException, match=r"queue:orders: Scripted 1\.0 gave no answer .* 0\.5 s.*alarm"):
        sending.result(5)


@pytest.mark.parametrize("kind", ["persistent", "non-persistent", "asynchronous"])
def test_the_error_after_the_wait_names_the_remedy(backend: ScriptedBackend, connect: Connect, kind: str) -> None:
    """A send that was not written is not in doubt: the error says so, and no listener is called."""
    session = connect(send_timeout=0.1).create_session()
    completions = Completions()
    options: dict[str, Any] = {"persistent": {}, "non-persistent": {"delivery_mode": UNWATCHED}}.get(
        kind, {"completion_listener": completions}
    )
    backend.link.throttle(True)
    message = session.create_text_message("a")
    with pytest.raises(
        ResourceAllocationException, match=r"not sent.*memory or disk.*send_timeout|send_timeout.*alarm"
    ):
        session.create_producer(QUEUE).send(message, **options)
    backend.link.throttle(False)
    message.text = "b"  # free again
    session.create_producer(QUEUE).send(message)
    assert bodies(backend) == ["b"]
    assert completions.events == []


def test_consumers_are_not_throttled(backend: ScriptedBackend, connect: Connect) -> None:
    """Consuming is what ends the broker's alarm."""
    session = connect(send_timeout=0.1).create_session()
    backend.link.throttle(True)
    consumer = session.create_consumer(QUEUE)
    assert consumer.receive_no_wait() is None
    consumer.close()


def test_a_new_link_begins_unthrottled(backend: ScriptedBackend, connect: Connect) -> None:
    session = connect().create_session()
    backend.link.throttle(True)
    sending = run_thread(lambda: send(session, "a"))
    backend.link.cut()
    sending.result(5)
    assert bodies(backend) == ["a"]


def test_an_old_link_does_not_throttle(backend: ScriptedBackend, connect: Connect) -> None:
    connection = connect(send_timeout=0.5)
    old = backend.link
    old.cut()
    session = connection.create_session()
    assert backend.link is not old
    old.throttle(True)
    send(session, "a")
    assert bodies(backend) == ["a"]


def test_a_link_that_is_throttled_while_it_opens(
    backend: ScriptedBackend, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An alarm that is reported before the link is the current one counts as well."""
    install = Supervisor._install

    def throttled(self: Supervisor, opened: object) -> bool:
        backend.link.throttle(True)
        return install(self, opened)  # type: ignore[arg-type]

    monkeypatch.setattr(Supervisor, "_install", throttled)
    session = connect(send_timeout=0.1).create_session()
    with pytest.raises(ResourceAllocationException):
        send(session, "a")


@pytest.mark.filterwarnings("ignore::jmsbridge.errors.EmulationWarning")
@pytest.mark.parametrize("native", [True, False])
def test_a_throttled_commit_has_not_begun(backend: ScriptedBackend, connect: Connect, native: bool) -> None:
    """The transaction still exists and can be committed later, or rolled back."""
    if not native:
        backend.lower(Native.TRANSACTIONS | Native.SEND_TRANSACTIONS)
    session = connect(send_timeout=0.1).create_session(transacted=True)
    send(session, "a")
    backend.link.throttle(True)
    with pytest.raises(ResourceAllocationException):
        session.commit()
    backend.link.throttle(False)
    session.commit()
    assert bodies(backend) == ["a"]


# -- background sends --------------------------------------------------------------------------------------


def test_unanswered_sends_are_bounded_by_the_window(backend: ScriptedBackend, connect: Connect) -> None:
    session = connect(send_window=10).create_session()
    backend.hold("send")

    def sending() -> None:
        for number in range(30):
            send(session, str(number), delivery_mode=UNWATCHED)

    running = run_thread(sending)
    backend.script.wait_held("send", 10)
    with pytest.raises(TimeoutError):
        running.result(0.1)
    assert backend.script.count("send") == 10
    while not running.done():
        backend.release("send")
    running.result(5)
    backend.release("send")
    assert bodies(backend) == [str(number) for number in range(30)]


def test_a_full_window_ends_with_an_error(backend: ScriptedBackend, connect: Connect) -> None:
    session = connect(send_window=3, send_timeout=0.1).create_session()
    backend.hold("send")
    for number in range(3):
        send(session, str(number), delivery_mode=UNWATCHED)
    before = time.monotonic()
    with pytest.raises(ResourceAllocationException, match=r"not sent.*send_window"):
        send(session, "one too many", delivery_mode=UNWATCHED)
    assert time.monotonic() - before < 5
    backend.release("send")
    send(session, "next", delivery_mode=UNWATCHED)
    backend.release("send")
    assert bodies(backend) == ["0", "1", "2", "next"]

"""Receiving where messages take their time, unlike on the embedded broker."""

from collections.abc import Callable

import pytest

from jmsbridge import (
    AUTO_ACKNOWLEDGE,
    CLIENT_ACKNOWLEDGE,
    DUPS_OK_ACKNOWLEDGE,
    Connection,
    Queue,
    TextMessage,
)
from jmsbridge.spi import Native
from jmsbridge.testing.marks import pitfall, rule
from jmsbridge.testing.scripted import ScriptedBackend, text_envelope

Connect = Callable[..., Connection]
QUEUE = Queue("orders")


@rule("CN-7")
@pitfall(9)
@pytest.mark.parametrize("prefetch", [0, 1, 250])
def test_receive_no_wait_gets_what_a_drain_brings(backend: ScriptedBackend, connect: Connect, prefetch: int) -> None:
    """The message is still on its way when receive_no_wait is called: only the drain's answer says that all is here."""
    consumer = connect().create_session().create_consumer(QUEUE, prefetch=prefetch)
    [subscription] = backend.links[-1].subscriptions
    sent: list[int] = []

    def bring(_: object) -> None:
        if not sent:
            sent.extend(subscription.deliver(text_envelope(QUEUE.address, "on its way")))

    backend.script.before["drain"] = bring
    message = consumer.receive_no_wait()
    assert isinstance(message, TextMessage)
    assert message.text == "on its way"
    assert consumer.receive_no_wait() is None
    assert [token for token, _ in backend.settled] == sent


@rule("CN-7")
@pitfall(9)
def test_receive_no_wait_allows_a_moment_where_there_is_no_drain(backend: ScriptedBackend, connect: Connect) -> None:
    """A broker that cannot say "that was all" gets a moment to deliver."""
    backend.lower(Native.DRAIN)
    consumer = connect().create_session().create_consumer(QUEUE, prefetch=0)
    [subscription] = backend.links[-1].subscriptions

    def late() -> None:
        subscription.deliver(text_envelope(QUEUE.address, "late"))

    def bring(_: object) -> None:
        backend.script.post(late)

    backend.script.before["grant"] = bring
    message = consumer.receive_no_wait()
    assert isinstance(message, TextMessage)
    assert message.text == "late"


@pytest.mark.parametrize(
    ("mode", "options", "window"),
    [
        (AUTO_ACKNOWLEDGE, {}, 250),
        (CLIENT_ACKNOWLEDGE, {}, 250),
        (DUPS_OK_ACKNOWLEDGE, {}, 250 + 99),
        (DUPS_OK_ACKNOWLEDGE, {"prefetch": 10}, 10 + 9),
        (DUPS_OK_ACKNOWLEDGE, {"dups_ok_messages": 1}, 250),
        (DUPS_OK_ACKNOWLEDGE, {"prefetch": 0}, 0),
    ],
)
def test_what_is_done_with_and_acknowledged_later_takes_no_room_from_the_window(
    connect: Connect, backend: ScriptedBackend, mode: int, options: dict[str, int], window: int
) -> None:
    session = connect(**options).create_session(acknowledge_mode=mode)
    session.create_consumer(QUEUE)
    assert [each.interest.window for each in backend.link.subscriptions] == [window]

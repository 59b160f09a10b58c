"""Browsers where the broker has none: all messages are released at once, whatever happens meanwhile."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import jmsbridge
from jmsbridge import Connection, EmulationWarning, InDoubt, JMSException, QueueBrowser, TextMessage, UnsupportedFeature
from jmsbridge.spi import BackendError, LinkLost, Mode, Native, Outcome
from jmsbridge.testing.scripted import ScriptedBackend, text_envelope
from jmsbridge.testing.suite.support import eventually, run_thread, text_of
from tests.core.conftest import Connect
from tests.core.emulation.support import QUEUE, Broker, send, texts

TEXTS = tuple(str(number) for number in range(20))

pytestmark = pytest.mark.filterwarnings("ignore::jmsbridge.errors.EmulationWarning")


def shown(browser: QueueBrowser) -> list[str | None]:
    return [message.text for message in browser if isinstance(message, TextMessage)]


def test_the_price_is_named_once(broker: Broker) -> None:
    session = broker.session()
    with pytest.warns(EmulationWarning, match=r"queue browser.*requeued"):
        browser = session.create_browser(QUEUE)
    assert shown(browser) == []


def test_a_truncated_browser_shows_the_first_messages_and_says_so(
    broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    session = broker.session(emulation_limit=12)
    send(session, *TEXTS)
    with caplog.at_level(logging.WARNING, "jmsbridge.browsing"):
        browser = session.create_browser(QUEUE)
        assert (shown(browser), browser.is_truncated) == (list(TEXTS[:12]), True)
    assert "first 12 messages" in caplog.text
    assert texts(session.create_consumer(QUEUE), 20) == list(TEXTS)


def test_a_queue_of_exactly_the_limit_is_not_truncated(broker: Broker, caplog: pytest.LogCaptureFixture) -> None:
    session = broker.session(emulation_limit=20)
    send(session, *TEXTS)
    browser = session.create_browser(QUEUE)
    assert (shown(browser), browser.is_truncated) == (list(TEXTS), False)
    assert "emulation_limit" not in caplog.text


def test_all_messages_are_released_before_the_first_is_shown(broker: Broker) -> None:
    """An iteration that is never finished hides no message from others."""
    session = broker.session()
    send(session, *TEXTS)
    iteration = iter(session.create_browser(QUEUE))
    assert text_of(next(iteration)) == "0"
    assert texts(broker.session().create_consumer(QUEUE), 20) == list(TEXTS)
    assert [text_of(message) for message in iteration] == list(TEXTS[1:])


def test_an_emulated_browser_evaluates_its_selector(broker: Broker) -> None:
    session = broker.session()
    send(session, "a", "b", colour="red")
    send(session, "c")
    assert shown(session.create_browser(QUEUE, "colour = 'red'")) == ["a", "b"]
    assert texts(session.create_consumer(QUEUE), 3) == ["a", "b", "c"]


def test_browsing_does_not_affect_a_transaction(broker: Broker) -> None:
    transacted = broker.session(True)
    send(transacted, "held back")
    send(broker.session(), *TEXTS)
    assert shown(transacted.create_browser(QUEUE)) == list(TEXTS)
    transacted.rollback()
    assert texts(transacted.create_consumer(QUEUE), 20) == list(TEXTS)


def test_thirty_enumerations_drop_nothing(broker: Broker) -> None:
    session = broker.session()
    send(session, *TEXTS)
    browser = session.create_browser(QUEUE)
    assert [shown(browser) for _ in range(30)] == [list(TEXTS)] * 30
    assert texts(session.create_consumer(QUEUE), 20) == list(TEXTS)


def test_refused_where_releasing_may_lose(broker: Broker) -> None:
    broker.lower(Native.UNLIMITED_REQUEUE)
    with pytest.raises(UnsupportedFeature, match="; the client cannot emulate it, because"):
        broker.session(emulation="allow").create_browser(QUEUE)


def test_refused_on_a_queue_with_a_delivery_limit(broker: Broker) -> None:
    broker.backend.below = Native.UNLIMITED_REQUEUE
    session = broker.session()
    send(session, *TEXTS)
    with pytest.raises(UnsupportedFeature, match="delivery limit"):
        list(session.create_browser(QUEUE))
    first = session.create_consumer(QUEUE).receive(timeout=5)
    assert isinstance(first, TextMessage)
    assert (first.text, first.jms_redelivered) == ("0", False)


# -- on the scripted backend -----------------------------------------------------------------------------------------


@pytest.fixture
def backend() -> Iterator[ScriptedBackend]:
    made = ScriptedBackend()
    made.lower(Native.BROWSE)
    with made.installed():
        yield made


@pytest.fixture
def connect(backend: ScriptedBackend) -> Iterator[Callable[..., Connection]]:
    opened: list[Connection] = []

    def connect(**options: Any) -> Connection:
        opened.append(jmsbridge.connect("scripted:", reconnect_delay=0.001, **options))
        return opened[-1]

    yield connect
    backend.script.before.clear()
    backend.script.answer_inline("drain")
    backend.script.release()
    for connection in opened:
        connection.close()


def test_the_verbs_in_their_order(backend: ScriptedBackend, connect: Callable[..., Connection]) -> None:
    """A browser opens a channel, grants credit once, drains, releases all in one step, and closes the channel."""
    browser = connect(emulation_limit=7).create_session().create_browser(QUEUE)
    tokens: list[int] = []

    def bring(_: object) -> None:
        tokens.extend(backend.subscription.deliver(*(text_envelope(QUEUE.address, text) for text in "abc")))

    backend.script.before["grant"] = bring
    before = len(backend.script.calls)
    assert shown(browser) == ["a", "b", "c"]
    calls = backend.script.calls[before:]
    assert [call.verb for call in calls] == [
        "channel",
        "subscribe",
        "grant",
        "drain",
        "settle",
        "close-subscription",
        "close-channel",
    ]
    interest = calls[1].detail
    assert (interest.mode, interest.window, interest.deferred, interest.selector) == (
        Mode.CONSUME,
        8,
        True,
        None,
    )  # one more, to know whether there are more
    assert calls[2].detail == 8
    assert backend.settled == [(token, Outcome.RELEASED) for token in tokens]


def test_without_a_drain_it_waits_a_moment(backend: ScriptedBackend, connect: Callable[..., Connection]) -> None:
    backend.lower(Native.DRAIN)
    browser = connect().create_session().create_browser(QUEUE)

    def late() -> None:
        backend.subscription.deliver(text_envelope(QUEUE.address, "late"))

    def bring(_: object) -> None:
        backend.script.post(late)

    backend.script.before["grant"] = bring
    assert shown(browser) == ["late"]


def test_without_a_drain_it_waits_longer_for_a_broker_that_is_far_away(
    backend: ScriptedBackend, connect: Callable[..., Connection]
) -> None:
    """How long subscribing takes tells how far."""
    backend.lower(Native.DRAIN)
    browser = connect().create_session().create_browser(QUEUE)
    backend.script.before["subscribe"] = lambda _: time.sleep(0.3)  # sleep: a round trip

    def late() -> None:
        backend.subscription.deliver(text_envelope(QUEUE.address, "late"))

    def bring(_: object) -> None:
        threading.Timer(0.3, backend.script.post, [late]).start()

    backend.script.before["grant"] = bring
    assert shown(browser) == ["late"]


@pytest.mark.parametrize("end", ["cut", "silence"])
def test_a_drain_that_fails_closes_the_channel(
    backend: ScriptedBackend, connect: Callable[..., Connection], end: str
) -> None:
    """Closing the channel requeues its messages, also those that arrive late."""
    browser = connect(send_timeout=0.2).create_session().create_browser(QUEUE)
    backend.hold("drain")
    looking = run_thread(lambda: list(browser))
    link = backend.link
    backend.script.wait_held("drain")
    if end == "cut":
        link.cut()
    with pytest.raises(JMSException) as caught:
        looking.result(5)
    assert isinstance(caught.value.__cause__, LinkLost if end == "cut" else BackendError)
    assert backend.script.verbs(1)[-1] == "close-channel"


def test_browsing_over_a_link_that_is_lost_is_not_in_doubt(backend: ScriptedBackend, connect: Connect) -> None:
    """It changes nothing."""
    browser = connect().create_session().create_browser(QUEUE)
    backend.hold("drain")

    def browse() -> JMSException:
        with pytest.raises(JMSException) as caught:
            list(browser)
        return caught.value

    error = run_thread(browse)
    eventually(lambda: "drain" in backend.script.verbs(1))
    backend.link.cut()
    assert not isinstance(error.result(30), InDoubt)
    backend.release("drain")

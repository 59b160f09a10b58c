"""How iterations end when their browser, session or link ends."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from jmsbridge import Connection, IllegalStateException, JMSException, Queue
from jmsbridge.testing.scripted import ScriptedBackend
from jmsbridge.testing.suite.support import send_texts, text_of
from tests.core.support import Embedded

Connect = Callable[..., Connection]
QUEUE = Queue("orders")


def test_closing_a_browser_ends_its_iterations(broker: Embedded) -> None:
    session = broker.connect().create_session()
    send_texts(session, QUEUE, *(f"m{number}" for number in range(250)))
    browser = session.create_browser(QUEUE)
    iterations: list[Iterator[Any]] = [iter(browser) for _ in range(5)]
    assert [next(one).text for one in iterations] == ["m0"] * 5
    assert len(browser._open) == 5
    browser.close()
    assert browser._open == set()
    for one in iterations:
        with pytest.raises(IllegalStateException):
            next(one)


def test_every_subscription_of_a_browser_is_closed(backend: ScriptedBackend, connect: Connect) -> None:
    session = connect().create_session()
    browser = session.create_browser(QUEUE)
    list(browser)
    assert backend.subscription.closed
    backend.hold("drain")
    browser.close()
    session.close()
    assert all(subscription.closed for subscription in backend.link.subscriptions)


def test_closing_the_session_ends_iterations(broker: Embedded) -> None:
    session = broker.connect().create_session()
    send_texts(session, QUEUE, "m0", "m1")
    iteration = iter(session.create_browser(QUEUE))
    assert text_of(next(iteration)) == "m0"
    session.close()
    with pytest.raises(IllegalStateException):
        next(iteration)


def test_an_iteration_ends_with_its_link_and_the_next_is_whole(broker: Embedded) -> None:
    connection = broker.connect()
    session = connection.create_session()
    texts = [f"m{number}" for number in range(150)]
    send_texts(session, QUEUE, *texts)
    browser = session.create_browser(QUEUE)
    iteration = iter(browser)
    assert text_of(next(iteration)) == "m0"
    broker.cut(connection)
    with pytest.raises(JMSException):
        list(iteration)
    assert browser._open == set()
    assert [text_of(message) for message in browser] == texts

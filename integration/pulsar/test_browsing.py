"""Browsers of a real Pulsar."""

import gc
from collections.abc import Callable

import pytest

from integration.lab.broker import Broker
from integration.networked.conftest import name
from integration.networked.connecting import connect
from integration.pulsar.test_faults import url_of
from jmsbridge import Connection, Queue
from jmsbridge.testing.suite.support import Completions

__all__ = ["connect", "name"]

pytestmark = pytest.mark.timeout(120)

COUNT = 1000


def test_a_browser_keeps_nothing_of_what_it_has_shown(
    pulsar: Broker, connect: Callable[..., Connection], name: str
) -> None:
    """A queue may be larger than the memory."""
    from jmsbridge_pulsar.receiving.delivery import Delivery

    session, completions = connect(url_of(pulsar)).create_session(), Completions()
    producer = session.create_producer(Queue(name))
    for number in range(COUNT):
        producer.send(session.create_text_message(str(number)), completion_listener=completions)
    completions.wait(COUNT, 30)
    browser = iter(session.create_browser(Queue(name)))
    assert [getattr(next(browser), "text", None) for _ in range(COUNT)] == [str(number) for number in range(COUNT)]
    gc.collect()
    assert sum(isinstance(each, Delivery) for each in gc.get_objects()) < COUNT / 2
    assert next(browser, None) is None

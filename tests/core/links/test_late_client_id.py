"""Setting the client id replaces the link, and a link may be lost at every moment of that."""

from collections.abc import Callable

import pytest

import jmsbridge
from jmsbridge import Connection, JMSContext, JMSException, Queue
from jmsbridge.spi import ClientIdRefused
from jmsbridge.testing.scripted import Call, ScriptedBackend
from jmsbridge.testing.suite.support import LONG, eventually, run_thread, send_texts

Connect = Callable[..., Connection]
QUEUE = Queue("orders")


def assert_one_link(backend: ScriptedBackend, client_id: str | None) -> None:
    """All links but the newest are closed, and that one has the client id."""
    assert [link.endpoint.client_id for link in backend.links if link.error is None] == [client_id]
    assert backend.link.error is None


def test_the_old_link_is_lost_while_the_new_one_is_opened(backend: ScriptedBackend, connect: Connect) -> None:
    connection = connect(start=False, send_timeout=LONG)
    supervisor = connection._core.supervisor

    def lose(call: Call) -> None:
        del backend.script.before["open"]
        backend.link.cut()
        # a reconnect would be over, if it did not wait
        eventually(lambda: supervisor.executor.is_current() or (len(backend.links) > 1 and supervisor._ready))

    backend.script.before["open"] = lose
    connection.client_id = "late"
    send_texts(connection.create_session(), QUEUE, "a")
    assert_one_link(backend, "late")
    assert supervisor.link is backend.link


def test_the_old_link_is_lost_and_the_new_one_refused(backend: ScriptedBackend, connect: Connect) -> None:
    connection = connect(start=False, send_timeout=LONG)

    def lose(call: Call) -> None:
        del backend.script.before["open"]
        backend.link.cut()

    backend.script.before["open"] = lose
    backend.refuse(1, ClientIdRefused("taken"))
    with pytest.raises(jmsbridge.InvalidClientIDException):
        connection.client_id = "late"
    send_texts(connection.create_session(), QUEUE, "a")
    assert_one_link(backend, None)


def test_the_new_link_is_lost_while_the_context_is_moved_to_it(backend: ScriptedBackend) -> None:
    context: JMSContext = jmsbridge.context("scripted:", reconnect_delay=0.001, send_timeout=LONG)

    def lose(call: Call) -> None:
        del backend.script.before["channel"]
        backend.link.cut()

    backend.script.before["channel"] = lose
    with context:
        context.client_id = "late"
        context.create_producer().send(QUEUE, "a")
        assert [envelope.body for envelope in backend.accepted] == ["a"]
        assert [link.number for link in backend.links] == [1, 2, 3]
        assert_one_link(backend, "late")


def test_it_waits_for_a_reconnect_but_not_for_ever(backend: ScriptedBackend, connect: Connect) -> None:
    connection = connect(start=False, send_timeout=0.3, reconnect_delay=60.0, reconnect_delay_max=60.0)
    supervisor = connection._core.supervisor
    backend.refuse(1)
    backend.link.cut()
    backend.script.wait_call("open", 2)
    with pytest.raises(JMSException, match="no link"):
        connection.client_id = "late"
    assert connection.client_id is None
    assert supervisor.link is backend.links[0]


def test_a_link_that_is_lost_just_before_is_replaced_first(backend: ScriptedBackend, connect: Connect) -> None:
    """The reconnect is waited for: it has begun, and ends with a link without the client id."""
    connection = connect(start=False, send_timeout=LONG)
    supervisor = connection._core.supervisor
    supervisor.submit(lambda: eventually(lambda: len(supervisor._tasks) == 2))  # until all is queued
    backend.link.cut()
    supervisor.wait_reopened("late", LONG)
    assert_one_link(backend, "late")


def test_it_ends_when_the_connection_is_closed(backend: ScriptedBackend, connect: Connect) -> None:
    connection = connect(start=False, send_timeout=60.0)
    supervisor = connection._core.supervisor
    supervisor.submit(lambda: eventually(lambda: supervisor._closed))
    setting = run_thread(lambda: supervisor.wait_reopened("late", 60.0))
    eventually(lambda: supervisor._changed.gates)
    connection.close()
    assert "closed" in str(setting.exception(LONG))
    assert len(backend.links) == 1

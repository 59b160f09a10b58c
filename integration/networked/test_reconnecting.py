"""Reconnecting: to which address, after which pauses, with which login, and when not at all."""

import itertools
import logging
from collections.abc import Callable

import pytest

from integration.lab.broker import Broker
from integration.networked.schemes import Scheme
from jmsbridge import (
    Connection,
    JMSException,
    JMSSecurityException,
    MessageConsumer,
    Queue,
    Topic,
)
from jmsbridge.testing.proxy import FaultProxy
from jmsbridge.testing.suite.support import LONG, eventually, receive_texts, send_surely, send_texts

Connect = Callable[..., Connection]
Proxies = Callable[..., FaultProxy]

_PATIENCE = 30.0  # seconds, generous for a loaded machine


def receive_until(consumer: MessageConsumer, last: str) -> list[str]:
    """The texts up to and including ``last``, each once."""
    texts: list[str] = []
    while last not in texts:
        texts += receive_texts(consumer, 1, _PATIENCE)
    return list(dict.fromkeys(texts))


@pytest.mark.filterwarnings("ignore:.*checked within the process:jmsbridge.EmulationWarning")
def test_a_failover_list(scheme: Scheme, broker: Broker, connect: Connect, name: str, fault_proxy: Proxies) -> None:
    """The first address is down; then the second fails while the first is up, and the connection continues there."""
    if not scheme.durable:
        pytest.skip(f"{scheme.name} has no durable subscriptions")
    first, second = fault_proxy(broker.url(scheme.plain)), fault_proxy(broker.url(scheme.plain))
    first.refuse()
    connection = connect(",".join(each.through(broker.url(scheme.plain)) for each in (first, second)), client_id=name)
    told: list[Exception] = []
    connection.exception_listener = told.append
    assert first.accepted == 0 < second.connections
    session, topic = connection.create_session(), Topic(f"{name}-topic")
    answers = session.create_temporary_queue()
    durable, temporary = session.create_durable_consumer(topic, "sub"), session.create_consumer(answers)
    for destination, consumer in ((topic, durable), (answers, temporary)):
        send_texts(session, destination, "before")
        assert receive_texts(consumer, 1) == ["before"]

    second.refuse()
    first.resume()
    second.cut()
    eventually(lambda: first.connections, _PATIENCE)
    send_surely(session, topic, "after", _PATIENCE)
    elsewhere = connect(broker).create_session()
    send_texts(elsewhere, topic, "from another")
    assert set(receive_until(durable, "from another")) - {"before"} == {"after", "from another"}
    send_surely(session, answers, "after", _PATIENCE)
    send_texts(elsewhere, answers, "from another")
    # "before" may come again: its acknowledgement was perhaps still on its way
    assert [text for text in receive_until(temporary, "from another") if text != "before"] == ["after", "from another"]
    assert second.connections == 0
    assert not told
    durable.close()
    session.unsubscribe("sub")


def attempts(caplog: pytest.LogCaptureFixture) -> list[float]:
    """The times of failed attempts to reconnect."""
    return [each.created for each in caplog.records if str(each.msg).startswith("reconnect attempt")]


def test_attempts_back_off_with_jitter(
    scheme: Scheme,
    broker: Broker,
    connect: Connect,
    name: str,
    fault_proxy: Proxies,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "jmsbridge.link")
    proxy, most = fault_proxy(broker.url(scheme.plain)), 0.8
    delays = [0.1, 0.2, 0.4, most, most]
    session = connect(
        proxy.through(broker.url(scheme.plain)), reconnect_delay=delays[0], reconnect_delay_max=most
    ).create_session()
    send_texts(session, Queue(name), "before")
    proxy.refuse()
    proxy.cut()
    eventually(lambda: len(attempts(caplog)) > len(delays), _PATIENCE)
    pauses = [later - earlier for earlier, later in itertools.pairwise(attempts(caplog))]
    for pause, delay in zip(pauses, delays, strict=False):
        assert pause > 0.49 * delay, (pauses, delays)  # at least half the delay, with a tolerance of the clock
    # with jitter some of this many attempts come sooner than the full delay, also on a slow machine
    eventually(
        lambda: any(later - earlier < most for earlier, later in itertools.pairwise(attempts(caplog)[3:])), _PATIENCE
    )
    proxy.resume()
    send_surely(session, Queue(name), "after", _PATIENCE)
    with session.create_consumer(Queue(name)) as consumer:
        assert receive_until(consumer, "after") == ["before", "after"]


def test_a_changed_password_ends_the_attempts(
    scheme: Scheme, broker: Broker, connect: Connect, name: str, fault_proxy: Proxies
) -> None:
    """One attempt only, since further ones might lock the account; waiting and later calls get the error."""
    if scheme.set_password is None:
        pytest.skip(f"{broker.title} reads its users only when it starts")
    scheme.set_password(broker, name, "first")
    proxy = fault_proxy(broker.url(scheme.plain))
    connection = connect(proxy.through(broker.url(scheme.plain, user=name, password="first")), reconnect_delay=0.01)
    told: list[Exception] = []
    connection.exception_listener = told.append
    session = connection.create_session()
    consumer = session.create_consumer(Queue(name))
    scheme.set_password(broker, name, "second")
    before = proxy.accepted
    proxy.cut()
    eventually(lambda: told, _PATIENCE)
    assert isinstance(told[0], JMSSecurityException)
    assert f"user '{name}'" in str(told[0])
    assert "first" not in str(told[0])
    with pytest.raises(JMSSecurityException):
        send_texts(session, Queue(name), "never")
    with pytest.raises(JMSException):
        consumer.receive(timeout=LONG)
    other = connect(broker).create_session().create_consumer(Queue(name))
    assert other.receive(timeout=0.5) is None  # enough time for fifty attempts
    assert proxy.accepted == before + 1
    assert len(told) == 1

"""Which topic ``unsubscribe`` of a backend gets."""

from collections.abc import Callable

from jmsbridge import Connection, Topic
from jmsbridge.spi import Address
from jmsbridge.testing.scripted import ScriptedBackend

Connect = Callable[..., Connection]


def _told(backend: ScriptedBackend) -> list[object]:
    return [call.detail for call in backend.script.calls if call.verb == "unsubscribe"]


def test_unsubscribe_names_the_topic_that_was_consumed_last(backend: ScriptedBackend, connect: Connect) -> None:
    """Also after a reconnect, and by another session of the connection; not after the subscription was deleted."""
    connection = connect()
    for topic in ("old", "news"):
        with connection.create_session() as session:
            session.create_shared_durable_consumer(Topic(topic), "audit")
    backend.link.cut()
    session = connection.create_session()
    session.unsubscribe("audit")
    session.unsubscribe("audit")
    assert _told(backend) == [("audit", Address("news", topic=True)), ("audit", None)]


def test_unsubscribe_names_no_topic_that_was_never_consumed(backend: ScriptedBackend, connect: Connect) -> None:
    connection = connect()
    connection.create_session().create_shared_consumer(Topic("news"), "audit")
    connect().create_session().create_shared_durable_consumer(Topic("news"), "audit")
    connection.create_session().unsubscribe("audit")
    assert _told(backend) == [("audit", None)]

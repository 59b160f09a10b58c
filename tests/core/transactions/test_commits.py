"""What makes a transaction rollback only, and how long a commit waits."""

from collections.abc import Callable
from typing import Any

import pytest

from jmsbridge import SESSION_TRANSACTED, Connection, Queue, TransactionRolledBackException
from jmsbridge.testing.marks import rule
from jmsbridge.testing.scripted import ScriptedBackend
from jmsbridge.testing.suite.support import LONG, receive_texts, run_thread, send_texts
from tests.core.support import Embedded

Connect = Callable[..., Connection]
QUEUE = Queue("orders")


@rule("TX-2", "AS-8")
@pytest.mark.parametrize("listening", [True, False])
def test_a_refused_send_makes_its_transaction_rollback_only(broker: Embedded, listening: bool) -> None:
    """The broker has room for two of three."""
    connection = broker.connect(max_messages=2)
    session = connection.create_session(session_mode=SESSION_TRANSACTED)
    producer = session.create_producer(QUEUE)
    errors: list[Any] = []
    options: dict[str, Any] = {"completion_listener": lambda message, error: errors.append(error)} if listening else {}
    for text in ("a", "b", "c"):
        producer.send(text, **options)
    with pytest.raises(TransactionRolledBackException):
        session.commit()
    assert [error is None for error in errors] == ([True, True, False] if listening else [])
    with connection.create_session().create_consumer(QUEUE) as consumer:
        assert consumer.receive_no_wait() is None
    send_texts(session, QUEUE, "d")
    session.commit()
    assert receive_texts(connection.create_session().create_consumer(QUEUE), 1) == ["d"]


def test_a_commit_waits_as_long_as_a_send(backend: ScriptedBackend, connect: Connect) -> None:
    session = connect(send_timeout=60.0, close_timeout=0.01).create_session(session_mode=SESSION_TRANSACTED)
    session.create_producer(QUEUE).send("m")
    backend.hold("commit")
    committing = run_thread(session.commit)
    backend.script.wait_held("commit")
    with pytest.raises(TimeoutError):
        committing.result(0.1)
    backend.script.release("commit")
    committing.result(LONG)
    assert [envelope.body for envelope in backend.accepted] == ["m"]

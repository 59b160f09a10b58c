"""Creating sessions by the forms of JMS 2.0 and of JMS 1.1 (sections 6.2.7 and 6.2.10)."""

from collections.abc import Callable

import pytest

from jmsbridge import (
    AUTO_ACKNOWLEDGE,
    CLIENT_ACKNOWLEDGE,
    DUPS_OK_ACKNOWLEDGE,
    SESSION_TRANSACTED,
    Connection,
    InvalidCall,
    Queue,
    Session,
)
from jmsbridge.spi.native import Native
from jmsbridge.testing.harness import Harness
from jmsbridge.testing.marks import requires, rule
from jmsbridge.testing.suite.support import assert_empty, receive_texts, send_texts

Create = Callable[[Connection], Session]

TRANSACTED: dict[str, Create] = {
    "mode": lambda connection: connection.create_session(SESSION_TRANSACTED),
    "named": lambda connection: connection.create_session(session_mode=SESSION_TRANSACTED),
    "true": lambda connection: connection.create_session(True, AUTO_ACKNOWLEDGE),
}
CLIENT: dict[str, Create] = {
    "mode": lambda connection: connection.create_session(CLIENT_ACKNOWLEDGE),
    "named": lambda connection: connection.create_session(session_mode=CLIENT_ACKNOWLEDGE),
    "false": lambda connection: connection.create_session(False, CLIENT_ACKNOWLEDGE),
}


@rule("TX-1", "TX-5")
@requires(Native.TRANSACTIONS)
@pytest.mark.parametrize("form", TRANSACTED)
def test_mode_transacted_by_one_argument_is_transacted(
    connection: Connection, session: Session, queue: Queue, form: str
) -> None:
    """Messages that were sent and not committed are dropped when the session closes."""
    transacted = TRANSACTED[form](connection)
    assert (transacted.transacted, transacted.acknowledge_mode) == (True, SESSION_TRANSACTED)
    send_texts(transacted, queue, "committed")
    transacted.commit()
    send_texts(transacted, queue, "never")
    transacted.close()
    consumer = session.create_consumer(queue)
    assert receive_texts(consumer, 1) == ["committed"]
    assert_empty(consumer)


@rule("AC-10")
@pytest.mark.parametrize("form", CLIENT)
def test_mode_client_by_one_argument_acknowledges_nothing(
    connection: Connection, session: Session, queue: Queue, form: str
) -> None:
    """A message that is not acknowledged comes again."""
    send_texts(session, queue, "kept")
    with CLIENT[form](connection) as client:
        assert (client.transacted, client.acknowledge_mode) == (False, CLIENT_ACKNOWLEDGE)
        assert receive_texts(client.create_consumer(queue), 1) == ["kept"]
    assert receive_texts(session.create_consumer(queue), 1) == ["kept"]


@rule("TX-1")
@pytest.mark.parametrize("mode", [AUTO_ACKNOWLEDGE, CLIENT_ACKNOWLEDGE, DUPS_OK_ACKNOWLEDGE])
def test_mode_without_transaction_sends_at_once(
    connection: Connection, session: Session, queue: Queue, mode: int
) -> None:
    """A session with an acknowledgement mode is not transacted: its sends are visible at once."""
    with connection.create_session(mode) as made:
        assert (made.transacted, made.acknowledge_mode) == (False, mode)
        send_texts(made, queue, "sent")
    assert receive_texts(session.create_consumer(queue), 1) == ["sent"]


@rule("TX-1")
@pytest.mark.parametrize("mode", [AUTO_ACKNOWLEDGE, CLIENT_ACKNOWLEDGE, DUPS_OK_ACKNOWLEDGE])
def test_mode_of_a_context_is_the_one_asked_for(harness: Harness, mode: int) -> None:
    """Contexts created by a factory and by another context have the requested mode."""
    with harness.factory().create_context(mode) as context, context.create_context(mode) as sibling:
        assert [each.session_mode for each in (context, sibling)] == [mode, mode]
        assert not sibling.transacted


@rule("TX-1")
def test_mode_between_the_forms_is_refused(connection: Connection, session: Session, queue: Queue) -> None:
    """Arguments that are neither form are refused; the connection stays usable."""
    with pytest.raises(InvalidCall, match="session mode alone"):
        connection.create_session(AUTO_ACKNOWLEDGE, CLIENT_ACKNOWLEDGE)  # type: ignore[call-overload]
    send_texts(session, queue, "usable")
    assert receive_texts(session.create_consumer(queue), 1) == ["usable"]

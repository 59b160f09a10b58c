"""Messages and errors that name messages can be pickled and copied, wherever they come from."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from jmsbridge import CLIENT_ACKNOWLEDGE, InDoubtException, InDoubtRuntimeException, Message, Queue, Session
from tests.core.support import Embedded

QUEUE = Queue("orders")

_COPIERS = [copy.deepcopy, copy.copy, lambda value: pickle.loads(pickle.dumps(value))]
_MAKERS: list[Callable[[Session], Message]] = [
    lambda session: session.create_message(),
    lambda session: session.create_text_message("text"),
    lambda session: session.create_bytes_message(),
    lambda session: session.create_map_message(),
    lambda session: session.create_stream_message(),
    lambda session: session.create_object_message([1, "two"]),
]


@pytest.mark.parametrize("copier", _COPIERS)
@pytest.mark.parametrize("make", _MAKERS)
def test_a_received_message_can_be_copied(
    broker: Embedded, make: Callable[[Session], Message], copier: Callable[[Any], Any]
) -> None:
    session = broker.connect().create_session(session_mode=CLIENT_ACKNOWLEDGE)
    message = make(session)
    message.set_int_property("number", 7)
    session.create_producer(QUEUE).send(message)
    received = session.create_consumer(QUEUE).receive(timeout=5)
    assert received is not None
    for original in (message, received):
        copied = copier(original)
        assert type(copied) is type(original)
        assert copied.jms_message_id == original.jms_message_id
        assert copied.jms_destination == QUEUE
        assert copied.get_int_property("number") == 7
        assert repr(copied.get_body(list) if hasattr(copied, "object") else copied) != ""
    received.acknowledge()


@pytest.mark.parametrize("copier", _COPIERS)
@pytest.mark.parametrize("kind", [InDoubtException, InDoubtRuntimeException])
def test_an_in_doubt_error_can_be_copied_with_its_messages(
    broker: Embedded, kind: Callable[..., Any], copier: Callable[[Any], Any]
) -> None:
    session = broker.connect().create_session(session_mode=CLIENT_ACKNOWLEDGE)
    session.create_producer(QUEUE).send("m")
    received = session.create_consumer(QUEUE).receive(timeout=5)
    error = copier(kind("in doubt", "TIMEOUT", unknown=(received,), refused=(session.create_text_message("r"),)))
    assert (error.reason, error.error_code) == ("in doubt", "TIMEOUT")
    assert [message.text for message in error.unknown] == ["m"]
    assert [message.text for message in error.refused] == ["r"]
    assert error.sent == ()

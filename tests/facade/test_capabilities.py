"""A missing capability is refused where it is first needed; unknown options are refused."""

from collections.abc import Callable

import pytest

import jmsbridge
from jmsbridge import Connection, Message, MessageProducer, Queue, Session, UnsupportedFeatureException
from jmsbridge.errors import ConfigurationError
from jmsbridge.spi import Native
from jmsbridge.testing.scripted import ScriptedBackend

Connect = Callable[..., Connection]
QUEUE = Queue("orders")


def test_an_unknown_option_is_refused(backend: ScriptedBackend) -> None:
    with pytest.raises(ConfigurationError, match="send_confirmations"):
        jmsbridge.connect("scripted:", send_confirmations="group")


@pytest.mark.parametrize(
    "send",
    [
        lambda producer: producer.send("m"),
        lambda producer: producer.send_async("m"),
        lambda producer: producer.send("m", delivery_mode=3),
        lambda producer: producer.send("m", delivery_mode=1, completion_listener=print),
    ],
)
def test_confirmed_sends_need_confirmation(
    backend: ScriptedBackend, connect: Connect, send: Callable[[MessageProducer], object]
) -> None:
    backend.lower(Native.SEND_CONFIRM)
    producer = connect().create_session().create_producer(QUEUE)
    with pytest.raises(UnsupportedFeatureException, match="send confirmation"):
        send(producer)
    producer.send("unconfirmed", delivery_mode=1)
    assert [envelope.body for envelope in backend.accepted] == ["unconfirmed"]


def test_a_send_acknowledgement_handler_needs_confirmation(backend: ScriptedBackend, connect: Connect) -> None:
    backend.lower(Native.SEND_CONFIRM)
    session = connect().create_session()
    session.send_acknowledgement_handler = print
    with pytest.raises(UnsupportedFeatureException, match="send confirmation"):
        session.create_producer(QUEUE).send("m", delivery_mode=1)
    assert backend.accepted == []


def _with_property(session: Session) -> Message:
    message = session.create_text_message("m")
    message.set_short_property("weight", 1)
    return message


@pytest.mark.parametrize(
    ("feature", "make"),
    [
        (Native.TYPED_PROPERTIES, _with_property),
        (Native.BODY_KINDS, lambda session: session.create_map_message()),
        (Native.BODY_KINDS, lambda session: session.create_object_message([1])),
    ],
)
def test_typed_content_needs_types(
    backend: ScriptedBackend, connect: Connect, feature: Native, make: Callable[[Session], Message]
) -> None:
    backend.lower(feature)
    session = connect().create_session()
    producer = session.create_producer(QUEUE)
    with pytest.raises(UnsupportedFeatureException):
        producer.send(make(session))
    producer.send("plain")
    assert [envelope.body for envelope in backend.accepted] == ["plain"]

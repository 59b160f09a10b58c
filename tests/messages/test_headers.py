"""Header fields, acknowledgement, freezing for a send, and what a received message shows."""

from collections.abc import MutableMapping
from typing import Any

import pytest

from jmsbridge.destinations import Queue, TemporaryQueue, Topic
from jmsbridge.errors import InvalidDestinationException, JMSException
from jmsbridge.message import (
    BytesMessage,
    MapMessage,
    Message,
    ObjectMessage,
    StreamMessage,
    TextMessage,
    message_from_arrival,
)
from jmsbridge.messages import arriving
from jmsbridge.spi.envelope import Address, BodyKind, Envelope
from jmsbridge.testing.marks import rule

KINDS = [Message, TextMessage, BytesMessage, MapMessage, StreamMessage, ObjectMessage]
HEADERS: dict[str, tuple[Any, Any]] = {
    "jms_message_id": (None, "ID:x"),
    "jms_timestamp": (0, 5),
    "jms_correlation_id": (None, "c"),
    "jms_correlation_id_as_bytes": (None, b"\xff"),
    "jms_reply_to": (None, Queue("r")),
    "jms_destination": (None, Topic("t")),
    "jms_delivery_mode": (2, 1),
    "jms_redelivered": (False, True),
    "jms_type": (None, "t"),
    "jms_expiration": (0, 6),
    "jms_delivery_time": (0, 7),
    "jms_priority": (4, 9),
}


def freeze(message: Message) -> Envelope:
    return message._freeze(Address("q"), "ID:1", 11, True, 4, 0, 0, None)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("header", HEADERS)
@rule("HD-2", "HD-9")
def test_headers_have_defaults_and_stay_writable_after_receipt(kind: type[Message], header: str) -> None:
    default, value = HEADERS[header]
    new = kind()
    assert getattr(new, header) == default
    arrived = message_from_arrival(freeze(new), False, 1, None)
    for message in (new, arrived):
        setattr(message, header, value)
        assert getattr(message, header) == value


def test_default_constants() -> None:
    assert (Message.DEFAULT_DELIVERY_MODE, Message.DEFAULT_PRIORITY) == (2, 4)
    assert (Message.DEFAULT_TIME_TO_LIVE, Message.DEFAULT_DELIVERY_DELAY) == (0, 0)


@rule("HD-1")
def test_another_provider_may_set_its_own_destination() -> None:
    class TheirQueue:
        pass

    theirs: object = TheirQueue()
    message = Message()
    message.jms_destination = theirs
    assert message.jms_destination is theirs
    assert freeze(message).address == Address("q")
    message.jms_destination = None
    assert message.jms_destination is None


@pytest.mark.parametrize(
    ("header", "value", "error"),
    [
        ("jms_reply_to", object(), InvalidDestinationException),
        ("jms_destination", "queue", InvalidDestinationException),
        ("jms_reply_to", "queue", InvalidDestinationException),
        ("jms_destination", 1, InvalidDestinationException),
        ("jms_type", 1, TypeError),
        ("jms_correlation_id", b"x", TypeError),
        ("jms_correlation_id_as_bytes", "x", TypeError),
        ("jms_redelivered", 1, TypeError),
    ],
)
def test_headers_of_a_wrong_type(header: str, value: Any, error: type[Exception]) -> None:
    message = Message()
    with pytest.raises(error):
        setattr(message, header, value)
    assert getattr(message, header) == HEADERS[header][0]


@rule("HD-13")
def test_correlation_ids_of_bytes_and_of_text() -> None:
    message = Message()
    source = bytearray(b"ab")
    message.jms_correlation_id_as_bytes = source
    source[0] = 0
    assert (message.jms_correlation_id_as_bytes, message.jms_correlation_id) == (b"ab", "ab")
    assert freeze(message).correlation_id == b"ab"
    message.jms_correlation_id_as_bytes = b"a\xff"
    assert message.jms_correlation_id == "a\\xff"
    message.jms_correlation_id = "é"
    assert (message.jms_correlation_id_as_bytes, freeze(message).correlation_id) == ("é".encode(), "é")


@pytest.mark.parametrize("kind", KINDS)
@rule("BO-6", "HD-7", "HD-8")
def test_a_message_arrives_as_what_was_sent(kind: type[Message]) -> None:
    sent = kind()
    sent.jms_correlation_id, sent.jms_type, sent.jms_reply_to = "c", "t", TemporaryQueue("tmp")
    sent.set_int_property("n", 1)
    envelope = sent._freeze(Address("events", topic=True), "ID:7", 100, False, 9, 200, 150, "dup")
    arrived = message_from_arrival(envelope, True, 2, None)
    assert type(arrived) is kind
    assert (arrived.jms_message_id, arrived.jms_timestamp, arrived.jms_expiration) == ("ID:7", 100, 200)
    assert (arrived.jms_delivery_time, arrived.jms_priority, arrived.jms_delivery_mode) == (150, 9, 1)
    assert (arrived.jms_correlation_id, arrived.jms_type, arrived.jms_redelivered) == ("c", "t", True)
    assert (arrived.jms_destination, arrived.jms_reply_to) == (Topic("events"), TemporaryQueue("tmp"))
    assert type(arrived.jms_reply_to) is TemporaryQueue
    assert (envelope.duplicate_id, arrived.get_int_property("n")) == ("dup", 1)


@rule("HD-6")
def test_without_a_delay_the_delivery_time_is_the_timestamp() -> None:
    assert message_from_arrival(freeze(Message()), False, 1, None).jms_delivery_time == 11


@pytest.mark.parametrize("kind", KINDS)
@rule("HD-11", "BO-4")
def test_what_was_frozen_does_not_change(kind: type[Message]) -> None:
    message = kind()
    message.set_int_property("n", 1)
    before = freeze(message)
    message.set_int_property("n", 2)
    message.jms_type = "later"
    match message:
        case TextMessage():
            message.text = "later"
        case BytesMessage():
            message.write_int(1)
        case MapMessage():
            message.set_int("later", 1)
        case StreamMessage():
            message.write_int(1)
        case ObjectMessage():
            message.object = "later"
        case _:
            message.clear_body()
    assert (before.properties, before.jms_type) == ({"n": 1}, None)
    assert before.body == freeze(kind()).body
    assert freeze(message).properties == {"n": 2}


@rule("HD-12")
def test_a_forwarded_message_shares_immutable_parts() -> None:
    envelope = Envelope(Address("q"), BodyKind.MAP, {"a": 1}, {"p": 1}, "ID:1", 1)
    message = message_from_arrival(envelope, False, 1, None)
    again = freeze(message)
    assert again.body is envelope.body
    assert again.properties is envelope.properties


@rule("AC-4")
def test_acknowledge_calls_the_session_or_nothing() -> None:
    calls: list[int] = []
    message = message_from_arrival(freeze(Message()), False, 1, lambda: calls.append(1))
    message.acknowledge()
    message.acknowledge()
    Message().acknowledge()
    assert calls == [1, 1]


@pytest.mark.parametrize("kind", KINDS)
@rule("AS-4")
def test_nothing_is_accessible_while_an_asynchronous_send_is_under_way(kind: type[Message]) -> None:
    message = kind()
    message.set_int_property("n", 1)
    views: list[MutableMapping[str, Any]] = [message.properties]
    if isinstance(message, MapMessage):
        views.append(message.body)
    message._gate = object()
    public = [name for name in dir(kind) if not name.startswith("_") and not name.startswith("DEFAULT")]
    for name in public:
        with pytest.raises(JMSException, match="being sent asynchronously"):
            touch(message, name)
    for mapping in views:
        with pytest.raises(JMSException, match="being sent asynchronously"):
            len(mapping)
        with pytest.raises(JMSException, match="being sent asynchronously"):
            del mapping["n"]
    assert repr(message) == f"{kind.__name__}(id=None, destination=None)"
    message._gate = None
    assert message.get_int_property("n") == 1


ARGUMENTS: dict[str, Any] = {
    "boolean": True, "byte": 1, "short": 1, "char": "c", "int": 1, "long": 1, "float": 1.0, "double": 1.0,
    "string": "s",
    "utf": "s", "bytes": b"b", "object": 1,
}  # fmt: skip


def touch(message: Message, name: str) -> None:
    """Use one public member in the way that its name asks for."""
    verb, _, rest = name.partition("_")
    member = getattr(message, name)
    if not callable(member):
        return
    typed = rest.removesuffix("_property")
    if name in ("get_body", "is_body_assignable_to"):
        member(object)
    elif verb == "set":
        member("n", ARGUMENTS[typed])
    elif verb == "write":
        member(ARGUMENTS[typed])
    elif verb in ("get", "property", "item"):
        member("n")
    elif name == "read_bytes":
        member(1)
    else:
        member()


@pytest.mark.parametrize("header", HEADERS)
@rule("AS-4")
def test_headers_cannot_be_set_meanwhile_either(header: str) -> None:
    message = Message()
    message._gate = object()
    with pytest.raises(JMSException, match="being sent asynchronously"):
        setattr(message, header, HEADERS[header][1])
    message._gate = None
    assert getattr(message, header) == HEADERS[header][0]


def test_repr_shows_id_and_destination_and_no_body() -> None:
    message = TextMessage("secret")
    message.jms_message_id, message.jms_destination = "ID:1", Queue("q")
    assert repr(message) == "TextMessage(id='ID:1', destination=Queue('q'))"


def test_messages_have_no_other_attributes() -> None:
    for kind in KINDS:
        with pytest.raises(AttributeError):
            kind().colour = "red"  # type: ignore[attr-defined]


def test_the_cache_of_destinations_is_bounded() -> None:
    for number in range(3000):
        envelope = Envelope(Address(f"q{number}"), BodyKind.NONE, None, {}, "ID:1", 1)
        assert message_from_arrival(envelope, False, 1, None).jms_destination == Queue(f"q{number}")
    assert len(arriving._destinations) <= 1024

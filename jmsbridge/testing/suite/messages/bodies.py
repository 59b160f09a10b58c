"""Bodies of all kinds: protection, reuse, copies, get_body (rules BO-1 to 6 and BO-16 to 18)."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from jmsbridge import (
    AUTO_ACKNOWLEDGE,
    CLIENT_ACKNOWLEDGE,
    SESSION_TRANSACTED,
    BytesMessage,
    MapMessage,
    Message,
    MessageEOFException,
    MessageFormatException,
    MessageFormatRuntimeException,
    MessageNotReadableException,
    MessageNotWriteableException,
    ObjectMessage,
    Queue,
    Session,
    StreamMessage,
    TextMessage,
)
from jmsbridge.spi.native import Native
from jmsbridge.testing.harness import Harness
from jmsbridge.testing.marks import pitfall, requires, rule
from jmsbridge.testing.suite.messages.wire import receive_as, receive_message, round_trip
from jmsbridge.testing.suite.support import LONG, assert_empty, receive_texts, run_thread, send_texts


def put_text(message: Any) -> None:
    """Give a text message its body."""
    message.text = "text"


def put_object(message: Any) -> None:
    """Give an object message its body."""
    message.object = ["object", 1]


class Kind(NamedTuple):
    """A message kind with a body: how to write it, and what a reader then finds."""

    cls: type[Message]
    create: Callable[[Session], Message]
    write: Callable[[Any], object]
    read: Callable[[Any], object]
    value: object


KINDS: dict[str, Kind] = {
    "text": Kind(TextMessage, lambda s: s.create_text_message(), put_text, lambda m: m.text, "text"),
    "object": Kind(ObjectMessage, lambda s: s.create_object_message(), put_object, lambda m: m.object, ["object", 1]),
    "map": Kind(MapMessage, lambda s: s.create_map_message(), lambda m: m.set_int("k", 1), lambda m: m.get_int("k"), 1),
    "bytes": Kind(
        BytesMessage, lambda s: s.create_bytes_message(), lambda m: m.write_int(1), lambda m: m.read_int(), 1
    ),
    "stream": Kind(
        StreamMessage, lambda s: s.create_stream_message(), lambda m: m.write_int(1), lambda m: m.read_int(), 1
    ),
}
STREAMS = {"bytes", "stream"}


def written(session: Session, kind: str) -> Message:
    """A new message of this kind with its body."""
    entry = KINDS[kind]
    message = entry.create(session)
    entry.write(message)
    return message


@rule("BO-1")
@pytest.mark.parametrize("kind", KINDS)
def test_body_of_a_received_message_is_read_only(session: Session, queue: Queue, kind: str) -> None:
    """Writing into a received body is refused, before and after reading it; the body stays."""
    entry = KINDS[kind]
    received = round_trip(session, queue, written(session, kind))
    for _ in range(2):
        with pytest.raises(MessageNotWriteableException):
            entry.write(received)
        if kind in STREAMS:
            assert isinstance(received, BytesMessage | StreamMessage)
            received.reset()
        assert entry.read(received) == entry.value


@rule("BO-1", "BO-2")
@pytest.mark.parametrize("kind", KINDS)
def test_body_cleared_is_like_new(session: Session, queue: Queue, kind: str) -> None:
    """clear_body makes a received body empty and writable, in write mode where there is one; it can be sent then."""
    entry = KINDS[kind]
    received = round_trip(session, queue, written(session, kind))
    received.clear_body()
    if kind in STREAMS:
        with pytest.raises(MessageNotReadableException):
            entry.read(received)
    elif isinstance(received, MapMessage):
        assert list(received.map_names) == []
    else:
        assert entry.read(received) is None
    entry.write(received)
    again = round_trip(session, queue, received)
    assert entry.read(again) == entry.value


@rule("BO-2")
@pytest.mark.parametrize("kind", sorted(STREAMS))
def test_body_streams_are_write_only_until_reset(session: Session, kind: str) -> None:
    """A new bytes or stream message is write-only, after reset read-only, after clear_body write-only."""
    entry = KINDS[kind]
    message: Any = written(session, kind)
    with pytest.raises(MessageNotReadableException):
        entry.read(message)
    if kind == "bytes":
        with pytest.raises(MessageNotReadableException):
            _ = message.body_length
    message.reset()
    with pytest.raises(MessageNotWriteableException):
        entry.write(message)
    assert entry.read(message) == entry.value
    message.clear_body()
    with pytest.raises(MessageNotReadableException):
        entry.read(message)
    entry.write(message)


@rule("BO-2")
@pytest.mark.parametrize("kind", sorted(set(KINDS) - STREAMS))
def test_body_text_map_and_object_are_readable_at_any_time(session: Session, queue: Queue, kind: str) -> None:
    """Text, map and object messages can be written and read in turn, also after a send."""
    entry = KINDS[kind]
    message = written(session, kind)
    assert entry.read(message) == entry.value
    session.create_producer(queue).send(message)
    assert entry.read(message) == entry.value
    entry.write(message)
    assert entry.read(message) == entry.value


@rule("BO-3")
@pitfall(37)
@pytest.mark.parametrize("kind", sorted(STREAMS))
@pytest.mark.parametrize("read_before", [False, True])
def test_body_written_and_reset_before_send_arrives_whole(
    session: Session, queue: Queue, kind: str, read_before: bool
) -> None:
    """The sender's reset, or reading, takes nothing from the message; the receiver begins at the beginning."""
    message: Any = KINDS[kind].create(session)
    message.write_int(1)
    message.write_double(2.5)
    message.reset()
    if read_before:
        assert message.read_int() == 1
    received: Any = round_trip(session, queue, message)
    assert (received.read_int(), received.read_double()) == (1, 2.5)
    with pytest.raises(MessageEOFException):
        received.read_int()
    received.reset()
    assert received.read_int() == 1


@rule("BO-4")
@pitfall(37)
@pytest.mark.parametrize("kind", sorted(STREAMS))
def test_body_sending_leaves_the_position_of_a_reader(session: Session, queue: Queue, kind: str) -> None:
    """A message that is sent while it is read can be read on, and sent again whole."""
    message: Any = KINDS[kind].create(session)
    for number in (1, 2, 3):
        message.write_int(number)
    message.reset()
    assert message.read_int() == 1
    first: Any = round_trip(session, queue, message)
    assert message.read_int() == 2
    second: Any = round_trip(session, queue, message)
    assert message.read_int() == 3
    for received in (first, second):
        assert [received.read_int() for _ in range(3)] == [1, 2, 3]


@rule("BO-4")
@pytest.mark.parametrize("kind", sorted(STREAMS))
def test_body_sending_leaves_the_position_of_a_writer(session: Session, queue: Queue, kind: str) -> None:
    """A message that is sent while it is written can be written on."""
    message: Any = KINDS[kind].create(session)
    producer, consumer = session.create_producer(queue), session.create_consumer(queue)
    message.write_int(1)
    producer.send(message)
    message.write_int(2)
    producer.send(message)
    first: Any = receive_message(consumer)
    second: Any = receive_message(consumer)
    assert first.read_int() == 1
    with pytest.raises(MessageEOFException):
        first.read_int()
    assert (second.read_int(), second.read_int()) == (1, 2)


@rule("BO-5")
def test_body_object_is_a_snapshot(session: Session, queue: Queue) -> None:
    """An object message keeps what its object was when it was set, and hands out copies."""
    original: dict[str, Any] = {"list": [1, 2], "text": "t"}
    by_argument = session.create_object_message(original)
    by_attribute = session.create_object_message()
    by_attribute.object = original
    original["list"].append(3)
    original["text"] = "changed"
    expected = {"list": [1, 2], "text": "t"}
    for message in (by_argument, by_attribute):
        received = round_trip(session, queue, message)
        for side in (message, received):
            copy = side.object
            assert copy == expected
            assert isinstance(copy, dict)
            inner = copy["list"]
            assert isinstance(inner, list)
            inner.clear()
            assert side.object == expected


@rule("BO-6")
@pytest.mark.parametrize("kind", KINDS)
def test_body_kind_survives_the_wire(session: Session, queue: Queue, kind: str) -> None:
    """Each kind arrives as itself, not as bytes or as a plain message."""
    entry = KINDS[kind]
    received = round_trip(session, queue, written(session, kind))
    assert [other for other, its in KINDS.items() if isinstance(received, its.cls)] == [kind]
    assert entry.read(received) == entry.value


def assert_no_body(message: Message) -> None:
    """The body of a new message is empty, of each kind."""
    if isinstance(message, TextMessage):
        assert message.text is None
    elif isinstance(message, ObjectMessage):
        assert message.object is None
    elif isinstance(message, MapMessage):
        assert list(message.map_names) == []
    elif isinstance(message, BytesMessage):
        assert message.body_length == 0
        with pytest.raises(MessageEOFException):
            message.read_byte()
    elif isinstance(message, StreamMessage):
        with pytest.raises(MessageEOFException):
            message.read_object()


@rule("BO-6")
def test_body_empty_messages_of_all_kinds_arrive(session: Session, queue: Queue) -> None:
    """Six kinds without a body, and the empty text, which is a body, arrive as what they are."""
    classes: list[type[Message] | None] = [None]
    sent = [session.create_message()]
    for entry in KINDS.values():
        classes.append(entry.cls)
        sent.append(entry.create(session))
    producer, consumer = session.create_producer(queue), session.create_consumer(queue)
    for message, cls in zip(sent, classes, strict=True):
        producer.send(message)
        received = receive_message(consumer)
        kinds = [entry.cls for entry in KINDS.values() if isinstance(received, entry.cls)]
        assert kinds == ([] if cls is None else [cls])
        assert_no_body(received)
    producer.send(session.create_text_message(""))
    assert receive_as(TextMessage, consumer).text == ""


BODIES: dict[str, tuple[list[type], list[type], object]] = {
    "text": ([str, object], [bytes, dict, int], "text"),
    "object": ([list, object], [str, bytes, dict], ["object", 1]),
    "map": ([dict, object], [str, bytes, list], {"k": 1}),
    "bytes": ([bytes, object], [str, dict], b"\x00\x00\x00\x01"),
    "stream": ([], [str, bytes, dict, object, list], None),
}


@rule("BO-16", "BO-17")
@pitfall(37)
@pytest.mark.parametrize("kind", BODIES)
def test_body_get_body_and_assignability(session: Session, queue: Queue, kind: str) -> None:
    """get_body gives the body as what it can be, is_body_assignable_to says so beforehand, on both sides."""
    good, _, value = BODIES[kind]
    message = written(session, kind)
    if isinstance(message, BytesMessage | StreamMessage):
        message.reset()
    for side in (message, round_trip(session, queue, message)):
        for wanted in good:
            assert side.is_body_assignable_to(wanted) is True
            assert side.get_body(wanted) == value


@rule("BO-16", "BO-17")
@pitfall(37)
@pytest.mark.parametrize("kind", BODIES)
def test_body_unassignable_types_are_refused(session: Session, queue: Queue, kind: str) -> None:
    """get_body with any other type is a format error, and with every type for a stream."""
    bad = BODIES[kind][1]
    received = round_trip(session, queue, written(session, kind))
    for wanted in bad:
        assert received.is_body_assignable_to(wanted) is False
        with pytest.raises(MessageFormatException):
            received.get_body(wanted)


@rule("BO-16", "BO-17")
@pitfall(37)
@pytest.mark.parametrize("wanted", [str, bytes, dict, list, object])
def test_body_absent_is_none_for_any_type(session: Session, queue: Queue, wanted: type) -> None:
    """A message without a body is assignable to every type, as None; an empty text is a body."""
    messages = [session.create_message(), session.create_text_message(), session.create_object_message()]
    for message in messages:
        for side in (message, round_trip(session, queue, message)):
            assert side.is_body_assignable_to(wanted) is True
            assert side.get_body(wanted) is None
    empty = round_trip(session, queue, session.create_text_message(""))
    assert empty.is_body_assignable_to(wanted) is issubclass(str, wanted)
    if issubclass(str, wanted):
        assert empty.get_body(str) == ""


@rule("BO-16")
def test_body_get_body_leaves_bytes_at_their_start(session: Session, queue: Queue) -> None:
    """get_body of a bytes message resets it before and after, wherever the reader was."""
    message = session.create_bytes_message()
    message.write_int(1)
    message.write_int(2)
    received = round_trip(session, queue, message)
    assert received.read_int() == 1
    assert received.get_body(bytes) == b"\x00\x00\x00\x01\x00\x00\x00\x02"
    assert (received.read_int(), received.read_int()) == (1, 2)


@rule("BO-16")
def test_body_get_body_of_bytes_in_write_mode_wrong_type(session: Session) -> None:
    """A bytes message that is being written is no text either."""
    message = session.create_bytes_message()
    message.write_int(1)
    with pytest.raises(MessageFormatException):
        message.get_body(str)


@rule("BO-18")
@pitfall(37)
def test_body_receive_body(harness: Harness, queue: Queue) -> None:
    """receive_body gives the bodies of text, bytes, map and object messages, and None when nothing came."""
    context = harness.context()
    producer, consumer = context.create_producer(), context.create_consumer(queue)
    producer.send(queue, "text").send(queue, b"bytes").send(queue, {"k": 1})
    producer.send(queue, context.create_object_message(["object"]))
    assert consumer.receive_body(str, timeout=LONG) == "text"
    assert consumer.receive_body(bytes, timeout=LONG) == b"bytes"
    assert consumer.receive_body(dict, timeout=LONG) == {"k": 1}
    assert consumer.receive_body(list, timeout=LONG) == ["object"]
    assert consumer.receive_body(str, timeout=0) is None
    assert consumer.receive_body_no_wait(str) is None
    producer.send(queue, "waiting")
    assert consumer.receive_body_no_wait(object) == "waiting"
    assert_empty(consumer)


REFUSED: dict[str, tuple[Callable[[Session], Message], type]] = {
    "stream": (lambda session: written(session, "stream"), object),
    "plain": (lambda session: session.create_message(), object),
    "text-without-text": (lambda session: session.create_text_message(), str),
    "object-without-object": (lambda session: session.create_object_message(), object),
    "wrong-type": (lambda session: written(session, "text"), bytes),
}


@rule("BO-18")
@pitfall(37)
@pytest.mark.parametrize("case", REFUSED)
def test_body_receive_body_refuses_and_leaves_the_message(
    harness: Harness, session: Session, queue: Queue, case: str
) -> None:
    """receive_body of a message without a fitting body is a format error, and the message stays first in the queue."""
    create, wanted = REFUSED[case]
    message = create(session)
    session.create_producer(queue).send(message)
    send_texts(session, queue, "next")
    consumer = harness.context().create_consumer(queue)
    for _ in range(2):
        with pytest.raises(MessageFormatRuntimeException):
            consumer.receive_body(wanted, timeout=LONG)
    received = consumer.receive(timeout=LONG)
    assert received is not None
    assert received.jms_message_id == message.jms_message_id
    assert (received.jms_redelivered, received.get_int_property("JMSXDeliveryCount")) == (False, 1)
    assert receive_texts(consumer, 1) == ["next"]
    assert_empty(consumer)


@rule("BO-18")
@pytest.mark.parametrize("mode", [AUTO_ACKNOWLEDGE, CLIENT_ACKNOWLEDGE])
def test_body_receive_body_of_no_type_leaves_the_message(
    harness: Harness, session: Session, queue: Queue, mode: int
) -> None:
    """What is no type is a TypeError, and in any thread and mode the message is then the next one, unmarked."""
    send_texts(session, queue, "first", "second")
    consumer = harness.context(mode).create_consumer(queue)
    wrong: Any = list[str]

    def receive() -> list[str]:
        with pytest.raises(TypeError):
            consumer.receive_body(wrong, timeout=LONG)
        received = consumer.receive(timeout=LONG)
        assert isinstance(received, TextMessage)
        assert (received.jms_redelivered, received.get_int_property("JMSXDeliveryCount")) == (False, 1)
        return [received.text or "", *receive_texts(consumer, 1)]

    assert run_thread(receive).result(LONG) == ["first", "second"]


@rule("BO-18")
@pytest.mark.parametrize(
    "mode",
    [
        pytest.param(CLIENT_ACKNOWLEDGE, id="client"),
        pytest.param(SESSION_TRANSACTED, id="transacted", marks=requires(Native.TRANSACTIONS)),
    ],
)
def test_body_receive_body_in_client_mode_counts_as_received(
    harness: Harness, session: Session, queue: Queue, mode: int
) -> None:
    """Under CLIENT and in transactions a message with a refused body counts as received; recover redelivers it."""
    send_texts(session, queue, "first", "second")
    context = harness.context(mode)
    consumer = context.create_consumer(queue)
    with pytest.raises(MessageFormatRuntimeException):
        consumer.receive_body(bytes, timeout=LONG)
    assert receive_texts(consumer, 1) == ["second"]
    context.recover() if mode else context.rollback()
    again = consumer.receive(timeout=LONG)
    assert isinstance(again, TextMessage)
    assert (again.text, again.jms_redelivered) == ("first", True)
    assert receive_texts(consumer, 1) == ["second"]
    context.acknowledge() if mode else context.commit()

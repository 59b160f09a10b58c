"""Messages of other implementations, and of senders that do not use JMS (rules BO-7, BO-8)."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from jmsbridge import (
    BytesMessage,
    DeliveryMode,
    Float,
    IllegalStateException,
    Int,
    MapMessage,
    MessageEOFException,
    MessageFormatException,
    ObjectMessage,
    Queue,
    Session,
    StreamMessage,
    TextMessage,
)
from jmsbridge.spi.envelope import BodyKind, Envelope
from jmsbridge.spi.errors import BackendError
from jmsbridge.testing.harness import Harness
from jmsbridge.testing.marks import pitfall, rule
from jmsbridge.testing.suite.messages.wire import receive_as, receive_message
from jmsbridge.testing.suite.support import LONG, Completions, assert_empty


class Foreign:
    """A message of another implementation: the same public names, no class of jmsbridge."""

    def __init__(self) -> None:
        self.jms_message_id: str | None = "ID:foreign"
        self.jms_timestamp = 1111
        self.jms_destination: Any = Queue("foreign")
        self.jms_delivery_mode = 2
        self.jms_expiration = 2222
        self.jms_delivery_time = 3333
        self.jms_priority = 1
        self.jms_redelivered = True
        self.jms_correlation_id: str | None = "foreign correlation"
        self.jms_reply_to: Any = None
        self.jms_type: str | None = "foreign type"
        self._properties: dict[str, Any] = {"number": Int(7), "real": Float(0.5), "text": "property"}

    @property
    def property_names(self) -> Iterator[str]:
        """The names of the properties."""
        return iter(self._properties)

    def get_object_property(self, name: str) -> Any:
        """One property."""
        return self._properties[name]


class ForeignText(Foreign):
    """With a text."""

    text: str | None = "foreign text"


class ForeignObject(Foreign):
    """An object message of another implementation."""

    @property
    def object(self) -> Any:
        """The object."""
        return {"k": [1, "two"]}


class ForeignMap(Foreign):
    """With fields."""

    @property
    def map_names(self) -> Iterator[str]:
        """The names of the fields."""
        return iter(["a", "b"])

    def get_object(self, name: str) -> Any:
        """One field."""
        return {"a": Int(1), "b": b"bytes"}[name]


class ForeignStream(Foreign):
    """A stream message of another implementation; when it is sent, its first value has been read."""

    def __init__(self) -> None:
        super().__init__()
        self._position = 2

    def reset(self) -> None:
        """Begin anew."""
        self._position = 0

    def read_object(self) -> Any:
        """The next value."""
        values = [Int(1), "two", b"three"]
        if self._position == len(values):
            raise MessageEOFException("end")
        self._position += 1
        return values[self._position - 1]

    def read_bytes(self, buffer: bytearray, length: int | None = None) -> int:
        """Part of the interface of stream messages; a send does not call it."""
        raise AssertionError("values are copied as objects")


class ForeignBytes(Foreign):
    """A bytes message of another implementation, in write mode when it is sent."""

    def __init__(self) -> None:
        super().__init__()
        self._position = -1

    @property
    def body_length(self) -> int:
        """Readable after reset only."""
        assert self._position >= 0, "not reset"
        return 5

    def reset(self) -> None:
        """Begin anew."""
        self._position = 0

    def read_bytes(self, buffer: bytearray, length: int | None = None) -> int:
        """As much as fits."""
        assert self._position >= 0, "not reset"
        piece = b"bytes"[self._position : self._position + (len(buffer) if length is None else length)]
        buffer[: len(piece)] = piece
        self._position += len(piece)
        return len(piece) or -1


FOREIGN: dict[str, tuple[type[Foreign], type, Callable[[Any], object], object]] = {
    "text": (ForeignText, TextMessage, lambda m: m.text, "foreign text"),
    "object": (ForeignObject, ObjectMessage, lambda m: m.object, {"k": [1, "two"]}),
    "map": (ForeignMap, MapMessage, lambda m: m.get_body(dict), {"a": 1, "b": b"bytes"}),
    "stream": (ForeignStream, StreamMessage, lambda m: [m.read_object() for _ in range(3)], [1, "two", b"three"]),
    "bytes": (ForeignBytes, BytesMessage, lambda m: m.get_body(bytes), b"bytes"),
}
SPOILED = ("ID:foreign", 1111, Queue("foreign"), 2222, 3333, 1)


def headers(message: Any) -> tuple[object, ...]:
    """What a send fills in."""
    return (
        message.jms_message_id,
        message.jms_timestamp,
        message.jms_destination,
        message.jms_expiration,
        message.jms_delivery_time,
        message.jms_priority,
        message.jms_delivery_mode,
    )


@rule("BO-8")
@pitfall(36)
@pytest.mark.parametrize("kind", FOREIGN)
def test_body_foreign_messages_are_sent(session: Session, queue: Queue, kind: str) -> None:
    """Body, properties and the client's headers of a foreign message arrive in a message of its kind."""
    make, expected, read, body = FOREIGN[kind]
    session.create_producer(queue).send(make())
    received = receive_message(session.create_consumer(queue))
    assert isinstance(received, expected)
    assert read(received) == body
    assert received.jms_correlation_id == "foreign correlation"
    assert received.jms_type == "foreign type"
    names = {name for name in received.property_names if not name.startswith("JMS")}
    assert {name: received.get_object_property(name) for name in names} == {
        "number": 7,
        "real": 0.5,
        "text": "property",
    }
    assert type(received.get_object_property("real")) is Float


@rule("BO-8", "HD-1")
@pitfall(36)
@pytest.mark.parametrize("kind", ["text", "plain"])
def test_body_foreign_provider_headers_are_ignored_and_written_back(session: Session, queue: Queue, kind: str) -> None:
    """A send sets the provider's headers of a foreign message by the object's own setters."""
    message = Foreign() if kind == "plain" else ForeignText()
    session.create_producer(queue).send(message, delivery_mode=DeliveryMode.NON_PERSISTENT, priority=7, time_to_live=60)
    received = receive_message(session.create_consumer(queue))
    assert headers(message) == headers(received)
    assert (message.jms_destination, message.jms_priority, message.jms_delivery_mode) == (queue, 7, 1)
    assert message.jms_message_id not in (None, "ID:foreign")
    assert message.jms_expiration >= message.jms_timestamp + 59_000
    assert message.jms_delivery_time not in (0, 3333)
    assert received.jms_redelivered is False


@rule("BO-8")
@pitfall(24, 36)
def test_body_foreign_message_through_a_completion_listener(session: Session, queue: Queue) -> None:
    """The completion listener gets the foreign object itself, with its headers set."""
    seen: list[tuple[object, ...]] = []
    completions = Completions(on=lambda message: seen.append(headers(message)))
    message = ForeignText()
    producer = session.create_producer(queue)
    producer.send(message, priority=8, completion_listener=completions)
    producer.close()
    received = receive_as(TextMessage, session.create_consumer(queue))
    assert [event[0] for event in completions.events] == ["completed"]
    assert completions.messages[0] is message  # type: ignore[comparison-overlap]
    assert completions.threads[0] is not threading.current_thread()
    assert seen == [headers(received)]
    assert received.text == "foreign text"


@rule("BO-8")
@pitfall(36)
def test_body_foreign_message_through_a_context(harness: Harness, queue: Queue) -> None:
    """A JMSProducer sends foreign messages too, its own headers and properties over theirs."""
    context = harness.context()
    message = ForeignText()
    context.create_producer().set_jms_type("producer's").set_property("number", 8).send(queue, message)
    received = context.create_consumer(queue).receive(timeout=LONG)
    assert isinstance(received, TextMessage)
    assert (received.text, received.jms_type) == ("foreign text", "producer's")
    assert (received.get_int_property("number"), received.get_string_property("text")) == (8, "property")
    assert headers(message) == headers(received)


class Older(ForeignText):
    """A message of JMS 1.1, which has no delivery time."""

    @property
    def jms_delivery_time(self) -> int:
        """Cannot be set."""
        return 0

    @jms_delivery_time.setter
    def jms_delivery_time(self, value: int) -> None:
        if value != 3333:  # what the constructor sets
            raise NotImplementedError("setJMSDeliveryTime")


@rule("BO-8")
@pytest.mark.parametrize("asynchronous", [False, True])
def test_body_foreign_header_that_cannot_be_set_is_logged(
    session: Session, queue: Queue, caplog: pytest.LogCaptureFixture, asynchronous: bool
) -> None:
    """The message is sent, its other headers are written back, and the log says which one was not."""
    message, completions = Older(), Completions()
    producer = session.create_producer(queue)
    options: dict[str, Any] = {"completion_listener": completions} if asynchronous else {}
    producer.send(message, priority=8, **options)
    producer.close()
    received = receive_as(TextMessage, session.create_consumer(queue))
    assert received.text == "foreign text"
    assert (message.jms_message_id, message.jms_priority) == (received.jms_message_id, 8)
    assert [event[0] for event in completions.events] == ["completed"] * asynchronous
    assert "jms_delivery_time" in caplog.text


class ForeignBytesId(ForeignText):
    """A message with a correlation id of bytes, and with a text made from them, or None."""

    def __init__(self, text: str | None) -> None:
        super().__init__()
        self.jms_correlation_id = text
        self.jms_correlation_id_as_bytes = b"\xff\x00\x01"


@rule("BO-8", "HD-13")
@pytest.mark.parametrize("text", [None, "\ufffd\x00\x01"])
def test_body_foreign_correlation_id_of_bytes_is_carried(session: Session, queue: Queue, text: str | None) -> None:
    """Bytes for which there is no text arrive as those bytes."""
    session.create_producer(queue).send(ForeignBytesId(text))
    received = receive_message(session.create_consumer(queue))
    assert received.jms_correlation_id_as_bytes == b"\xff\x00\x01"


class Refusing(ForeignText):
    """A text message whose getter raises."""

    @property
    def text(self) -> str | None:  # type: ignore[override]
        """Always an error."""
        raise MessageFormatException("foreign trouble")


@rule("BO-8")
@pytest.mark.parametrize("asynchronous", [False, True])
def test_body_foreign_error_of_a_getter_surfaces(session: Session, queue: Queue, asynchronous: bool) -> None:
    """An exception of a foreign getter is raised by send, and nothing is sent."""
    completions = Completions()
    options: dict[str, Any] = {"completion_listener": completions} if asynchronous else {}
    producer = session.create_producer(queue)
    with pytest.raises(MessageFormatException, match="foreign trouble"):
        producer.send(Refusing(), **options)
    producer.close()
    assert completions.events == []
    assert_empty(session.create_consumer(queue))


@rule("BO-8", "CL-2")
@pitfall(40)
def test_body_foreign_message_closed_producer(session: Session, queue: Queue) -> None:
    """A closed producer raises IllegalState before it reads the foreign message."""
    producer = session.create_producer(queue)
    producer.close()
    message = Refusing()
    with pytest.raises(IllegalStateException):
        producer.send(message)
    assert headers(message)[:6] == SPOILED


@rule("BO-8")
@pitfall(25)
@pytest.mark.parametrize("thing", [object(), 5, [1]], ids=["object", "int", "list"])
def test_body_no_message_at_all_is_refused(session: Session, queue: Queue, thing: Any) -> None:
    """Sending an object that is neither a message nor a body is a format error."""
    with pytest.raises(MessageFormatException):
        session.create_producer(queue).send(thing)
    assert_empty(session.create_consumer(queue))


class Answer:
    """A ticket that can be waited for."""

    def __init__(self) -> None:
        self.answered = threading.Event()
        self.error: BackendError | None = None

    def succeed(self) -> None:
        """The broker has it."""
        self.answered.set()

    def fail(self, error: BackendError) -> None:
        """The broker does not have it."""
        self.error = error
        self.answered.set()


@rule("BO-7")
def test_body_native_bytes_arrive_usable(harness: Harness, session: Session, queue: Queue) -> None:
    """A message with nothing but an address and bytes is a bytes message whose every header can be read."""
    bare = Envelope(
        address=queue.address, kind=BodyKind.BYTES, body=b"native", properties={}, message_id=None, timestamp=0
    )
    answer = Answer()
    harness.open_link().channel(False).send(bare, answer)
    assert answer.answered.wait(LONG)
    assert answer.error is None
    received = receive_as(BytesMessage, session.create_consumer(queue))
    assert received.get_body(bytes) == b"native"
    assert (received.jms_destination, received.jms_reply_to, received.jms_type) == (queue, None, None)
    assert (received.jms_correlation_id, received.jms_expiration, received.jms_redelivered) == (None, 0, False)
    assert received.jms_priority == 4
    assert {name for name in received.property_names if not name.startswith("JMS")} == set()
    assert received.get_int_property("JMSXDeliveryCount") == 1

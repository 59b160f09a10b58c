"""RabbitMQ's own Java client and jmsbridge read each other's messages: every cell is equal, or one of ``LOSSES``."""

import json
import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

import jmsbridge
from integration.interop.describing import Description, describe
from integration.interop.program import Program
from integration.lab.broker import Broker
from integration.lab.external import External
from jmsbridge import Byte, Char, Float, Long, Short
from jmsbridge_rabbitmq.messages.losses import LOSSES

Connect = Callable[..., jmsbridge.Connection]
MODES = ("jms", "amqp")
VALUES: dict[str, Any] = {
    "bool": True,
    "byte": Byte(-5),
    "bytes": b"\x01\x02\xfd",
    "char": Char("€"),
    "double": -6.02e23,
    "float": Float(0.1),
    "int": 70000,
    "long": Long(1 << 40),
    "null": None,
    "short": Short(300),
    "string": "naïve 😀",
}

NOT_FINITE: dict[str, Any] = {"nan": math.nan, "infinity": Float(math.inf), "least": -math.inf}
FIELDS: dict[str, Any] = {
    "bool": True,
    "byte": -5,
    "bytes": "AQL9",
    "char": "€",
    "double": -6.02e23,
    "float": 0.10000000149011612,
    "int": 70000,
    "long": 1 << 40,
    "null": None,
    "short": 300,
    "string": "naïve 😀",
}
"""The same as they stand in the JSON of map and stream bodies."""
TYPES = {name: name for name in ("byte", "bytes", "char", "float", "long", "short")}
CORRELATION = b"c-1\xff"
UNSEEN = {"to Java: JMSDeliveryTime"}
"""What the Java program does not tell."""


@pytest.fixture
def uri(rabbitmq: Broker | External) -> str:
    """Where the Java client connects."""
    return rabbitmq.url("amqp")


@pytest.fixture
def connect(rabbitmq: Broker | External) -> Iterator[Connect]:
    """Opens started connections in a dialect, which end with the test."""
    with ExitStack() as stack:

        def begin(dialect: str, **options: Any) -> jmsbridge.Connection:
            query = "&".join(f"{name}={value}" for name, value in {"dialect": dialect, **options}.items())
            url = f"{rabbitmq.url('rabbitmq')}?{query}"
            # a group's headers are to be written, whatever RabbitMQ makes of groups
            connection = stack.enter_context(jmsbridge.connect(url, emulation={"message_groups": "allow"}))
            connection.start()
            return connection

        yield begin


class Losses:
    """The cells of one run that may differ: each must be in the table, and what is in the table must differ."""

    def __init__(self, mode: str) -> None:
        self.listed = LOSSES[mode]
        self.met: set[str] = set()

    def meet(self, loss: str) -> None:
        """This one is lost."""
        assert loss in self.listed
        self.met.add(loss)

    def check(self, way: str) -> None:
        """Nothing is listed that was carried."""
        assert {each for each in self.met if each.startswith(way)} == {
            each for each in self.listed if each.startswith(way) and each not in UNSEEN
        }


# --- from Java


def as_python_sees(mode: str, sent: Description, seen: Description, losses: Losses) -> Description:
    """What Java sent, less what is known to be lost."""
    if mode == "jms":
        return sent
    expected = dict(sent)
    if sent["kind"] == "TextMessage":
        losses.meet("from Java: TextMessage")
        expected |= {"kind": "BytesMessage", "body": ["bytes", sent["body"][1].encode().hex()]}
    if sent["expiration"]:
        losses.meet("from Java: expiration")
        assert abs(seen["expiration"] - sent["expiration"]) < 30_000  # of ten minutes; the first send takes its time
        expected["expiration"] = seen["expiration"]
    return expected


@pytest.mark.parametrize("mode", MODES)
def test_python_reads_what_java_sends(mode: str, connect: Connect, uri: str, interop: Program, name: str) -> None:
    session = connect(mode).create_session()
    consumer = session.create_consumer(session.create_queue(name))
    sent = {each["message_id"]: each for each in interop.run(uri, mode, "emit", name)}
    assert len(sent) == (11 if mode == "jms" else 5)
    losses = Losses(mode)
    if mode == "jms" and "Message" not in {each["kind"] for each in sent.values()}:
        losses.meet("from Java: Message")
    while sent:  # in any order: one has a higher priority
        message = consumer.receive(timeout=30)
        assert message is not None
        seen = describe(message)
        assert seen == as_python_sees(mode, sent.pop(seen["message_id"]), seen, losses)
    losses.check("from Java: ")


# --- to Java


def matrix(session: jmsbridge.Session) -> Iterator[jmsbridge.Message]:
    """Every kind of message, with every type of property; then the headers."""
    yield session.create_text_message("héllo € 😀 \0 end")
    yield session.create_text_message("x" * 5000)
    yield session.create_text_message(None)
    binary = session.create_bytes_message()
    binary.write_bytes(b"\0\1\xac\xed\x77\xff")
    yield binary
    mapping = session.create_map_message()
    for name, value in VALUES.items():
        mapping.set_object(name, value)
    yield mapping
    stream = session.create_stream_message()
    for value in VALUES.values():
        stream.write_object(value)
    yield stream
    yield session.create_object_message([1, "a", [2.5]])
    yield session.create_object_message(None)
    yield session.create_message()
    headers = session.create_text_message("headers")
    headers.jms_correlation_id = "request-é-1"
    headers.jms_type = "order"
    headers.jms_reply_to = session.create_temporary_queue()
    headers.set_string_property("JMSXGroupID", "group-1")
    headers.set_int_property("JMSXGroupSeq", 3)
    yield headers
    binary_id = session.create_text_message("correlation as bytes")
    binary_id.jms_correlation_id_as_bytes = CORRELATION
    binary_id.jms_reply_to = session.create_topic("answers")
    yield binary_id


def as_java_sees(mode: str, marked: bool, sent: Description, seen: Description, losses: Losses) -> Description:
    """What Python sent, less what is known to be lost."""
    expected = dict(sent)
    if mode == "jms":
        if is_binary(sent["correlation_id"]):
            losses.meet("to Java: correlation id as bytes")  # what is expected here is the text that stands for them
        return expected
    kind, body = sent["kind"], sent["body"]
    if kind == "TextMessage":
        text = "" if body is None else body[1]
        if body is None:
            losses.meet("to Java: null texts")
        expected["body"] = ["String", text]
        if not marked or sent["type"] is not None:  # the marker would stand in the type's place
            losses.meet("to Java: TextMessage")
            expected |= {"kind": "BytesMessage", "body": ["bytes", text.encode().hex()]}
    elif kind != "BytesMessage":
        losses.meet("to Java: other kinds")
        expected |= {"kind": "BytesMessage", "body": body_of_another_kind(sent, seen)}
    if sent["type"] is None:
        losses.meet("to Java: JMSType")
        expected["type"] = expected["kind"]
    if sent["reply_to"] is not None:
        losses.meet("to Java: JMSReplyTo")
        expected["reply_to"] = ["queue", False, sent["reply_to"][2]]
    expected["properties"] = properties_there(sent, losses)
    return expected


def is_binary(correlation_id: str | None) -> bool:
    """Whether it is the text that stands for bytes."""
    return correlation_id is not None and "\\xff" in correlation_id


def body_of_another_kind(sent: Description, seen: Description) -> Any:
    """The bytes of what Java has no kind for: JSON in any writing, Java's own stream, or nothing."""
    if sent["kind"] == "MapMessage":
        assert json.loads(bytes.fromhex(seen["body"][1])) == {"map": FIELDS, "types": TYPES}
        return seen["body"]
    if sent["kind"] == "StreamMessage":
        types = {str(number): TYPES[name] for number, name in enumerate(FIELDS) if name in TYPES}
        assert json.loads(bytes.fromhex(seen["body"][1])) == {"stream": list(FIELDS.values()), "types": types}
        return seen["body"]
    return ["bytes", ""] if sent["body"] is None else sent["body"]


def properties_there(sent: Description, losses: Losses) -> Description:
    """The properties as Java sees them, and the notes beside them."""
    found: Description = {}
    notes: Description = {}
    for name, value in sent["properties"].items():
        if name.startswith("JMSX"):
            losses.meet("to Java: JMSX properties")
        elif value is None:
            losses.meet("to Java: null properties")
            notes["x-jb-nulls"] = json.dumps([name])
        else:
            found[name] = ["String", value[1]]
            if value[0] != "String":
                losses.meet("to Java: property types")
    if "p_nan" in found:
        losses.meet("to others: NaN and infinities")
        notes["x-jb-floats"] = json.dumps({"p_nan": "double", "p_infinity": "float", "p_least": "double"})
    if sent["kind"] == "TextMessage" and sent["body"] is None:
        notes["x-jb-null"] = "true"
    if sent["reply_to"] is not None:
        notes["x-jb-reply-to"] = "temp-queue" if sent["reply_to"][1] else "topic"
    if is_binary(sent["correlation_id"]):
        notes["x-jb-correlation"] = CORRELATION.hex()
    if notes:
        losses.meet("to Java: notes")
    return found | {name: ["String", note] for name, note in notes.items()}


@pytest.mark.filterwarnings("ignore:.*message groups:jmsbridge.EmulationWarning")
@pytest.mark.parametrize(("mode", "marked"), [("jms", False), ("amqp", False), ("amqp", True)])
def test_java_reads_what_python_sends(
    mode: str, marked: bool, connect: Connect, uri: str, interop: Program, name: str
) -> None:
    session = connect(mode, text_marker=str(marked).lower()).create_session()
    queue = session.create_queue(name)
    producer = session.create_producer(queue)
    sent = []
    for message in matrix(session):
        if message.jms_correlation_id is None:
            for property_name, value in (VALUES | NOT_FINITE).items():
                if not isinstance(value, (bytes, Char)):
                    message.set_object_property(f"p_{property_name}", value)
            producer.send(message)
        else:
            producer.send(message, delivery_mode=jmsbridge.DeliveryMode.NON_PERSISTENT, priority=7, time_to_live=600)
        sent.append(describe(message))
    if mode == "jms":  # where Java has a place for the time of delivery; it comes last in any case
        message = session.create_text_message("later")
        producer.delivery_delay = 0.5
        producer.send(message)
        sent.append(describe(message))
    seen = interop.run(uri, mode, "verify", name, str(len(sent)))
    assert len(seen) == len(sent)
    losses = Losses(mode)
    for each, there in zip(sent, seen, strict=True):
        assert there == as_java_sees(mode, marked, each, there, losses)
    losses.check("to Java: ")


# --- requests and answers


@pytest.mark.parametrize("mode", MODES)
def test_python_answers_java(mode: str, connect: Connect, uri: str, interop: Program, name: str) -> None:
    session = connect(mode).create_session()
    consumer = session.create_consumer(session.create_queue(name))
    with interop.start(uri, mode, "ask", name, "how much?") as asking:
        request = consumer.receive(timeout=30)
        assert request is not None
        assert request.jms_reply_to is not None
        assert describe(request)["reply_to"][:2] == ["queue", True]
        answer = session.create_text_message("42")
        answer.jms_correlation_id = request.jms_message_id
        session.create_producer(request.jms_reply_to).send(answer)
        sent, seen = asking.rest()
    assert seen["correlation_id"] == sent["message_id"]
    assert seen["body"] == (["String", "42"] if mode == "jms" else ["bytes", b"42".hex()])


@pytest.mark.parametrize("mode", MODES)
def test_java_answers_python(mode: str, connect: Connect, uri: str, interop: Program, name: str) -> None:
    session = connect(mode, text_marker="true").create_session()
    queue, answers = session.create_queue(name), session.create_temporary_queue()
    consumer = session.create_consumer(answers)
    session.create_consumer(queue).close()  # now the queue is there
    with interop.start(uri, mode, "serve", name, "3") as serving:
        producer = session.create_producer(queue)
        for number in range(3):
            request = session.create_text_message(f"request {number}")
            request.jms_reply_to = answers
            producer.send(request)
            answer = consumer.receive(timeout=30)
            assert answer is not None
            assert answer.jms_correlation_id == request.jms_message_id
            body = (
                answer.text if isinstance(answer, jmsbridge.TextMessage) else (answer.get_body(bytes) or b"").decode()
            )
            assert body == f"re: request {number}"
        assert len(serving.rest()) == 3


# --- topics


def test_a_durable_subscription_is_shared_between_the_languages(
    connect: Connect, uri: str, interop: Program, name: str
) -> None:
    session = connect("jms", prefetch=1).create_session()
    topic = session.create_topic(name)
    consumer = session.create_shared_durable_consumer(topic, f"{name}-shared")
    with interop.start(uri, "jms", "durable", name, f"{name}-shared", "3", "keep") as java:
        assert java.line() == "ready"
        producer = session.create_producer(topic)
        for number in range(10):
            producer.send(f"text {number}")
        here = []
        for _ in range(7):
            message = consumer.receive(timeout=30)
            assert isinstance(message, jmsbridge.TextMessage)
            here.append(message.text)
        consumer.close()
        there = [each["body"][1] for each in java.rest()]
    assert sorted(here + there) == sorted(f"text {number}" for number in range(10))
    # Nobody is attached now, and the subscription goes on.
    sent = interop.run(uri, "jms", "publish", name, "3")
    consumer = session.create_shared_durable_consumer(topic, f"{name}-shared")
    for each in sent:
        message = consumer.receive(timeout=30)
        assert message is not None
        assert describe(message) == each
    consumer.close()
    session.unsubscribe(f"{name}-shared")


def test_a_durable_subscription_with_a_selector_is_shared(
    connect: Connect, uri: str, interop: Program, name: str
) -> None:
    session = connect("jms", prefetch=1, topic_selectors="broker").create_session()
    topic = session.create_topic(name)
    producer = session.create_producer(topic)

    def publish() -> None:
        for number in range(12):
            message = session.create_text_message(f"text {number}")
            message.set_int_property("n", number)
            message.set_string_property("s", "here" if number % 2 else "there")
            producer.send(message)

    selector = "n > 3 AND s LIKE 'h%'"
    with interop.start(uri, "jms", "select", name, f"{name}-shared", selector, "2") as java:
        assert java.line() == "ready"
        consumer = session.create_shared_durable_consumer(topic, f"{name}-shared", selector)
        publish()
        here = texts(consumer, 2)
        consumer.close()
        there = [each["body"][1] for each in java.rest()]
    assert sorted(here + there) == ["text 11", "text 5", "text 7", "text 9"]
    consumer = session.create_shared_durable_consumer(topic, f"{name}-shared", selector)
    publish()  # Java is gone, and its binding stays
    assert texts(consumer, 4) == ["text 5", "text 7", "text 9", "text 11"]
    consumer.close()
    consumer = session.create_shared_durable_consumer(topic, f"{name}-shared", "n < 2")
    publish()
    assert texts(consumer, 2) == ["text 0", "text 1"]
    assert consumer.receive(timeout=0.2) is None
    consumer.close()
    session.unsubscribe(f"{name}-shared")


def texts(consumer: jmsbridge.MessageConsumer, count: int) -> list[str | None]:
    """What the next text messages say."""
    found = []
    for _ in range(count):
        message = consumer.receive(timeout=30)
        assert isinstance(message, jmsbridge.TextMessage)
        found.append(message.text)
    return found


def test_java_hears_what_python_publishes(connect: Connect, uri: str, interop: Program, name: str) -> None:
    session = connect("jms").create_session()
    with interop.start(uri, "jms", "durable", name, f"{name}-sub", "3") as java:
        assert java.line() == "ready"
        producer = session.create_producer(session.create_topic(name))
        sent = []
        for number in range(3):
            message = session.create_text_message(f"text {number}")
            producer.send(message)
            sent.append(describe(message))
        assert java.rest() == sent

"""Which messages a selector matches (section 3.8), on a queue and on a topic."""

from collections.abc import Callable
from typing import Any

import pytest

from jmsbridge import DeliveryMode, InvalidSelector, Message, Queue, Session
from jmsbridge.spi import Native
from jmsbridge.testing.harness import Harness
from jmsbridge.testing.marks import requires, rule
from jmsbridge.testing.suite.support import LONG, assert_empty, receive_texts, send_coloured
from jmsbridge.values import Long

on_queue_and_topic = pytest.mark.parametrize(
    "kind",
    [
        pytest.param("queue", marks=requires(Native.QUEUE_SELECTORS)),
        pytest.param("topic", marks=requires(Native.TOPIC_SELECTORS)),
    ],
)


class Selection:
    """Sends one message against a table of selectors and compares what each of them let through."""

    def __init__(self, harness: Harness, kind: str) -> None:
        self.session: Session = harness.connect().create_session()
        self.queue = harness.queue()
        self.topic = harness.topic()
        self.kind = kind

    def check(
        self,
        properties: dict[str, Any],
        expected: dict[str, bool],
        *,
        prepare: Callable[[Message], None] | None = None,
        **send_options: Any,
    ) -> None:
        """A text message with these properties passes exactly the selectors that ``expected`` says."""
        message = self.session.create_text_message("x")
        for name, value in properties.items():
            message.set_object_property(name, value)
        if prepare is not None:
            prepare(message)
        self.check_message(message, expected, **send_options)

    def check_message(self, message: Message, expected: dict[str, bool], **send_options: Any) -> None:
        """The same for a message of any kind."""
        if self.kind == "queue":
            passed = {
                selector: self._passes_on_queue(message, selector, wanted, send_options)
                for selector, wanted in expected.items()
            }
        else:
            passed = self._passes_on_topic(message, expected, send_options)
        assert passed == expected

    def _passes_on_queue(self, message: Message, selector: str, wanted: bool, send_options: dict[str, Any]) -> bool:
        with self.session.create_producer(self.queue) as producer:
            producer.send(message, **send_options)
        with self.session.create_consumer(self.queue, selector) as choosy:
            got = choosy.receive(timeout=LONG if wanted else 0)
        if got is None:  # then a consumer without selector must still get it
            with self.session.create_consumer(self.queue) as everything:
                left = everything.receive(timeout=LONG)
            assert left is not None, f"{selector!r} did not match, yet the message is gone from the queue"
        return got is not None

    def _passes_on_topic(
        self, message: Message, expected: dict[str, bool], send_options: dict[str, Any]
    ) -> dict[str, bool]:
        consumers = {selector: self.session.create_consumer(self.topic, selector) for selector in expected}
        with self.session.create_producer(self.topic) as producer:
            producer.send(message, **send_options)
        passed = {}
        for selector, consumer in consumers.items():
            passed[selector] = consumer.receive(timeout=LONG if expected[selector] else 0) is not None
            consumer.close()
        return passed


@rule("SE-1")
@pytest.mark.parametrize("selector", [None, ""])
def test_sel_empty_selector_is_no_selector(
    harness: Harness, session: Session, queue: Queue, selector: str | None
) -> None:
    """None and '' select everything, and read back as None."""
    consumer = session.create_consumer(queue, selector)
    assert consumer.message_selector is None
    assert session.create_consumer(harness.topic(), selector).message_selector is None
    assert harness.context().create_consumer(harness.queue(), selector).message_selector is None
    consumer.close()
    session.create_producer(queue).send(session.create_text_message("plain"))
    assert receive_texts(session.create_consumer(queue, selector), 1) == ["plain"]


@rule("SE-4")
@on_queue_and_topic
def test_sel_string_literals(harness: Harness, kind: str) -> None:
    Selection(harness, kind).check(
        {"s": "it's", "u": "日本 ☃ 𝄞", "q": '"x"', "e": ""},
        {
            "s = 'it''s'": True,
            "s = 'its'": False,
            "u = '日本 ☃ 𝄞'": True,
            "u = '日本'": False,
            "q = '\"x\"'": True,
            "q = 'x'": False,
            "e = ''": True,
            "s = ''": False,
        },
    )


@rule("SE-5")
@on_queue_and_topic
def test_sel_exact_numeric_literals(harness: Harness, kind: str) -> None:
    """Decimal, octal, hexadecimal, with or without L, down to the smallest long."""
    Selection(harness, kind).check(
        {"i": 29, "n": Long(-(2**63))},
        {
            "i = 29": True,
            "i = 035": True,
            "i = 35": False,
            "i = 0x1d": True,
            "i = 0X1D": True,
            "i = 29L": True,
            "i = 29l": True,
            "n = -9223372036854775808L": True,
            "n = -9223372036854775808": True,
            "n = -9223372036854775807": False,
        },
    )


@rule("SE-6")
@on_queue_and_topic
def test_sel_approximate_numeric_literals(harness: Harness, kind: str) -> None:
    Selection(harness, kind).check(
        {"d": 7000.0, "e": -57900.0, "z": 0.0, "s": 7.0},
        {
            "s = 7.": True,
            "d = .7e4": True,
            "d = 7E3": True,
            "d = 7e+3": True,
            "d = 7E-3": False,
            "e = -57.9E3": True,
            "z = 0.": True,
            "s = 7F": True,
            "s = 7.0d": True,
            "s = 7.5D": False,
        },
    )


@rule("SE-7")
@on_queue_and_topic
def test_sel_identifiers(harness: Harness, kind: str) -> None:
    """Java identifiers: letters, _ and $, any length, case-sensitive; '-' is a minus."""
    long_name = "n" * 200
    Selection(harness, kind).check(
        {"_x": 1, "$x": 1, "Colour": 1, long_name: 1, "x": 5, "Nullable": 1},
        {
            "_x = 1": True,
            "$x = 1": True,
            "Colour = 1": True,
            "colour = 1": False,
            "COLOUR IS NULL": True,
            f"{long_name} = 1": True,
            f"{long_name}n = 1": False,
            "x-1 = 4": True,
            "Nullable = 1": True,
        },
    )


@rule("SE-7")
@on_queue_and_topic
def test_sel_identifiers_of_any_script(harness: Harness, kind: str) -> None:
    Selection(harness, kind).check({"été": 1, "色": 2}, {"été = 1": True, "色 = 2": True, "色 = 1": False})


@rule("SE-8")
@on_queue_and_topic
def test_sel_headers(harness: Harness, kind: str) -> None:
    """Six headers can be named; JMSDeliveryMode is a word, not a number."""

    def prepare(message: Message) -> None:
        message.jms_type = "order"
        message.jms_correlation_id = "c-1"

    selection = Selection(harness, kind)
    selection.check(
        {},
        {
            "JMSDeliveryMode = 'PERSISTENT'": True,
            "JMSDeliveryMode <> 'NON_PERSISTENT'": True,
            "JMSDeliveryMode = 2": False,
            "JMSPriority = 7": True,
            "JMSPriority = 4": False,
            "JMSType = 'order'": True,
            "JMSCorrelationID = 'c-1'": True,
            "JMSCorrelationID = 'c-2'": False,
            "JMSMessageID LIKE 'ID:%'": True,
            "JMSTimestamp > 1000000000000": True,
        },
        prepare=prepare,
        priority=7,
    )
    selection.check(
        {},
        {
            "JMSDeliveryMode = 'NON_PERSISTENT'": True,
            "JMSDeliveryMode = 'PERSISTENT'": False,
            "JMSDeliveryMode = 1": False,
            "JMSType IS NULL": True,
        },
        delivery_mode=DeliveryMode.NON_PERSISTENT,
    )


@rule("SE-8")
@requires(Native.QUEUE_SELECTORS)
def test_sel_message_id_and_timestamp(session: Session, queue: Queue) -> None:
    """One message of several is found by the id and time that send put on the sender's object."""
    sent = []
    with session.create_producer(queue) as producer:
        for text in ("one", "two", "three"):
            message = session.create_text_message(text)
            producer.send(message)
            sent.append(message)
    second = sent[1]
    selector = f"JMSMessageID = '{second.jms_message_id}' AND JMSTimestamp = {second.jms_timestamp}"
    with session.create_consumer(queue, selector) as consumer:
        assert receive_texts(consumer, 1) == ["two"]
        assert consumer.receive_no_wait() is None
    assert receive_texts(session.create_consumer(queue), 2) == ["one", "three"]


@rule("SE-8")
@requires(Native.TOPIC_SELECTORS)
def test_sel_headers_beyond_the_six_select_nothing(harness: Harness, session: Session) -> None:
    """JMSExpiration and the like are no selector values: refused at creation, or null, but never compared."""
    topic = harness.topic()
    consumers = {}
    for selector in ("JMSExpiration = 0", "JMSRedelivered = FALSE", f"JMSDestination = '{topic.topic_name}'"):
        try:
            consumers[selector] = session.create_consumer(topic, selector)
        except InvalidSelector:
            continue  # Refused at creation: that is allowed.
    witness = session.create_consumer(topic)
    session.create_producer(topic).send(session.create_text_message("x"))
    assert receive_texts(witness, 1) == ["x"]
    assert [selector for selector, consumer in consumers.items() if consumer.receive_no_wait() is not None] == []


@rule("SE-9")
@on_queue_and_topic
def test_sel_never_looks_into_the_body(harness: Harness, kind: str) -> None:
    """A map field is no property; tabs, form feeds and line ends are white space."""
    selection = Selection(harness, kind)
    message = selection.session.create_map_message()
    message.set_string("colour", "red")
    message.set_int_property("size", 1)
    selection.check_message(
        message,
        {"colour = 'red'": False, "colour IS NULL": True, "\tsize\n=\r\n1\f": True, "size=1": True},
    )


@rule("SE-23")
@requires(Native.QUEUE_SELECTORS)
def test_sel_queue_keeps_what_does_not_match(harness: Harness, session: Session, queue: Queue) -> None:
    """Messages that one consumer does not select stay for others, in order unless selectors are emulated."""
    with session.create_producer(queue) as producer:
        for number, colour in enumerate(("red", "green", "red", "green")):
            message = session.create_text_message(f"{colour}-{number}")
            message.set_string_property("colour", colour)
            producer.send(message)
    red = session.create_consumer(queue, "colour = 'red'")
    assert receive_texts(red, 2) == ["red-0", "red-2"]
    assert red.receive_no_wait() is None
    others = receive_texts(session.create_consumer(queue, "colour = 'green'"), 2)
    assert (others if Native.QUEUE_SELECTORS in harness.native else sorted(others)) == ["green-1", "green-3"]


@rule("SE-23")
@requires(Native.TOPIC_SELECTORS | Native.DURABLE)
@pytest.mark.parametrize("selector", ["colour = 'red'", "colour LIKE 'r%'"])
def test_sel_topic_never_had_what_does_not_match(harness: Harness, selector: str) -> None:
    """A message is matched when it is published; a wider selector later does not bring earlier messages."""
    topic, name = harness.topic(), harness.name("sub")
    session = harness.connect(client_id=harness.name("client")).create_session()
    session.create_durable_consumer(topic, name, selector).close()
    send_coloured(session, topic, "red", "green")
    with session.create_durable_consumer(topic, name, selector) as narrow:
        assert receive_texts(narrow, 1) == ["red"]
        assert_empty(narrow)
    with session.create_durable_consumer(topic, name) as wide:
        assert_empty(wide)
    session.unsubscribe(name)

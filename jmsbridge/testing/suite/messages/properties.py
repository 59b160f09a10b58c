"""Message properties: types, names, protection, what a receiver sees (sections 3.5.1 to 3.5.11; rules PR and JX)."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from jmsbridge import (
    SESSION_TRANSACTED,
    Byte,
    Char,
    Connection,
    Double,
    Float,
    Int,
    Long,
    Message,
    MessageFormatException,
    MessageFormatRuntimeException,
    MessageNotWriteableException,
    MessageNotWriteableRuntimeException,
    Queue,
    Session,
    Short,
    TextMessage,
)
from jmsbridge.spi.native import Native
from jmsbridge.testing.harness import Harness
from jmsbridge.testing.marks import pitfall, requires, rule
from jmsbridge.testing.suite.messages.wire import receive_as, receive_message, round_trip
from jmsbridge.testing.suite.support import LONG, assert_empty, grouping

SETTERS: dict[str, Any] = {
    "boolean": True,
    "byte": 1,
    "short": 1,
    "int": 1,
    "long": 1,
    "float": 1.0,
    "double": 1.0,
    "string": "1",
    "object": 1,
}

BOXED: dict[str, tuple[Any, type]] = {
    "boolean": (True, bool),
    "byte": (Byte(-128), Byte),
    "short": (Short(32767), Short),
    "int": (Int(-2147483648), Int),
    "long": (Long(9), Long),
    "float": (Float(0.1), Float),
    "double": (Double(0.1), Double),
    "string": ("tèxt \U0001f600 'quoted'", str),
}

FOREIGN: dict[str, Any] = {
    "char": Char("x"),
    "list": [1],
    "map": {"a": 1},
    "bytes": b"x",
    "tuple": (1,),
    "decimal": Decimal(1),
    "object": object(),
}


def set_property(message: Message, kind: str, name: Any, value: Any) -> None:
    """``message.set_<kind>_property(name, value)``."""
    getattr(message, f"set_{kind}_property")(name, value)


@rule("PR-1")
@pytest.mark.parametrize("kind", BOXED)
def test_properties_object_takes_the_boxed_types(session: Session, queue: Queue, kind: str) -> None:
    """All eight types go in through the object setter and come out as what they were."""
    value, boxed = BOXED[kind]
    message = session.create_message()
    message.set_object_property("p", value)
    for side in (message, round_trip(session, queue, message)):
        found = side.get_object_property("p")
        assert found == value
        assert type(found) is boxed


@rule("PR-1")
@pitfall(34)
@pytest.mark.parametrize("kind", FOREIGN)
def test_properties_object_of_a_foreign_type_is_refused(session: Session, kind: str) -> None:
    """A character, a list, a map and bytes are refused as property values, and nothing is set."""
    message = session.create_message()
    with pytest.raises(MessageFormatException):
        message.set_object_property("p", FOREIGN[kind])
    with pytest.raises(MessageFormatException):
        message.properties["p"] = FOREIGN[kind]
    assert not message.property_exists("p")


@rule("PR-1")
@pytest.mark.parametrize("kind", FOREIGN)
def test_properties_context_producer_refuses_a_foreign_type(harness: Harness, kind: str) -> None:
    """The same rule with the unchecked class; nothing is set."""
    producer = harness.context().create_producer()
    with pytest.raises(MessageFormatRuntimeException):
        producer.set_property("p", FOREIGN[kind])
    assert not producer.property_exists("p")


@rule("PR-1")
def test_properties_none_is_a_value(session: Session, queue: Queue) -> None:
    """A property may be null, as object or as string, and reads back as null on both sides."""
    message = session.create_message()
    message.set_object_property("object", None)
    message.set_string_property("string", None)
    for side in (message, round_trip(session, queue, message)):
        assert side.get_object_property("object") is None
        assert side.get_string_property("string") is None


@rule("PR-2")
@pytest.mark.parametrize("name", [None, ""], ids=["null", "empty"])
@pytest.mark.parametrize("kind", SETTERS)
def test_properties_missing_name_is_refused(session: Session, kind: str, name: str | None) -> None:
    """Every setter refuses an empty or missing name."""
    message = session.create_message()
    with pytest.raises(ValueError):
        set_property(message, kind, name, SETTERS[kind])
    assert list(message.property_names) == []


@rule("PR-2")
@pytest.mark.parametrize("name", [None, ""], ids=["null", "empty"])
def test_properties_context_producer_refuses_a_missing_name(harness: Harness, name: Any) -> None:
    """A JMSProducer refuses an empty or missing name, too."""
    producer = harness.context().create_producer()
    with pytest.raises(ValueError):
        producer.set_property(name, "value")
    assert set(producer.property_names) == set()


@rule("PR-2")
@pytest.mark.parametrize("name", ["1x", "a-b", "a.b", "a b", "%", "NULL", "LIKE", "BETWEEN", "JMSThing"])
def test_properties_name_is_an_identifier(harness: Harness, session: Session, name: str) -> None:
    """A name that is not an identifier, or that is a header's, is refused by message and JMSProducer."""
    message = session.create_message()
    with pytest.raises(ValueError):
        message.set_int_property(name, 1)
    with pytest.raises(ValueError):
        message.properties[name] = 1
    with pytest.raises(ValueError):
        harness.context().create_producer().set_property(name, 1)
    assert list(message.property_names) == []


@rule("PR-2")
def test_properties_names_of_any_letters_arrive(session: Session, queue: Queue) -> None:
    """Letters of any script, ``_``, ``$`` and digits inside make a name, of any length."""
    names = ["_", "$price", "größe", "名前", "x1", "a" * 300, "JMS_vendor_thing"]
    message = session.create_message()
    for number, name in enumerate(names):
        message.set_int_property(name, number)
    received = round_trip(session, queue, message)
    assert [received.get_int_property(name) for name in names] == list(range(len(names)))


@rule("PR-3")
def test_properties_of_a_received_message_are_read_only(session: Session, queue: Queue) -> None:
    """Every setter of a received message refuses, the mapping view included; the values stay."""
    message = session.create_message()
    message.set_int_property("p", 7)
    received = round_trip(session, queue, message)
    for kind, value in SETTERS.items():
        with pytest.raises(MessageNotWriteableException):
            set_property(received, kind, "p", value)
        with pytest.raises(MessageNotWriteableException):
            set_property(received, kind, "new", value)
    with pytest.raises(MessageNotWriteableException):
        received.properties["p"] = 8
    assert received.get_int_property("p") == 7
    assert not received.property_exists("new")


@rule("PR-3")
def test_properties_cleared_are_writable_and_the_body_stays(session: Session, queue: Queue) -> None:
    """clear_properties empties and opens the properties, and leaves the body read-only with its text."""
    message = session.create_text_message("body")
    message.set_int_property("p", 7)
    received = round_trip(session, queue, message)
    received.clear_properties()
    assert not received.property_exists("p")
    received.set_string_property("fresh", "yes")
    assert received.get_string_property("fresh") == "yes"
    assert received.text == "body"
    with pytest.raises(MessageNotWriteableException):
        received.text = "other"


@rule("PR-3")
def test_properties_survive_clear_body(session: Session, queue: Queue) -> None:
    """clear_body opens the body and leaves the properties, still read-only."""
    message = session.create_text_message("body")
    message.set_int_property("p", 7)
    received = round_trip(session, queue, message)
    received.clear_body()
    received.text = "other"
    assert received.text == "other"
    assert received.get_int_property("p") == 7
    with pytest.raises(MessageNotWriteableException):
        received.set_int_property("p", 8)


@rule("PR-6")
@pitfall(33)
def test_properties_names_exclude_headers_include_count(harness: Harness, queue: Queue) -> None:
    """Headers are no properties; the delivery count is one, at the receiver only."""
    session = grouping(harness)
    message = session.create_text_message("body")
    message.jms_correlation_id = "c"
    message.jms_type = "t"
    message.jms_reply_to = queue
    message.set_string_property("JMSXGroupID", "g")
    received = round_trip(session, queue, message)
    assert set(message.property_names) == {"JMSXGroupID"}
    names = set(received.property_names)
    assert {"JMSXGroupID", "JMSXDeliveryCount"} <= names
    assert {name for name in names if name.startswith("JMS") and not name.startswith(("JMSX", "JMS_"))} == set()


@rule("PR-7")
@pitfall(33)
def test_properties_names_show_nothing_of_the_wire(harness: Harness, session: Session, queue: Queue) -> None:
    """Seventeen properties and the delivery count are eighteen names, whatever the broker adds to a message."""
    message = session.create_bytes_message()
    message.write_bytes(b"body")
    message.jms_correlation_id = "c"
    message.jms_type = "t"
    message.jms_reply_to = harness.topic()
    own = set()
    for number, (value, _) in enumerate([*BOXED.values(), *BOXED.values()]):
        message.set_object_property(f"p{number}", value)
        own.add(f"p{number}")
    message.set_string_property("timestamp", "mine")
    own.add("timestamp")
    session.create_producer(queue).send(message, priority=7, time_to_live=60)
    received = receive_message(session.create_consumer(queue))
    names = list(received.property_names)
    assert {name for name in names if not name.startswith("JMS")} == own
    assert len([n for n in names if not n.startswith("JMS") or n == "JMSXDeliveryCount"]) == 18
    assert set(received.properties) == set(names)
    assert received.get_string_property("timestamp") == "mine"


@rule("PR-8")
def test_properties_set_again_replace_and_none_removes_nothing(session: Session, queue: Queue) -> None:
    """A property is replaced, type included, or all are cleared; setting null keeps the name."""
    message = session.create_message()
    message.set_int_property("a", 1)
    message.set_string_property("a", "one")
    message.set_int_property("b", 2)
    message.set_object_property("b", None)
    assert sorted(message.property_names) == ["a", "b"]
    assert message.property_exists("b")
    assert message.get_object_property("a") == "one"
    received = round_trip(session, queue, message)
    assert received.get_object_property("a") == "one"
    message.clear_properties()
    assert list(message.property_names) == []
    assert not message.property_exists("a")


@rule("PR-9")
@pitfall(34)
@pytest.mark.parametrize("kind", BOXED)
def test_properties_keep_their_types(session: Session, queue: Queue, kind: str) -> None:
    """What a typed setter wrote arrives as that type, readable by the same typed getter."""
    value, boxed = BOXED[kind]
    message = session.create_message()
    set_property(message, kind, "p", value)
    received = round_trip(session, queue, message)
    found = received.get_object_property("p")
    assert type(found) is boxed
    assert found == value
    assert getattr(received, f"get_{kind}_property")("p") == value
    assert type(received.properties["p"]) is boxed


@rule("PR-9")
@pitfall(34)
def test_properties_wrong_type_stays_wrong_at_the_receiver(session: Session, queue: Queue) -> None:
    """Small values are not narrowed on the way: an Int 1 is no byte, a Double no float, a Long no int."""
    message = session.create_message()
    message.set_int_property("int", 1)
    message.set_double_property("double", 1.0)
    message.set_long_property("long", 1)
    received = round_trip(session, queue, message)
    wrong: list[tuple[Callable[[str], object], str]] = [
        (received.get_byte_property, "int"),
        (received.get_short_property, "int"),
        (received.get_boolean_property, "int"),
        (received.get_float_property, "double"),
        (received.get_int_property, "long"),
        (received.get_double_property, "long"),
    ]
    for read, name in wrong:
        with pytest.raises(MessageFormatException):
            read(name)
    assert received.get_long_property("int") == 1


@rule("PR-10")
def test_properties_context_producer_cannot_change_a_forwarded_message(harness: Harness, queue: Queue) -> None:
    """A JMSProducer with properties cannot send a received message, whose properties are read-only: the send fails."""
    context = harness.context()
    onward = harness.queue()
    context.create_producer().send(queue, "body")
    received = context.create_consumer(queue).receive(timeout=LONG)
    assert received is not None
    with pytest.raises(MessageNotWriteableRuntimeException):
        context.create_producer().set_property("p", 1).send(onward, received)
    assert_empty(context.create_consumer(onward))


@rule("PR-10")
def test_properties_context_producer_forwards_untouched_properties(harness: Harness, queue: Queue) -> None:
    """Without own properties a JMSProducer forwards a received message as it is."""
    context = harness.context()
    onward = harness.queue()
    context.create_producer().set_property("p", Short(5)).send(queue, "body")
    received = context.create_consumer(queue).receive(timeout=LONG)
    assert received is not None
    context.create_producer().set_jms_type("forwarded").send(onward, received)
    forwarded = context.create_consumer(onward).receive(timeout=LONG)
    assert isinstance(forwarded, TextMessage)
    assert (forwarded.text, forwarded.jms_type) == ("body", "forwarded")
    assert type(forwarded.get_object_property("p")) is Short


@rule("JX-1")
def test_properties_delivery_count_starts_at_one(session: Session, queue: Queue) -> None:
    """The count is an int, 1 at the first delivery, and not there before."""
    message = session.create_message()
    received = round_trip(session, queue, message)
    assert not message.property_exists("JMSXDeliveryCount")
    assert received.get_int_property("JMSXDeliveryCount") == 1
    assert type(received.get_object_property("JMSXDeliveryCount")) is Int
    assert received.jms_redelivered is False


@rule("JX-1")
@requires(Native.TRANSACTIONS)
def test_properties_delivery_count_follows_redelivery(harness: Harness, session: Session, queue: Queue) -> None:
    """Each rollback raises the count by one; a redelivered message counts at least two."""
    session.create_producer(queue).send(session.create_message())
    transacted = harness.connect().create_session(session_mode=SESSION_TRANSACTED)
    consumer = transacted.create_consumer(queue)
    seen = []
    for _ in range(3):
        message = receive_message(consumer)
        seen.append((message.get_int_property("JMSXDeliveryCount"), message.jms_redelivered))
        transacted.rollback()
    assert seen == [(1, False), (2, True), (3, True)]


@rule("JX-2")
def test_properties_group_id_and_sequence_arrive(harness: Harness, queue: Queue) -> None:
    """The group of a message is the application's, and arrives with its types."""
    session = grouping(harness)
    message = session.create_text_message("grouped")
    message.set_string_property("JMSXGroupID", "orders-7")
    message.set_int_property("JMSXGroupSeq", 3)
    received = round_trip(session, queue, message)
    assert received.get_object_property("JMSXGroupID") == "orders-7"
    assert received.get_object_property("JMSXGroupSeq") == 3
    assert type(received.get_object_property("JMSXGroupSeq")) is Int


@rule("JX-3")
def test_properties_jmsx_names_are_listed(harness: Harness, connection: Connection) -> None:
    """The connection's metadata says which JMSX properties work, in both APIs."""
    names = list(connection.meta_data.jmsx_property_names)
    assert {"JMSXGroupID", "JMSXGroupSeq", "JMSXDeliveryCount"} <= set(names)
    assert len(names) == len(set(names))
    assert set(harness.context().meta_data.jmsx_property_names) == set(names)


@rule("JX-3")
def test_properties_jmsx_names_are_case_sensitive(harness: Harness, queue: Queue) -> None:
    """jmsxgroupid is not JMSXGroupID, but an ordinary property."""
    session = grouping(harness)
    message = session.create_message()
    message.set_string_property("JMSXGroupID", "upper")
    message.set_string_property("jmsxgroupid", "lower")
    received = round_trip(session, queue, message)
    assert received.get_string_property("JMSXGroupID") == "upper"
    assert received.get_string_property("jmsxgroupid") == "lower"
    assert not received.property_exists("JMSXGROUPID")


@rule("JX-3")
@requires(Native.QUEUE_SELECTORS)
def test_properties_selectors_may_name_any_jmsx_property(harness: Harness, queue: Queue) -> None:
    """An unsupported JMSX name in a selector is a null value, not an error."""
    session = grouping(harness)
    message = session.create_text_message("chosen")
    message.set_string_property("JMSXGroupID", "g")
    session.create_producer(queue).send(message)
    with session.create_consumer(queue, "JMSXNoSuchThing IS NOT NULL OR jmsxgroupid = 'g'") as other:
        assert_empty(other)
    with session.create_consumer(queue, "JMSXNoSuchThing IS NULL AND JMSXGroupID = 'g'") as consumer:
        assert receive_as(TextMessage, consumer).text == "chosen"


@rule("JX-4")
def test_properties_jmsx_optional_names_only_as_listed(session: Session, connection: Connection, queue: Queue) -> None:
    """The provider neither lists nor adds an optional one; a client's own JMSXAppID is an ordinary property."""
    message = session.create_message()
    received = round_trip(session, queue, message)
    optional = {"JMSXUserID", "JMSXAppID", "JMSXProducerTXID", "JMSXConsumerTXID", "JMSXRcvTimestamp", "JMSXState"}
    for names in (connection.meta_data.jmsx_property_names, message.property_names, received.property_names):
        assert optional.isdisjoint(names)
    assert "JMSXDeliveryCount" not in message.property_names
    message.set_string_property("JMSXAppID", "own")
    assert round_trip(session, queue, message).get_string_property("JMSXAppID") == "own"


@rule("JX-5")
def test_properties_delivery_count_of_the_client_is_overwritten(session: Session, queue: Queue) -> None:
    """The receiver reads the provider's delivery count, whatever the sender wrote."""
    message = session.create_message()
    message.set_int_property("JMSXDeliveryCount", 99)
    received = round_trip(session, queue, message)
    assert received.get_int_property("JMSXDeliveryCount") == 1
    assert received.jms_redelivered is False

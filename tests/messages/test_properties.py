"""Properties: names, the mapping view, read-only states, and the JMSX ones."""

from typing import Any

import pytest

from jmsbridge.errors import MessageFormatException, MessageNotWriteableException
from jmsbridge.message import MapMessage, Message, TextMessage, message_from_arrival
from jmsbridge.messages.names import ADMITTED
from jmsbridge.spi.envelope import Address, BodyKind, Envelope
from jmsbridge.testing.marks import pitfall, rule
from jmsbridge.values import Byte, Char, Double, Int, Long

SETTERS: list[tuple[str, Any]] = [
    ("boolean", True), ("byte", 1), ("short", 1), ("int", 1), ("long", 1), ("float", 1.0), ("double", 1.0),
    ("string", "x"), ("object", 1),
]  # fmt: skip


def received(count: int = 1, **properties: Any) -> TextMessage:
    envelope = Envelope(Address("q"), BodyKind.TEXT, "hello", properties, "ID:1", 5)
    message = message_from_arrival(envelope, count > 1, count, None)
    assert isinstance(message, TextMessage)
    return message


@pytest.mark.parametrize("setter", [setter for setter, _ in SETTERS])
@rule("PR-2")
def test_a_name_is_checked_before_a_value(setter: str) -> None:
    message = Message()
    with pytest.raises(ValueError, match="name"):
        getattr(message, f"set_{setter}_property")("", [1])
    fields = MapMessage()
    for kind in ("byte", "int", "string", "bytes", "object"):
        with pytest.raises(ValueError, match="name"):
            getattr(fields, f"set_{kind}")("", [1])


@pytest.mark.parametrize(("setter", "value"), SETTERS)
@pytest.mark.parametrize(
    "name", [None, "", 5, "1x", "a-b", "a.b", "a b", "%x", "NULL", "TRUE", "BETWEEN", "JMSPriority", "JMS"]
)
@rule("PR-2", "PR-8")
def test_bad_names(setter: str, value: Any, name: Any) -> None:
    message = Message()
    with pytest.raises(ValueError, match="name"):
        getattr(message, f"set_{setter}_property")(name, value)
    assert not message.properties


@pytest.mark.parametrize(
    "name",
    [
        "a",
        "_a",
        "$a1",
        "größe",
        "名前",
        "€uro",
        "ⅷ",
        "a\u0301",
        "JMS_acme_x",
        "JMSXFoo",
        "nulls",
        "true",
        "Is",
        "x" * 5000,
    ],
)
@rule("PR-2", "PR-8")
def test_good_names(name: str) -> None:
    message = Message()
    message.set_int_property(name, 1)
    assert message.get_int_property(name) == 1


def test_the_cache_of_good_names_is_bounded() -> None:
    message = Message()
    for number in range(10_000):
        message.set_int_property(f"bounded{number}", number)
    assert len(ADMITTED) <= 4096
    assert message.get_int_property("bounded1") == 1


@pytest.mark.parametrize("value", [Char("c"), [], {}, b"", object(), 1 << 64])
@rule("PR-1")
@pitfall(34)
def test_values_that_are_not_a_property(value: Any) -> None:
    message = Message()
    with pytest.raises(MessageFormatException):
        message.set_object_property("p", value)
    assert not message.property_exists("p")


@rule("PR-1", "PR-5")
def test_null_is_a_value_and_absent_reads_like_it() -> None:
    message = Message()
    message.set_object_property("p", None)
    message.set_string_property("s", None)
    assert (message.property_exists("p"), message.property_exists("x")) == (True, False)
    assert (message.get_object_property("p"), message.get_object_property("x"), message.get_string_property("x")) == (
        None, None, None,
    )  # fmt: skip
    assert message.get_boolean_property("x") is False
    assert list(message.property_names) == ["p", "s"]


@pytest.mark.parametrize(("setter", "value"), SETTERS)
@rule("PR-3")
def test_received_properties_are_read_only_until_cleared(setter: str, value: Any) -> None:
    message = received(a=1)
    set_property = getattr(message, f"set_{setter}_property")
    with pytest.raises(MessageNotWriteableException):
        set_property("a", value)
    message.clear_properties()
    set_property("a", value)
    assert message.get_string_property("a") is not None
    with pytest.raises(MessageNotWriteableException):
        message.text = "changed"


@rule("PR-3", "HD-12")
def test_clearing_one_part_leaves_the_other_and_the_envelope() -> None:
    properties = {"a": 1}
    envelope = Envelope(Address("q"), BodyKind.TEXT, "hello", properties, "ID:1", 5)
    message = message_from_arrival(envelope, False, 1, None)
    assert isinstance(message, TextMessage)
    message.clear_body()
    assert (message.text, message.get_int_property("a")) == (None, 1)
    message.text = "new"
    message.clear_properties()
    message.set_int_property("b", 2)
    assert (message.text, list(message.property_names)) == ("new", ["b"])
    assert (envelope.body, envelope.properties) == ("hello", {"a": 1})


@rule("PR-6", "PR-7")
@pitfall(33)
def test_names_are_the_properties_and_the_delivery_count() -> None:
    message = received(a=1, JMSXGroupID="g")
    message.jms_type = "t"
    message.jms_correlation_id = "c"
    assert set(message.property_names) == {"a", "JMSXGroupID", "JMSXDeliveryCount"}
    assert len(message.properties) == 3
    assert list(Message().property_names) == []


@rule("JX-1", "PR-6")
def test_delivery_count_is_virtual() -> None:
    message = received(3)
    assert message.get_int_property("JMSXDeliveryCount") == 3
    assert message.get_string_property("JMSXDeliveryCount") == "3"
    assert message.properties["JMSXDeliveryCount"] == Int(3)
    assert type(message.get_object_property("JMSXDeliveryCount")) is Int
    assert message.property_exists("JMSXDeliveryCount")
    assert message._freeze(Address("q"), None, 0, True, 4, 0, 0, None).properties == {}
    message.clear_properties()
    assert not message.property_exists("JMSXDeliveryCount")
    assert not Message().property_exists("JMSXDeliveryCount")


@rule("JX-5", "PR-8")
def test_a_clients_own_delivery_count_is_overwritten_on_receive() -> None:
    sent = Message()
    sent.set_int_property("JMSXDeliveryCount", 99)
    sent.set_int_property("a", 1)
    assert sent.get_int_property("JMSXDeliveryCount") == 99
    envelope = sent._freeze(Address("q"), "ID:1", 1, True, 4, 0, 0, None)
    message = message_from_arrival(envelope, False, 1, None)
    assert message.get_int_property("JMSXDeliveryCount") == 1
    assert sorted(message.property_names) == ["JMSXDeliveryCount", "a"]


@rule("JX-2", "JX-3")
def test_group_properties_have_their_types() -> None:
    message = Message()
    message.set_string_property("JMSXGroupID", "g")
    message.set_int_property("JMSXGroupSeq", 1)
    message.set_object_property("JMSXGroupSeq", Int(2))
    message.set_long_property("jmsxGroupSeq", 3)
    assert (message.get_string_property("JMSXGroupID"), message.get_int_property("JMSXGroupSeq")) == ("g", 2)
    for name, value in (("JMSXGroupID", 1), ("JMSXGroupSeq", "1"), ("JMSXGroupSeq", Long(1)), ("JMSXGroupSeq", True)):
        with pytest.raises(MessageFormatException):
            message.set_object_property(name, value)


@rule("PR-9")
def test_the_view_is_a_typed_mapping() -> None:
    message = Message()
    message.properties.update(a=1, b=1.5, c=Byte(3), d="x", e=None)
    assert dict(message.properties) == {"a": 1, "b": 1.5, "c": 3, "d": "x", "e": None}
    assert [type(message.properties[name]) for name in "abc"] == [Int, Double, Byte]
    assert (message.properties.get("z", 7), "z" in message.properties, "a" in message.properties) == (7, False, True)
    del message.properties["a"]
    with pytest.raises(KeyError):
        message.properties["a"]
    with pytest.raises(ValueError, match="name"):
        message.properties["a b"] = 1
    assert "x" in repr(message.properties)


@rule("PR-3")
def test_the_view_of_a_received_message_is_read_only() -> None:
    view = received(a=1).properties
    with pytest.raises(MessageNotWriteableException):
        view["a"] = 2
    with pytest.raises(MessageNotWriteableException):
        del view["a"]
    assert dict(view) == {"a": 1, "JMSXDeliveryCount": 1}


@rule("PR-10")
def test_extra_properties_go_over_writable_ones_only() -> None:
    message = Message()
    message.set_int_property("a", 1)
    message.set_int_property("b", 1)
    extra = {"a": 2, "c": "x"}
    envelope = message._freeze(Address("q"), None, 0, True, 4, 0, 0, None, extra)
    assert envelope.properties == {"a": 2, "b": 1, "c": "x"}
    assert (dict(message.properties), extra) == ({"a": 1, "b": 1}, {"a": 2, "c": "x"})
    with pytest.raises(MessageNotWriteableException):
        received(a=1)._freeze(Address("q"), None, 0, True, 4, 0, 0, None, extra)
    with pytest.raises(ValueError, match="name"):
        message._freeze(Address("q"), None, 0, True, 4, 0, 0, None, {"a-b": 1})

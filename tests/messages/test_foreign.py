"""Messages of other implementations: duck-typed, copied through their getters."""

from collections.abc import Iterator
from typing import Any

import pytest

from jmsbridge.destinations import Queue
from jmsbridge.errors import MessageFormatException
from jmsbridge.message import (
    BytesMessage,
    MapMessage,
    Message,
    ObjectMessage,
    StreamMessage,
    TextMessage,
    copy_foreign,
    message_for_body,
)
from jmsbridge.testing.marks import rule
from jmsbridge.values import Byte, Float, Long


class Foreign:
    """Has the names of the interface and no class of jmsbridge; it delegates to a message that it wraps."""

    NAMES = (
        "jms_message_id",
        "jms_correlation_id",
        "jms_reply_to",
        "jms_type",
        "property_names",
        "get_object_property",
    )

    def __init__(self, inner: Message) -> None:
        self.inner = inner


def foreign(inner: Message, *names: str) -> Any:
    """An object of a new class that has exactly these names."""

    def forward(name: str) -> property:
        return property(lambda self: getattr(self.inner, name))

    members = {name: forward(name) for name in (*Foreign.NAMES, *names)}
    return type(f"Foreign{type(inner).__name__}", (Foreign,), members)(inner)


def filled(message: Message) -> Message:
    message.jms_correlation_id, message.jms_type, message.jms_reply_to = "c", "t", Queue("r")
    message.set_byte_property("b", 1)
    message.set_float_property("f", 1.5)
    message.set_int_property("JMSXDeliveryCount", 9)
    return message


def bytes_message() -> BytesMessage:
    message = BytesMessage()
    message.write_bytes(b"abc")
    return message


def stream_message() -> StreamMessage:
    message = StreamMessage()
    for value in (1, None, b"xy", "s"):
        message.write_object(value)
    return message


CASES: dict[str, tuple[Message, tuple[str, ...]]] = {
    "plain": (Message(), ()),
    "text": (TextMessage("x"), ("text",)),
    "null text": (TextMessage(), ("text",)),
    "object": (ObjectMessage([1]), ("object",)),
    "map": (message_for_body({"a": 1, "b": Long(2)}), ("map_names", "get_object")),
    "bytes": (bytes_message(), ("body_length", "read_bytes", "reset")),
    "empty bytes": (BytesMessage(), ("body_length", "read_bytes", "reset")),
    "stream": (stream_message(), ("read_object", "read_bytes", "reset")),
}


@pytest.mark.parametrize("case", CASES)
@rule("BO-8")
def test_copies_have_kind_headers_properties_and_body(case: str) -> None:
    inner, names = CASES[case]
    copy = copy_foreign(foreign(filled(inner), *names))
    assert type(copy) is type(inner)
    assert (copy.jms_correlation_id, copy.jms_type, copy.jms_reply_to) == ("c", "t", Queue("r"))
    assert dict(copy.properties) == {"b": Byte(1), "f": Float(1.5)}
    assert type(copy.properties["b"]) is Byte
    assert copy._snapshot() == inner._snapshot()
    assert not copy._properties_read_only


@rule("BO-8")
def test_bytes_are_read_to_their_end_whatever_the_length_says() -> None:
    message = BytesMessage()
    message.write_bytes(bytes(range(256)) * 1000)
    other = foreign(message, "body_length", "read_bytes", "reset")
    type(other).body_length = property(lambda _: 0)  # as in the messages of the Jakarta Messaging TCK
    copy = copy_foreign(other)
    assert isinstance(copy, BytesMessage)
    copy.reset()
    assert (copy.body_length, copy.read_bytes(256)) == (256_000, bytes(range(256)))


@rule("BO-8")
def test_names_may_be_methods_and_reply_to_anything() -> None:
    class Other:
        jms_message_id = None
        jms_correlation_id = None
        jms_type = None
        jms_reply_to = "another implementation's queue"
        text = "x"

        def property_names(self) -> Iterator[str]:
            return iter(["n"])

        def get_object_property(self, name: str) -> int:
            return len(name)

    copy = copy_foreign(Other())
    assert isinstance(copy, TextMessage)
    assert (copy.text, copy.jms_reply_to, copy.get_int_property("n")) == ("x", None, 1)


@rule("BO-8")
def test_the_error_of_a_getter_surfaces() -> None:
    class Broken:
        jms_message_id = jms_correlation_id = jms_type = jms_reply_to = None
        property_names: tuple[str, ...] = ()

        def get_object_property(self, name: str) -> None:
            raise AssertionError(name)

        @property
        def text(self) -> str:
            raise MessageFormatException("no text today")

    with pytest.raises(MessageFormatException, match="no text today"):
        copy_foreign(Broken())


@rule("BO-8")
def test_foreign_values_that_no_message_can_carry() -> None:
    class Odd:
        jms_message_id = jms_correlation_id = jms_type = jms_reply_to = None
        property_names = ("n",)

        def get_object_property(self, name: str) -> object:
            return [name]

    with pytest.raises(MessageFormatException):
        copy_foreign(Odd())


@pytest.mark.parametrize("value", [None, "text", 5, object(), {}, type])
def test_values_that_are_not_a_message(value: Any) -> None:
    with pytest.raises(MessageFormatException, match="a message is needed"):
        copy_foreign(value)


def test_our_own_messages_can_be_copied_the_same_way() -> None:
    copy = copy_foreign(filled(MapMessage()))
    assert isinstance(copy, MapMessage)
    assert copy.jms_type == "t"


@pytest.mark.parametrize(
    ("text", "data", "expected"),
    [
        ("c", b"c", "c"),
        ("é", b"\xe9", "é"),  # a provider whose bytes are Latin-1
        (None, b"\xff\x00", b"\xff\x00"),
        ("\ufffd\x00", b"\xff\x00", b"\xff\x00"),
        (None, None, None),
        ("\ufffd", None, "\ufffd"),
        (None, NotImplementedError("not offered"), None),
        ("c", NotImplementedError("not offered"), "c"),
    ],
)
@rule("BO-8", "HD-13")
def test_a_correlation_id_is_carried_in_the_form_that_it_has(text: Any, data: Any, expected: Any) -> None:
    class Other:
        jms_message_id = jms_type = jms_reply_to = None
        jms_correlation_id = text
        property_names: tuple[str, ...] = ()

        def get_object_property(self, name: str) -> None:
            raise AssertionError(name)

        @property
        def jms_correlation_id_as_bytes(self) -> bytes | None:
            if isinstance(data, Exception):
                raise data
            found: bytes | None = data
            return found

    assert copy_foreign(Other())._correlation_id == expected

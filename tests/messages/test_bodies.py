"""Text, object and map bodies, plain bodies, and get_body for all kinds."""

import collections.abc
from collections.abc import Callable
from typing import Any

import pytest

from jmsbridge.codecs.javaserial import JavaObject, dumps
from jmsbridge.errors import MessageFormatException, MessageNotWriteableException
from jmsbridge.message import (
    BytesMessage,
    MapMessage,
    Message,
    ObjectMessage,
    StreamMessage,
    TextMessage,
    message_for_body,
    message_from_arrival,
)
from jmsbridge.spi.envelope import Address, BodyKind, Envelope
from jmsbridge.testing.marks import pitfall, rule
from jmsbridge.values import Byte, Char, Double, Int, Long


def arrived(kind: BodyKind, body: Any) -> Message:
    return message_from_arrival(Envelope(Address("q"), kind, body, {}, "ID:1", 1), False, 1, None)


def body_of(message: Message) -> Any:
    return message._freeze(Address("q"), None, 0, True, 4, 0, 0, None).body


@rule("BO-1", "BO-2")
def test_text() -> None:
    message = TextMessage()
    assert message.text is None
    message.text = "a"
    assert (message.text, body_of(message), TextMessage("b").text) == ("a", "a", "b")
    with pytest.raises(TypeError):
        message.text = 5  # type: ignore[assignment]
    got = arrived(BodyKind.TEXT, "x")
    assert isinstance(got, TextMessage)
    with pytest.raises(MessageNotWriteableException):
        got.text = "y"
    got.clear_body()
    assert got.text is None
    got.text = "y"
    assert got.text == "y"


@rule("BO-5")
def test_an_object_is_a_snapshot_and_reads_fresh() -> None:
    value = {"a": [1, b"x"]}
    message = ObjectMessage(value)
    value["a"].append(2)
    assert message.object == {"a": [1, b"x"]}
    copy: Any = message.object
    copy["a"].append(3)
    assert message.object == {"a": [1, b"x"]}
    assert body_of(message) == dumps({"a": [1, b"x"]})
    message.object = None
    assert (message.object, body_of(message)) == (None, None)


@rule("BO-1")
def test_objects_that_java_could_not_read() -> None:
    message = ObjectMessage("kept")
    for value in (object(), {1, 2}, [print], 1 << 64):
        with pytest.raises(MessageFormatException):
            message.object = value
        with pytest.raises(MessageFormatException):
            ObjectMessage(value)
    assert message.object == "kept"
    got = arrived(BodyKind.OBJECT, dumps("x"))
    assert isinstance(got, ObjectMessage)
    with pytest.raises(MessageNotWriteableException):
        got.object = "y"
    assert got.object == "x"


def test_an_unknown_java_object_is_forwarded_untouched() -> None:
    data = b"\xac\xed\x00\x05\x73\x72\x00\x05a.B.C" + bytes(8) + b"\2\0\0\x78\x70"
    got = arrived(BodyKind.OBJECT, data)
    assert isinstance(got, ObjectMessage)
    assert got.object == JavaObject("a.B.C", data)
    assert body_of(got) == data
    assert body_of(ObjectMessage(got.object)) == data
    assert got.get_body(JavaObject) == got.object


def test_java_stream_is_the_object_as_java_wrote_it() -> None:
    data = b"\xac\xed\x00\x05\x73\x72\x00\x14java.util.LinkedList\x0c\x29\x53\x5d\x4a\x60\x88\x22\x03\0\0\x78\x70"
    data += b"\x77\x04\0\0\0\0\x78"
    got = arrived(BodyKind.OBJECT, data)
    assert isinstance(got, ObjectMessage)
    assert (got.object, got.java_stream) == ([], data)
    assert ObjectMessage([1]).java_stream == dumps([1])
    assert ObjectMessage().java_stream is None


@rule("BO-17")
def test_objects_that_cannot_be_decoded() -> None:
    got = arrived(BodyKind.OBJECT, b"\xac\xed\x00\x05\x73")
    assert isinstance(got, ObjectMessage)
    with pytest.raises(MessageFormatException):
        got.object  # noqa: B018
    with pytest.raises(MessageFormatException):
        got.get_body(object)
    assert got.is_body_assignable_to(object) is False


@pytest.mark.parametrize("name", [None, "", 5])
@pytest.mark.parametrize(
    ("setter", "value"),
    [
        ("boolean", True), ("byte", 1), ("short", 1), ("char", "c"), ("int", 1), ("long", 1), ("float", 1.0),
        ("double", 1.0), ("string", "x"), ("bytes", b"x"), ("object", 1),
    ],
)  # fmt: skip
@rule("BO-11")
def test_map_fields_need_names(setter: str, value: Any, name: Any) -> None:
    message = MapMessage()
    with pytest.raises(ValueError, match="name"):
        getattr(message, f"set_{setter}")(name, value)
    assert list(message.map_names) == []
    getattr(message, f"set_{setter}")("any name!", value)
    assert message.item_exists("any name!")
    got = arrived(BodyKind.MAP, {})
    with pytest.raises(MessageNotWriteableException):
        getattr(got, f"set_{setter}")("n", value)


@rule("BO-11", "BO-13", "BO-5")
def test_map_bytes_are_copies() -> None:
    message = MapMessage()
    source = bytearray(b"abcd")
    message.set_bytes("all", source)
    message.set_bytes("part", source, 1, 2)
    message.set_bytes("none", None)
    message.set_object("object", source)
    source[:] = b"zzzz"
    assert [message.get_bytes(name) for name in ("all", "part", "none", "object")] == [b"abcd", b"bc", None, b"abcd"]
    assert type(message.get_object("all")) is bytes
    for offset, length in ((3, 2), (-1, 1), (0, -1), (5, None)):
        with pytest.raises(IndexError):
            message.set_bytes("x", source, offset, length)
    with pytest.raises(TypeError):
        message.set_bytes("x", "text")  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [[], {}, object(), [1], {"a": 1}, (1,), 1 << 64])
@rule("BO-11")
def test_maps_do_not_nest(value: Any) -> None:
    message = MapMessage()
    with pytest.raises(MessageFormatException):
        message.set_object("n", value)
    with pytest.raises(MessageFormatException):
        message_for_body({"n": value})
    assert not message.item_exists("n")


@rule("BO-13")
def test_the_body_of_a_map_is_a_typed_mapping() -> None:
    message = MapMessage()
    message.body.update({"a": 1, "b": 1.5, "c": Char("c"), "d": None, "e": b"x"})
    assert [type(message.body[name]) for name in "abcde"] == [Int, Double, Char, type(None), bytes]
    del message.body["a"]
    with pytest.raises(KeyError):
        message.body["a"]
    assert (len(message.body), sorted(message.body), repr(message.body)) == (
        4, ["b", "c", "d", "e"], "FieldView(['b', 'c', 'd', 'e'])",
    )  # fmt: skip
    got = arrived(BodyKind.MAP, {"a": 1})
    assert isinstance(got, MapMessage)
    with pytest.raises(MessageNotWriteableException):
        got.body["a"] = 2
    with pytest.raises(MessageNotWriteableException):
        del got.body["a"]
    assert dict(got.body) == {"a": 1}


@rule("HD-12", "BO-1")
def test_clearing_a_received_map_leaves_the_envelope_alone() -> None:
    fields = {"a": 1}
    got = arrived(BodyKind.MAP, fields)
    assert isinstance(got, MapMessage)
    got.clear_body()
    got.set_int("b", 2)
    assert (fields, list(got.map_names)) == ({"a": 1}, ["b"])


def stream() -> StreamMessage:
    message = StreamMessage()
    message.write_int(1)
    return message


def written() -> BytesMessage:
    message = BytesMessage()
    message.write_bytes(b"ab")
    return message


# message, types that fit, the body, types that do not
BODIES: dict[str, tuple[Any, list[type], Any, list[type]]] = {
    "text": (lambda: TextMessage("x"), [str, object, collections.abc.Sequence], "x", [bytes, dict, int]),
    "empty text": (lambda: TextMessage(""), [str, object], "", [bytes]),
    "bytes": (written, [bytes, object], b"ab", [str, dict, bytearray]),
    "empty bytes": (BytesMessage, [bytes], b"", [str]),
    "map": (lambda: message_for_body({"a": 1}), [dict, collections.abc.Mapping, object], {"a": 1}, [str, list]),
    "object": (lambda: ObjectMessage([1]), [list, object], [1], [str, dict]),
    "long": (lambda: ObjectMessage(Long(1)), [Long, int, object], 1, [Byte, str]),
    "arrived object": (lambda: arrived(BodyKind.OBJECT, dumps("x")), [str], "x", [int]),
}
NO_BODY: dict[str, Callable[[], Message]] = {
    "plain": Message,
    "null text": TextMessage,
    "null object": ObjectMessage,
    "arrived null object": lambda: arrived(BodyKind.OBJECT, dumps(None)),
    "arrived nothing": lambda: arrived(BodyKind.OBJECT, None),
}


@pytest.mark.parametrize("case", BODIES)
@rule("BO-16", "BO-17")
@pitfall(37)
def test_get_body(case: str) -> None:
    make, fitting, body, others = BODIES[case]
    message = make()
    for kind in others:
        assert message.is_body_assignable_to(kind) is False
        with pytest.raises(MessageFormatException):
            message.get_body(kind)
    for kind in fitting:
        assert message.is_body_assignable_to(kind) is True
        assert message.get_body(kind) == body
    assert message._has_body()


@pytest.mark.parametrize("case", NO_BODY)
@rule("BO-16", "BO-17")
@pitfall(37)
def test_get_body_of_nothing_is_none_for_any_type(case: str) -> None:
    message = NO_BODY[case]()
    for kind in (str, bytes, dict, object, JavaObject):
        assert message.get_body(kind) is None
        assert message.is_body_assignable_to(kind) is True
    assert not message._has_body()


@rule("BO-16", "BO-17")
def test_get_body_of_a_stream_is_refused() -> None:
    for message in (StreamMessage(), stream(), arrived(BodyKind.STREAM, [1])):
        for kind in (object, list, bytes):
            assert message.is_body_assignable_to(kind) is False
            with pytest.raises(MessageFormatException):
                message.get_body(kind)


@rule("BO-5", "BO-13")
def test_get_body_of_a_map_is_a_copy_with_types() -> None:
    message = message_for_body({"a": 1, "b": b"x"})
    body = message.get_body(dict)
    assert body is not None
    assert type(body["a"]) is Int
    body.clear()
    assert message.get_body(dict) == {"a": 1, "b": b"x"}


@rule("BO-16")
def test_get_body_resets_a_bytes_message() -> None:
    message = written()
    with pytest.raises(MessageFormatException):
        message.get_body(str)
    message.write_bytes(b"c")
    assert message.get_body(bytes) == b"abc"
    assert message.read_byte() == ord("a")
    assert message.get_body(bytes) == b"abc"
    assert message.read_byte() == ord("a")
    with pytest.raises(MessageNotWriteableException):
        message.write_byte(1)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (None, Message), ("x", TextMessage), (b"x", BytesMessage), (bytearray(b"x"), BytesMessage),
        (memoryview(b"x"), BytesMessage),
        ({"a": 1}, MapMessage), ([1], ObjectMessage), (1, ObjectMessage), (1.5, ObjectMessage), (True, ObjectMessage),
        (Char("c"), ObjectMessage), (JavaObject("a.B", b"\xac\xed\x00\x05"), ObjectMessage),
    ],
)  # fmt: skip
def test_plain_bodies(body: Any, kind: type[Message]) -> None:
    message = message_for_body(body)
    assert type(message) is kind
    if kind is BytesMessage:
        assert message.get_body(bytes) == b"x"
    elif kind is TextMessage:
        assert message.get_body(str) == "x"
    elif kind is ObjectMessage and not isinstance(body, JavaObject):
        assert message.get_body(object) == body


@pytest.mark.parametrize("body", [object(), {1}, 1j, print, [object()]])
def test_values_that_are_not_a_body(body: Any) -> None:
    with pytest.raises(MessageFormatException):
        message_for_body(body)

"""Java serialisation without a JDK: round trips, limits and hostile streams."""

import math
import pickle
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from jmsbridge.codecs import javaserial
from jmsbridge.codecs.javaserial import MAX_DEPTH, JavaObject, JavaSerialError
from jmsbridge.values import Byte, Char, Float, Long, Short

HEADER = b"\xac\xed\x00\x05"
TEXT = st.text(st.characters(codec=None, exclude_categories=["Cs"]), max_size=8)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-128, 127).map(Byte),
    st.integers(-(1 << 15), (1 << 15) - 1).map(Short),
    st.integers(-(1 << 31), (1 << 31) - 1),
    st.integers(-(1 << 63), (1 << 63) - 1).map(Long),
    st.floats(width=32, allow_nan=False).map(Float),
    st.floats(allow_nan=False),
    st.characters(max_codepoint=0xFFFF, codec=None).map(Char),
    TEXT,
)
VALUES = st.recursive(
    st.one_of(SCALARS, st.binary(max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXT, inner, max_size=4)),
    max_leaves=12,
)
SAMPLE = javaserial.dumps([{"a": [1, 2.5, "x", Char("c"), Long(3), True]}, b"bytes", None, Float(1), {3: "three"}])


def types(value: Any) -> Any:
    """The value with the type of everything in it, because 1 == 1.0 == True == Byte(1)."""
    if isinstance(value, list):
        return [types(item) for item in value]
    if isinstance(value, dict):
        return {key: types(item) for key, item in value.items()}
    return type(value), value


def reading(data: bytes) -> Any:
    """The value, or the one error that reading may raise; any other fails the test."""
    try:
        return javaserial.loads(data)
    except JavaSerialError as error:
        return error


@given(VALUES)
def test_values_and_types_survive(value: Any) -> None:
    assert types(javaserial.loads(javaserial.dumps(value))) == types(value)


@given(st.binary(max_size=60))
def test_random_bytes_are_an_error_or_a_value(noise: bytes) -> None:
    for data in (noise, HEADER + noise):
        assert types(reading(data)) is not None


@given(st.integers(4, len(SAMPLE) - 1), st.binary(min_size=1, max_size=4))
@example(4, b"\x71")
def test_damaged_streams_are_an_error_or_a_value(at: int, damage: bytes) -> None:
    for data in (SAMPLE[:at], SAMPLE[:at] + damage + SAMPLE[at + len(damage) :]):
        assert isinstance(reading(data), (list, JavaObject, JavaSerialError))


def test_a_nan_has_one_form() -> None:
    assert javaserial.dumps(math.nan) == javaserial.dumps(-math.nan)
    assert math.isnan(javaserial.loads(javaserial.dumps(Float(math.nan))))


@pytest.mark.parametrize(
    "value", [object(), {1, 2}, 1j, 1 << 63, [object()], {"a": {"b": print}}, {b"k": 1}, {(1,): 2}]
)
def test_values_that_cannot_be_serialised(value: Any) -> None:
    with pytest.raises(JavaSerialError):
        javaserial.dumps(value)


def test_an_opaque_object_cannot_be_nested() -> None:
    opaque = JavaObject("com.acme.Order", HEADER + b"\x73")
    assert javaserial.dumps(opaque) == opaque.data
    with pytest.raises(JavaSerialError):
        javaserial.dumps([opaque])
    same = pickle.loads(pickle.dumps(opaque))
    assert (same, hash(same), same.class_name) == (opaque, hash(opaque), "com.acme.Order")
    assert opaque != JavaObject("com.acme.Order", HEADER)
    assert repr(opaque) == "JavaObject('com.acme.Order', 5 bytes)"


def test_sharing_is_kept_and_decoding_is_fresh() -> None:
    inner: list[Any] = [1]
    data = javaserial.dumps([inner, inner, (), ()])
    first, second, *empty = javaserial.loads(data)
    assert (first, first is second, empty) == ([1], True, [[], []])
    assert javaserial.loads(data)[0] is not first


def test_a_list_that_contains_itself_is_refused() -> None:
    cycle: list[Any] = []
    cycle.append([cycle])
    with pytest.raises(JavaSerialError, match="contains itself"):
        javaserial.dumps(cycle)


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth - 1):
        value = [value]
    return value


def test_depth_has_a_limit_on_writing() -> None:
    assert javaserial.loads(javaserial.dumps(nested(MAX_DEPTH))) == nested(MAX_DEPTH)
    with pytest.raises(JavaSerialError, match="deeper"):
        javaserial.dumps(nested(MAX_DEPTH + 1))
    with pytest.raises(JavaSerialError):
        javaserial.dumps(nested(100_000))


def deep_stream(depth: int) -> bytes:
    """An array of objects in an array of objects …: 10 bytes for each level after the first."""
    described = b"\x72\x00\x13[Ljava.lang.Object;" + bytes(8) + b"\x02\0\0\x78\x70"
    level = b"\x75\x71\x00\x7e\x00\x00\0\0\0\1"
    return HEADER + b"\x75" + described + b"\0\0\0\1" + level * (depth - 1) + b"\x70"


def test_depth_has_a_limit_on_reading() -> None:
    assert javaserial.loads(deep_stream(3)) == [[[None]]]
    opaque = javaserial.loads(deep_stream(200_000))
    assert isinstance(opaque, JavaObject)
    assert opaque.class_name == "[Ljava.lang.Object;"


def test_a_nearly_full_stack_causes_no_recursion_error() -> None:
    def deeper(left: int) -> Any:
        if left:
            return deeper(left - 1)
        with pytest.raises(JavaSerialError, match="stack"):
            javaserial.dumps(nested(MAX_DEPTH))
        return javaserial.loads(data)

    data = javaserial.dumps(nested(MAX_DEPTH))
    assert isinstance(deeper(800), JavaObject)


def test_few_bytes_that_stand_for_very_many_values() -> None:
    value: list[Any] = ["lol"]
    for _ in range(60):
        value = [value] * 10
    assert isinstance(javaserial.loads(javaserial.dumps(value)), JavaObject)


def described(name: str, fields: bytes = b"\0\0", flags: bytes = b"\2", parent: bytes = b"\x70") -> bytes:
    return b"\x72" + len(name).to_bytes(2, "big") + name.encode() + bytes(8) + flags + fields + b"\x78" + parent


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\x70\x70",
        b"\x71\x00\x7e\x00\x00",
        b"\x71\xff\xff\xff\xff",
        b"\x74\xff\xffabc",
        b"\x7c\xff\xff\xff\xff\xff\xff\xff\xffabc",
        b"\x74\0\1\xff",
        b"\x77\0",
        b"\x79",
        b"\x73\x70",
        b"\x73\x74\0\0",
        b"\x75" + described("[B") + b"\x7f\xff\xff\xff",
        b"\x75" + described("[Ljava.lang.Object;") + b"\x7f\xff\xff\xff\x70",
        b"\x73" + described("java.lang.Integer"),
        b"\x73" + described("java.lang.Integer", b"\0\1L\0\5value\x74\0\1I") + b"\x74\0\1x",
        b"\x73" + described("java.lang.Integer", b"\0\1L\0\5value\x70") + b"\x70",
        b"\x73" + described("java.lang.Integer", b"\0\1Q\0\5value"),
        b"\x73" + described("java.lang.Byte", b"\0\1I\0\5value") + b"\0\0\1\0",
        b"\x73" + described("java.lang.Integer", b"\0\2L\0\1a\x74\0\1II\0\5value") + bytes(5),
        b"\x73" + described("java.lang.Integer", parent=b"\x71\x00\x7e\x00\x00"),
        b"\x73" + described("java.util.ArrayList", b"\0\1I\0\4size", b"\3") + b"\0\0\0\5\x77\4\0\0\0\5\x78",
        b"\x73" + described("java.util.HashMap", flags=b"\3") + b"\x77\2\0\0\x78",
        b"\x73" + described("java.util.HashMap", flags=b"\3") + b"\x77\x08\0\0\0\x10\0\0\0\1\x70\x78",
        b"\x73" + described("java.util.Arrays$ArrayList", b"\0\1L\0\1a\x74\0\1[") + b"\x70",
    ],
)
def test_streams_that_no_java_wrote(body: bytes) -> None:
    with pytest.raises(JavaSerialError):
        javaserial.loads(HEADER + body)


def test_long_chains_of_parents_stay_opaque() -> None:
    parent = b"\x70"
    for number in range(200):
        parent = described(f"p{number}", parent=parent)
    assert isinstance(javaserial.loads(HEADER + b"\x73" + parent), JavaObject)


def test_a_reset_behind_the_object_is_no_fault() -> None:
    stream = javaserial.dumps([1, "a"])
    assert javaserial.loads(stream + b"\x79") == [1, "a"]  # as ActiveMQ's client ends it
    with pytest.raises(JavaSerialError, match="2 bytes follow the object"):
        javaserial.loads(stream + b"\x79\x70")

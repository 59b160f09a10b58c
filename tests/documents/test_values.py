import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jmsbridge.codecs import javaserial
from jmsbridge.documents import from_json, to_json
from jmsbridge.values import Byte, Char, Double, Float, Int, Long, Short

INTS = st.integers(-(2**31), 2**31 - 1)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.text(st.characters(exclude_categories=())),
    INTS,
    st.integers(-128, 127).map(Byte),
    st.integers(-(2**15), 2**15 - 1).map(Short),
    st.integers(-(2**63), 2**63 - 1).map(Long),
    st.floats(allow_nan=False),
    st.floats(width=32, allow_nan=False).map(Float),
    st.characters(max_codepoint=0xFFFF, exclude_categories=()).map(Char),
    st.binary(),
)


def through_json(value: Any) -> Any:
    return from_json(json.loads(json.dumps(to_json(value), allow_nan=False)))


def plain(value: Any) -> Any:
    """``Int`` and ``Double`` come back as plain numbers."""
    return int(value) if type(value) is Int else float(value) if type(value) is Double else value


@given(SCALARS)
def test_every_value_comes_back_with_its_type(value: Any) -> None:
    back = plain(through_json(value))
    assert type(back) is type(value)
    assert back == value
    if isinstance(value, float):
        assert math.copysign(1, back) == math.copysign(1, value)


@given(st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)))
def test_nested_objects_come_back(value: Any) -> None:
    assert through_json(value) == value


@pytest.mark.parametrize("kind", [Float, float])
def test_not_a_number(kind: type[float]) -> None:
    back = through_json(kind(math.nan))
    assert math.isnan(back)
    assert isinstance(back, Float if kind is Float else float)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (5, 5),
        (Int(5), 5),
        (Short(5), {"short": 5}),
        (Byte(-1), {"byte": -1}),
        (Long(5), {"long": 5}),
        (Long(2**62), {"long": "4611686018427387904"}),
        (0.5, 0.5),
        (1.0, {"double": 1.0}),
        (Double(math.inf), {"double": "Infinity"}),
        (Float(0.1), {"float": 0.1}),
        (Char("x"), {"char": "x"}),
        (b"\0\1\2", {"bytes": "AAEC"}),
        ([1, Short(2)], [1, {"short": 2}]),
        ({"a": 1}, {"map": [["a", 1]]}),
    ],
)
def test_the_documented_forms(value: Any, expected: Any) -> None:
    assert to_json(value) == expected


def test_an_opaque_java_object_keeps_its_bytes() -> None:
    # An object of class "X" without fields, as ObjectOutputStream writes it.
    stream = bytes.fromhex("aced0005737200015800000000000000010200007870")
    value = javaserial.loads(stream)
    assert isinstance(value, javaserial.JavaObject)
    back = through_json(value)
    assert isinstance(back, javaserial.JavaObject)
    assert back.data == stream


@pytest.mark.parametrize(
    "text",
    [
        '{"short": 70000}',
        '{"short": "x"}',
        '{"short": true}',
        '{"long": 1.5}',
        '{"float": "1"}',
        '{"char": "xy"}',
        '{"char": 1}',
        '{"bytes": "§"}',
        '{"bytes": 1}',
        '{"map": [1]}',
        '{"what": 1}',
        '{"short": 1, "byte": 1}',
        "{}",
        "99999999999999999999",
    ],
)
def test_json_that_is_not_a_typed_value_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        from_json(json.loads(text))


def test_values_of_other_types_have_no_form() -> None:
    with pytest.raises(ValueError, match="a set has no JSON form"):
        to_json({1})

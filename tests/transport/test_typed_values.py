"""Types survive protocols that do not have them."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jmsbridge.transport.typed_values import (
    decode_map,
    decode_properties,
    decode_stream,
    encode_map,
    encode_properties,
    encode_stream,
)
from jmsbridge.values import Byte, Char, Float, Long, Short

INT, LONG = 1 << 31, 1 << 63
PROPERTIES: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-128, 127).map(Byte),
    st.integers(-(1 << 15), (1 << 15) - 1).map(Short),
    st.integers(-INT, INT - 1),
    st.integers(-LONG, LONG - 1).map(Long),
    st.floats(width=32).map(Float),
    st.floats(),
    st.text(),
)
FIELDS = st.one_of(PROPERTIES, st.characters(max_codepoint=0xFFFF).map(Char), st.binary())


def exact(value: Any) -> tuple[type, Any]:
    """The value with its type; NaN equals itself."""
    return type(value), "NaN" if isinstance(value, float) and math.isnan(value) else value


@given(st.dictionaries(st.text(max_size=5), FIELDS, max_size=6))
def test_maps(body: dict[str, Any]) -> None:
    found = decode_map(encode_map(body))
    assert {name: exact(value) for name, value in found.items()} == {name: exact(each) for name, each in body.items()}


@given(st.lists(FIELDS, max_size=8))
def test_streams(body: list[Any]) -> None:
    assert list(map(exact, decode_stream(encode_stream(body)))) == list(map(exact, body))


@given(st.dictionaries(st.text(max_size=5), PROPERTIES, max_size=6))
def test_properties(properties: dict[str, Any]) -> None:
    found = decode_properties(*encode_properties(properties))
    assert {name: exact(value) for name, value in found.items()} == {
        name: exact(value) for name, value in properties.items()
    }


def test_other_programs_read_plain_values() -> None:
    assert json.loads(encode_map({"qty": 5, "note": "ü"})) == {"map": {"qty": 5, "note": "ü"}}
    assert encode_properties({"a": "x"}) == ({"a": "x"}, "")
    texts, _ = encode_properties({"t": True, "d": 1.0, "f": Float(math.inf)})
    assert texts == {"t": "true", "d": "1.0", "f": "Infinity"}


def test_properties_of_a_program_that_copied_the_types_are_text() -> None:
    types = encode_properties({"n": 5, "gone": 6})[1]
    assert decode_properties({"n": "many", "more": "7"}, types) == {"n": "many", "more": "7"}


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"{}", b'{"map": 5}', b'{"map": {"a": []}}', b"\xff"])
def test_data_that_is_not_a_map(data: bytes) -> None:
    with pytest.raises(ValueError, match="map message cannot be read"):
        decode_map(data)


@pytest.mark.parametrize("data", [b"null", b'{"stream": 5}', b'{"stream": [1], "types": {"0": "x"}}'])
def test_data_that_is_not_a_stream(data: bytes) -> None:
    with pytest.raises(ValueError, match="stream message cannot be read"):
        decode_stream(data)


@pytest.mark.parametrize("types", ["[1", '{"a": [1]}', '{"a": {}}'])
def test_types_that_cannot_be_read(types: str) -> None:
    with pytest.raises(ValueError, match="types of properties"):
        decode_properties({"a": "x"}, types)

"""Values in the same bytes as Qpid's Java codec: the shortest form of each type that it uses."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jmsbridge.spi import Byte, Char, Float, Long, Short
from jmsbridge_amqp.protocol.errors import Unencodable
from jmsbridge_amqp.protocol.reading import decode
from jmsbridge_amqp.protocol.writing import compound_list, compound_map, encode, encode_pairs, string, uint
from tests.amqp.messages.test_wire import joined
from tests.rabbitmq.messages.envelopes import FIELDS, TEXT, typed


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "40"),
        (True, "41"),
        (False, "42"),
        (Byte(-1), "51ff"),
        (Short(-2), "61fffe"),
        (127, "547f"),
        (-128, "5480"),
        (128, "7100000080"),
        (1 << 31, "810000000080000000"),
        (Long(-1), "55ff"),
        (Long(128), "810000000000000080"),
        (Float(1.5), "723fc00000"),
        (-2.25, "82c002000000000000"),
        (Char("世"), "7300004e16"),
        ("é", "a102c3a9"),
        (b"\xff", "a001ff"),
        ([], "45"),
        ({}, "c10100"),
        ([None, [1]], "c0070240c003015401"),
        ({"a": None}, "c10502a1016140"),
    ],
    ids=repr,
)
def test_values(value: Any, expected: str) -> None:
    assert encode(value).hex() == expected


@pytest.mark.parametrize(("value", "expected"), [(0, "43"), (255, "52ff"), (256, "7000000100")])
def test_unsigned_integers(value: int, expected: str) -> None:
    assert uint(value).hex() == expected


def test_the_limits_of_short_forms() -> None:
    assert string("x" * 255)[:2] == b"\xa1\xff"
    assert string("x" * 256)[:5] == b"\xb1\0\0\1\0"
    assert encode(b"x" * 255)[:2] == b"\xa0\xff"
    assert encode(b"x" * 256)[:5] == b"\xb0\0\0\1\0"
    assert compound_list(b"\x40" * 253, 253)[:3] == b"\xc0\xfe\xfd"
    assert compound_list(b"\x40" * 254, 254)[:9] == b"\xd0\0\0\1\2\0\0\0\xfe"
    assert compound_map(b"\x40" * 252, 126)[:3] == b"\xc1\xfd\xfc"
    assert compound_map(b"\x40" * 256, 128)[:9] == b"\xd1\0\0\1\4\0\0\1\0"


@given(st.recursive(FIELDS, lambda items: st.lists(items, max_size=3) | st.dictionaries(TEXT, items, max_size=3)))
def test_every_value_comes_back(value: Any) -> None:
    data = encode(value)
    assert typed(list(decode(data, 0))) == typed([joined(value), len(data)])


def test_long_names_are_not_kept() -> None:
    table = {"n" * 300: 1, "é" * 200: "x" * 300, "": None}
    assert decode(encode_pairs(table), 0)[0] == table


@pytest.mark.parametrize("value", [object(), {1, 2}, 1 << 63, bytearray(b"x")], ids=lambda value: type(value).__name__)
def test_what_has_no_type_is_refused(value: Any) -> None:
    with pytest.raises(Unencodable):
        encode(value)


def test_deep_values_are_refused() -> None:
    value: list[Any] = []
    for _ in range(40):
        value = [value]
    with pytest.raises(Unencodable, match="nested more than 32 levels"):
        encode(value)
    value.append(value)
    with pytest.raises(Unencodable, match="nested more than 32 levels"):
        encode(value)

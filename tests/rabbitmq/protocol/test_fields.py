"""Field tables: all types both ways, equality with pika where pika can, and hostile bytes."""

import datetime
import decimal
import math
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pika import data as pika_data

from jmsbridge.spi import Byte, Float, Long, Short
from jmsbridge_rabbitmq.protocol import fields
from jmsbridge_rabbitmq.protocol.fields import (
    Malformed,
    NotFinite,
    Unencodable,
    decode_table,
    encode_pairs,
    encode_table,
    strict_text,
    text,
    without,
)
from tests.rabbitmq.messages.envelopes import TEXT, VALUES, typed

NESTED = st.recursive(
    st.one_of(VALUES.filter(lambda value: not isinstance(value, float) or math.isfinite(value)), st.binary(max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXT, inner, max_size=3)),
    max_leaves=8,
)
TABLES = st.dictionaries(TEXT, NESTED, max_size=6)
SAMPLE = encode_table({"b": Byte(-1), "t": True, "F": {"A": [1, "x", None]}, "x": b"\0\xff", "d": 2.5, "S": "é€"})


def reading(data: bytes) -> Any:
    """The table, or the one error that reading may raise; any other fails the test."""
    try:
        return decode_table(data)
    except Malformed as error:
        return error


@given(TABLES)
def test_values_and_types_survive(table: dict[str, Any]) -> None:
    data = encode_table(table)
    read, end = decode_table(b"??" + data + b"!", 2)
    assert typed(read) == typed(table)
    assert end == 2 + len(data)


@pytest.mark.parametrize("value", [math.nan, -math.inf, Float(math.inf), [1.0, math.nan], {"a": [Float(math.nan)]}])
def test_values_that_would_end_the_connection_are_not_written(value: Any) -> None:
    with pytest.raises(NotFinite, match="header"):
        encode_table({"n": value})


@pytest.mark.parametrize(
    ("value", "wire"),
    [
        (Byte(-2), "62 fe"),
        (Short(-2), "73 fffe"),
        (70000, "49 00011170"),
        (Long(5), "6c 0000000000000005"),
        (Float(1.5), "66 3fc00000"),
        (-2.25, "64 c002000000000000"),
        (True, "74 01"),
        (False, "74 00"),
        ("é", "53 00000002 c3a9"),
        (None, "56"),
        (b"\1", "78 00000001 01"),
        ([1], "41 00000005 4900000001"),
        ({"a": True}, "46 00000004 01 61 74 01"),
        (1 << 40, "6c 0000010000000000"),
    ],
)
def test_golden_bytes(value: Any, wire: str) -> None:
    assert encode_pairs({"n": value}) == b"\1n" + bytes.fromhex(wire)


@pytest.mark.parametrize(
    ("wire", "value"),
    [
        ("42 ff", Short(255)),
        ("75 ffff", 65535),
        ("69 ffffffff", Long(4294967295)),
        ("4c 7fffffffffffffff", Long((1 << 63) - 1)),
        ("4c ffffffffffffffff", "18446744073709551615"),
        ("54 0000000000000010", Long(16000)),
        ("44 02 00000113", 2.75),
        ("53 00000001 ff", "\\xff"),
    ],
)
def test_types_that_only_other_programs_send(wire: str, value: Any) -> None:
    data = b"\1n" + bytes.fromhex(wire)
    read = decode_table(len(data).to_bytes(4, "big") + data)[0]
    assert typed(read) == typed({"n": value})


@given(
    st.dictionaries(
        st.text(max_size=9),
        st.one_of(st.booleans(), st.integers(-(1 << 31), (1 << 31) - 1), st.text(), st.none(), st.binary(max_size=5)),
    )
)
def test_pika_writes_the_same_bytes(table: dict[str, Any]) -> None:
    pieces: list[bytes] = []
    pika_data.encode_table(pieces, table)
    assert encode_table(table) == b"".join(pieces)
    assert pika_data.decode_table(encode_table(table), 0)[0] == table


def test_other_types_that_pika_writes_are_read() -> None:
    moment = datetime.datetime(2026, 11, 21, tzinfo=datetime.UTC)
    table = {"at": moment, "price": decimal.Decimal("2.50"), "big": 1 << 40, "list": [1, "x"], "table": {"n": 1}}
    pieces: list[bytes] = []
    pika_data.encode_table(pieces, table)
    read = decode_table(b"".join(pieces))[0]
    assert read == {
        "at": int(moment.timestamp()) * 1000,
        "price": 2.5,
        "big": 1 << 40,
        "list": [1, "x"],
        "table": {"n": 1},
    }


@given(st.binary(max_size=60))
def test_random_bytes_are_an_error_or_a_table(noise: bytes) -> None:
    for data in (noise, len(noise).to_bytes(4, "big") + noise):
        assert isinstance(reading(data), (tuple, Malformed))


@given(st.integers(0, len(SAMPLE) - 1), st.integers(0, 255))
def test_one_wrong_byte_is_an_error_or_a_table(at: int, octet: int) -> None:
    data = SAMPLE[:at] + bytes((octet,)) + SAMPLE[at + 1 :]
    assert isinstance(reading(data), (tuple, Malformed))


@pytest.mark.parametrize("size", range(len(SAMPLE)))
def test_cut_off_tables_are_errors(size: int) -> None:
    with pytest.raises(Malformed):
        decode_table(SAMPLE[:size])


@pytest.mark.parametrize(("kind", "empty"), [(b"F", b"\1n"), (b"A", b"")])
def test_nesting_is_limited(kind: bytes, empty: bytes) -> None:
    def nested(levels: int) -> bytes:
        data = b""
        for _ in range(levels):
            data = empty + kind + len(data).to_bytes(4, "big") + data
        data = data[len(empty) :]
        return (len(data) + 2).to_bytes(4, "big") + b"\1n" + data

    assert decode_table(nested(32))[0]
    with pytest.raises(Malformed, match="levels deep"):
        decode_table(nested(33))
    with pytest.raises(Malformed, match="levels deep"):
        decode_table(nested(50_000))


@pytest.mark.parametrize("value", [1 << 63, object(), 3 + 4j])
def test_values_without_a_field_type_are_refused(value: Any) -> None:
    with pytest.raises(Unencodable):
        encode_table({"n": value})


def test_a_name_has_at_most_255_bytes() -> None:
    assert decode_table(encode_table({"é" * 127: 1}))[0] == {"é" * 127: 1}
    with pytest.raises(Unencodable, match="255"):
        encode_table({"é" * 128: 1})


@given(TABLES, st.sets(TEXT, max_size=3))
def test_without_removes_exactly_the_entries(table: dict[str, Any], names: set[str]) -> None:
    kept = {name: value for name, value in table.items() if name not in names}
    assert without(encode_table(table), names) == encode_table(kept)


@given(st.binary(max_size=40))
def test_without_refuses_random_bytes(noise: bytes) -> None:
    for data in (noise, len(noise).to_bytes(4, "big") + noise):
        try:
            kept = without(data, {"a"})
        except Malformed:
            kept = b""
        assert len(kept) <= len(data)


def test_the_cache_of_names_is_bounded() -> None:
    for number in range(10_000):
        data = encode_table({f"name{number}": 1})
        assert decode_table(data)[0] == {f"name{number}": 1}
    remembered: list[dict[Any, Any]] = [fields._names, fields._any_key, fields._text_key]
    remembered += [keys for keys, _ in fields._FIXED.values()]
    assert all(len(each) <= 4096 for each in remembered)


def test_bytes_that_are_not_text() -> None:
    assert text("\ud800x".encode("utf-8", "surrogatepass")) == "\ud800x"
    assert text(b"a\xff") == "a\\xff"
    with pytest.raises(Malformed, match="byte 1"):
        strict_text(b"a\xff")


def test_a_float_keeps_its_bits() -> None:
    read = decode_table(encode_table({"f": Float(0.1)}))[0]["f"]
    assert struct.pack(">f", read) == struct.pack(">f", 0.1)

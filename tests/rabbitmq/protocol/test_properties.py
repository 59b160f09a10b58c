"""Property lists: equality with pika's, copies, and hostile bytes."""

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pika import spec

from jmsbridge_rabbitmq.messages.copying import copy_for
from jmsbridge_rabbitmq.protocol.fields import Malformed, Unencodable, decode_table, encode_table
from jmsbridge_rabbitmq.protocol.properties import Properties, decode, encode

SHORT = st.text(max_size=40)
LISTS = st.builds(
    Properties,
    st.none() | SHORT,
    st.none() | SHORT,
    st.none() | st.dictionaries(SHORT, st.integers(0, 9), max_size=3).map(encode_table),
    st.none() | st.integers(0, 255),
    st.none() | st.integers(0, 255),
    st.none() | SHORT.map(str.encode),
    st.none() | SHORT,
    st.none() | SHORT,
    st.none() | SHORT,
    st.none() | st.integers(0, (1 << 63) - 1),
    st.none() | SHORT,
    st.none() | SHORT,
    st.none() | SHORT,
    st.none() | SHORT,
)
FULL = Properties(
    "text/plain",
    "gzip",
    encode_table({"a": 1}),
    2,
    4,
    b"\xff\0",
    "answers",
    "1000",
    "ID:1",
    7,
    "t",
    "guest",
    "app",
    "c",
)


@given(LISTS)
def test_every_combination_survives(properties: Properties) -> None:
    assert decode(encode(properties)) == properties


@given(LISTS)
def test_pika_writes_and_reads_the_same(properties: Properties) -> None:
    known: dict[str, Any] = {name: getattr(properties, name) for name in properties.__struct_fields__}
    if known["headers"] is not None:
        known["headers"] = decode_table(known["headers"])[0]
    if known["correlation_id"] is not None:
        known["correlation_id"] = known["correlation_id"].decode()
    data = encode(properties)
    assert b"".join(spec.BasicProperties(**known).encode()) == data
    read = spec.BasicProperties()
    read.decode(data)
    assert {name: getattr(read, name) for name in known} == known


@pytest.mark.parametrize("size", range(len(encode(FULL))))
def test_cut_off_lists_are_errors(size: int) -> None:
    with pytest.raises(Malformed):
        decode(encode(FULL)[:size])


@given(st.binary(max_size=40))
def test_random_bytes_are_an_error_or_a_list(noise: bytes) -> None:
    for data in (noise, b"\xff\xfc" + noise):
        try:
            found: object = decode(data)
        except Malformed as error:
            found = error
        assert isinstance(found, (Properties, Malformed))


@pytest.mark.parametrize("data", [b"\0\1\0\0", b"\0\2", encode(FULL) + b"\0"])
def test_lists_of_another_kind_are_errors(data: bytes) -> None:
    with pytest.raises(Malformed):
        decode(data)


def test_a_text_has_at_most_255_bytes() -> None:
    assert decode(encode(Properties(app_id="a" * 255))).app_id == "a" * 255
    with pytest.raises(Unencodable, match="reply to"):
        encode(Properties(reply_to="é" * 128))


def test_a_copy_is_independent() -> None:
    table = {"CC": ["elsewhere"], "BCC": ["x"], "n": 5, "x-delivery-count": 3, "x-acquired-count": 4, "x-death": [{}]}
    full = decode(encode(FULL))
    full.headers = encode_table(table)
    copied = decode(copy_for(encode(full), "ID:2"))
    assert decode_table(copied.headers or b"")[0] == {"n": 5, "x-death": [{}]}
    assert (copied.expiration, copied.user_id, copied.message_id) == (None, None, "ID:1")
    assert (copied.reply_to, copied.correlation_id, copied.delivery_mode) == ("answers", b"\xff\0", 2)


def test_a_copy_of_a_message_without_id_has_an_id() -> None:
    assert decode(copy_for(encode(Properties()), "ID:2")).message_id == "ID:2"


@given(st.binary(max_size=40))
def test_random_bytes_can_be_copied(noise: bytes) -> None:
    assert decode(copy_for(noise, "ID:2")).message_id is not None
    broken = encode(Properties(headers=struct.pack(">I", len(noise)) + noise))
    assert decode(copy_for(broken, "ID:2")).message_id == "ID:2"

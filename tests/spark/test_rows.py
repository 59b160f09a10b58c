"""A message as a row of Spark and back: every header, typed property and kind of body."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import jmsbridge
from jmsbridge import Message, Session
from jmsbridge.documents import size_of, to_document
from jmsbridge.errors import ConfigurationError
from jmsbridge.spark.rows import BadDocument, check_columns, message_of, rows_of_batch
from jmsbridge.spark.schema import COLUMNS, batch_of, columns_of, read_id, types, written_id
from jmsbridge.values import Byte, Double, Float, Int, Long, Short

QUEUE = jmsbridge.Queue("orders")
PROPERTIES: dict[str, Any] = {
    "text": "Grüße",
    "empty": "",
    "none": None,
    "yes": True,
    "byte": Byte(-128),
    "short": Short(32767),
    "int": Int(-5),
    "long": Long(2**62 + 1),
    "float": Float(0.1),
    "double": Double(1e300),
    "whole": Double(3.0),
    "nan": Double(float("nan")),
    "JMSXGroupID": "g1",
    "JMSXGroupSeq": Int(7),
}


def _bytes(session: Session) -> Message:
    message = session.create_bytes_message()
    message.write_bytes(bytes(range(256)))
    return message


def _map(session: Session) -> Message:
    message = session.create_map_message()
    fields: dict[str, Any] = {"a": Short(1), "b": b"\0\xff", "c": "text", "d": None, "e": Long(2**60)}
    for name, value in fields.items():
        message.set_object(name, value)
    return message


def _stream(session: Session) -> Message:
    message = session.create_stream_message()
    for value in (Byte(1), "text", 1.5, b"\x01", None):
        message.write_object(value)
    return message


KINDS: dict[str, Callable[[Session], Message]] = {
    "text": lambda session: session.create_text_message("Grüße 🙂"),
    "no text": lambda session: session.create_text_message(None),
    "bytes": _bytes,
    "no bytes": lambda session: session.create_bytes_message(),
    "map": _map,
    "stream": _stream,
    "object": lambda session: session.create_object_message({"n": [1, 2.5, "x"]}),
    "message": lambda session: session.create_message(),
}


@pytest.mark.parametrize(
    ("kind", "body_format"),
    [(kind, form) for kind in KINDS for form in ("binary", "text") if (kind, form) != ("bytes", "text")],
)
def test_a_message_survives_the_way_through_a_row(kind: str, body_format: str, tmp_path: Path) -> None:
    with jmsbridge.connect(f"embedded:{tmp_path / 'broker.db'}") as connection:
        session = connection.create_session()
        message = KINDS[kind](session)
        for name, value in PROPERTIES.items():
            message.set_object_property(name, value)
        message.jms_correlation_id_as_bytes = b"\x00\xfe"
        message.jms_reply_to = jmsbridge.Topic("answers")
        message.jms_type = "order"
        producer = session.create_producer(QUEUE)
        producer.send(message, priority=7, time_to_live=3600, delivery_mode=jmsbridge.DeliveryMode.NON_PERSISTENT)
        connection.start()
        got = session.create_consumer(QUEUE).receive(timeout=30)
        assert got is not None
        batch = columns_of(batch_of([got], [None]), list(COLUMNS), 0, 0, body_format, "fail")
        (row,) = rows_of_batch(batch)
        outgoing = message_of(row, session)

    before, after = to_document(got), to_document(outgoing.message)
    before["properties"].pop("JMSXDeliveryCount", None)
    assert after["kind"] == before["kind"]
    assert after["body"] == before["body"]
    assert after["properties"] == before["properties"]
    for name in ("jms_correlation_id", "jms_reply_to", "jms_type"):
        assert after["headers"][name] == before["headers"][name]
    assert outgoing.destination == QUEUE
    assert outgoing.options["priority"] == 7
    assert outgoing.options["delivery_mode"] == jmsbridge.DeliveryMode.NON_PERSISTENT
    assert time.time() + outgoing.options["time_to_live"] == pytest.approx(got.jms_expiration / 1000, abs=30)


@pytest.mark.parametrize("kind", KINDS)
def test_the_size_of_a_message_counts_its_properties(kind: str) -> None:
    with jmsbridge.connect("embedded:") as connection:
        message = KINDS[kind](connection.create_session())
        if isinstance(message, jmsbridge.BytesMessage):
            message.reset()
        size = size_of(message)
        message.set_string_property("large", "x" * 1_000_000)
        message.set_int_property("n", 1)
    assert size < 300
    assert size_of(message) == size + 1_000_000 + len("large") + len("n") + 8


def test_the_size_of_a_message_counts_its_fields() -> None:
    large = "x" * 1_000_000
    with jmsbridge.connect("embedded:") as connection:
        session = connection.create_session()
        fields, stream = session.create_map_message(), session.create_stream_message()
        fields.set_string("large", large)
        stream.write_bytes(large.encode())
        for message in (fields, stream, session.create_object_message(large)):
            assert 1_000_000 <= size_of(message) < 1_000_100


def test_texts_and_times_that_spark_does_not_have_are_no_reason_to_stop() -> None:
    odd = jmsbridge.TextMessage("half \ud800")
    odd.set_string_property("half", "\udfff")
    odd.jms_expiration = 2**62
    odd.jms_delivery_time = 1
    batch = batch_of([odd, jmsbridge.TextMessage("next")], [None, None])
    first, second = batch.to_pylist()
    assert first["body"] == b"half \xed\xa0\x80"
    assert first["properties"] == [("half", "\\udfff")]
    assert first["expiration"].year == 9999
    assert second["expiration"] is None
    assert first["deliveryTime"].timestamp() == 0.001
    assert second["body"] == b"next"
    assert second["properties"] == []


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"body": "x", "bodyType": "texts"}, "unknown kind 'texts'"),
        ({"body": "{", "bodyType": "map"}, "not JSON"),
        ({"body": b"\xff", "bodyType": "text"}, "not UTF-8"),
        (
            {"body": "x", "bodyType": "text", "properties": [("n", "x")], "propertyTypes": [("n", "int")]},
            "property n is 'x'.* no int",
        ),
        (
            {"body": "x", "bodyType": "text", "properties": [("n", "1")], "propertyTypes": [("n", "integer")]},
            "unknown type 'integer'",
        ),
        ({"body": "x", "bodyType": "text", "properties": [("JMSPriority", "1")]}, "reserved for headers"),
        ({"body": "x", "bodyType": "text", "priority": 10, "deliveryMode": "DURABLE"}, "jms_delivery_mode"),
    ],
)
def test_a_row_that_is_no_message_says_what_is_wrong(row: dict[str, Any], problem: str) -> None:
    with jmsbridge.connect("embedded:") as connection, pytest.raises(BadDocument, match=problem):
        message_of(row, connection.create_session())


@pytest.mark.parametrize("name", ["body", "value"])
@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (pa.string(), "x", ("text", "x")),
        (pa.string(), None, ("text", None)),
        (pa.binary(), b"x", ("bytes", "eA==")),
        (pa.binary(), None, ("bytes", "")),
        (pa.large_binary(), None, ("bytes", "")),
    ],
)
def test_the_column_decides_the_kind_of_a_row_without_a_body_type(
    name: str, kind: Any, value: Any, expected: tuple[str, str | None]
) -> None:
    (row,) = rows_of_batch(pa.RecordBatch.from_arrays([pa.array([value], kind)], names=[name]))
    with jmsbridge.connect("embedded:") as connection:
        document = to_document(message_of(row, connection.create_session()).message)
    assert (document["kind"], document.get("body")) == expected


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"messageId": "string"}, "need a column 'body'"),
        ({"body": "string", "value": "string"}, "need a column 'body'"),
        ({"body": "struct<a:int>"}, "cast it"),
        ({"body": "string", "priorty": "int"}, "priority"),
        ({"body": "string", "priority": "bigint"}, "not int: cast it"),
        ({"body": "string", "key": "int"}, "dedupId needs a string"),
    ],
)
def test_columns_are_checked_before_anything_is_sent(columns: dict[str, str], problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        check_columns(columns, "key")


@pytest.mark.parametrize("body_format", ["binary", "text"])
def test_all_columns_of_the_source_are_those_of_a_message(body_format: str) -> None:
    with pytest.raises(ConfigurationError, match="no column 'last'"):  # and nothing is wrong with those before it
        check_columns(types(body_format) | {"last": "int"}, "messageId")


def test_properties_that_only_other_providers_allow_are_passed_on() -> None:
    given = {"x-request-id": "7", "NULL": "n", "JMSXGroupSeq": "3"}
    with jmsbridge.connect("embedded:") as connection:
        outgoing = message_of(
            {"body": "x", "bodyType": "text", "properties": list(given.items())}, connection.create_session()
        )
    assert dict(outgoing.message.properties) == given


@pytest.mark.parametrize(
    ("columns", "dedup_id", "problem"),
    [
        ({"body": "string"}, "key", "no column 'key'"),
        ({"body": "string", "priority": "int"}, "priority", "needs a string"),
        ({"body": "string", "offset": "bigint"}, "offset", "is a place"),
    ],
)
def test_ids_are_in_a_column_of_texts(columns: dict[str, str], dedup_id: str, problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        check_columns(columns, dedup_id)
    check_columns({"body": "string"}, "messageId")


@pytest.mark.parametrize(
    "value",
    ["plain", '{"bytes": "QUJD"}', '{"bytes": "a"b"}', '{"text": "x"}', '{"bytes": "%%%"}', '{"a": 1}', "\ud800"],
)
def test_texts_that_look_like_other_correlation_ids_stay_texts(value: str) -> None:
    assert read_id(str(written_id(value))) == value
    assert read_id(str(written_id({"bytes": "QUJD"}))) == {"bytes": "QUJD"}


def test_a_correlation_id_of_no_known_form_is_a_text() -> None:
    for text in ('{"bytes": "a"b"}', '{"bytes": "%%%"}', '{"text": "x", "y": 1}', '{"text": "'):
        assert read_id(text) == text

"""Rows of Spark as messages: the way back of ``schema.batch_of``."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from jmsbridge import Message, Session
from jmsbridge.codecs import javatext
from jmsbridge.config.suggest import nearest
from jmsbridge.documents import BadDocument, Outgoing, from_document, from_json, set_properties
from jmsbridge.errors import ConfigurationError
from jmsbridge.spark.options import MESSAGE_ID
from jmsbridge.spark.schema import read_id, types
from jmsbridge.values import Byte, Double, Float, Int, Long, Short

__all__ = ["BadDocument", "check_columns", "message_of", "rows_of_batch"]

_BODIES = ("body", "value")
"""The column of the body; the second name is that of Spark's other sources."""
_WITH_FIELDS = ("map", "stream", "object")
_HEADERS = {
    "destination": "jms_destination",
    "replyTo": "jms_reply_to",
    "type": "jms_type",
    "priority": "jms_priority",
    "deliveryMode": "jms_delivery_mode",
    "expiration": "jms_expiration",
    "deliveryTime": "jms_delivery_time",
}
_GROUP_ID = "JMSXGroupID"
_PLACES = frozenset({"offset", "lane", "position", "timestamp"})


def check_columns(columns: Mapping[str, str], dedup_id: str | None) -> None:
    """ConfigurationError unless a message can be made of these columns, given with their types in Spark's words."""
    own = types() | types(by_position=True)  # rows that were read in either way
    for name, kind in columns.items():
        if name in _BODIES:
            if kind not in ("binary", "string"):
                raise ConfigurationError(f"the column {name} is {kind}; a body is binary or string: cast it")
        elif name in own:
            if kind != own[name]:
                raise ConfigurationError(f"the column {name} is {kind}, not {own[name]}: cast it")
        elif name != dedup_id:
            raise ConfigurationError(
                f"a message has no column {name!r}: {nearest(name, own, 'columns')}; "
                "put values of your own into the map 'properties', or drop the column"
            )
    if len(columns.keys() & set(_BODIES)) != 1:
        raise ConfigurationError(f"the rows need a column 'body' (or 'value'), and have {', '.join(columns)}")
    _check_ids(columns, dedup_id)


def _check_ids(columns: Mapping[str, str], dedup_id: str | None) -> None:
    if dedup_id is None or (dedup_id == MESSAGE_ID and dedup_id not in columns):
        return
    if dedup_id in _PLACES:
        raise ConfigurationError(f"dedupId={dedup_id} is a place, which other messages have, too: give a column of ids")
    if dedup_id not in columns:
        raise ConfigurationError(
            f"the rows have no column {dedup_id!r} (dedupId): {nearest(dedup_id, columns, 'columns')}"
        )
    if columns[dedup_id] != "string":
        raise ConfigurationError(f"the column {dedup_id} is {columns[dedup_id]}; dedupId needs a string: cast it")


def rows_of_batch(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    """Each row as values by column; times as milliseconds. Every row has the kind of its body."""
    columns = []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if pa.types.is_timestamp(column.type):
            column = column.cast(pa.timestamp("ms", tz=column.type.tz), safe=False).cast(pa.int64())
        columns.append((name, column.to_pylist()))
    names = [name for name, _ in columns]
    kind = _kind_of_bodies(batch.schema)
    for values in zip(*(values for _, values in columns), strict=True):
        row = dict(zip(names, values, strict=True))
        row["bodyType"] = row.get("bodyType") or kind
        yield row


def _kind_of_bodies(schema: pa.Schema) -> str:
    """What a row without bodyType becomes: the column decides, since a value may be null."""
    binaries = (each.name for each in schema if pa.types.is_binary(each.type) or pa.types.is_large_binary(each.type))
    return "text" if set(_BODIES).isdisjoint(binaries) else "bytes"


def message_of(row: Mapping[str, Any], session: Session) -> Outgoing:
    """The message of a row of ``rows_of_batch``, with its destination and settings; BadDocument: what is wrong."""
    headers = {header: row[name] for name, header in _HEADERS.items() if row.get(name) is not None}
    if row.get("correlationId") is not None:
        headers["jms_correlation_id"] = read_id(row["correlationId"])
    outgoing = from_document({"headers": headers, **_body(row)}, session)
    try:
        _set_properties(outgoing.message, row)
    except (ValueError, TypeError) as error:
        raise BadDocument(str(error)) from error
    return outgoing


def _body(row: Mapping[str, Any]) -> dict[str, Any]:
    body = row["body"] if "body" in row else row.get("value")
    kind = row["bodyType"]
    if kind == "bytes":
        return {"kind": kind, "body": body.encode("utf-8") if isinstance(body, str) else body or b""}
    if isinstance(body, bytes):
        try:
            body = body.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            raise BadDocument(f"the body of a {kind} message is not UTF-8: {error}") from None
    if kind not in _WITH_FIELDS or body is None:
        return {"kind": kind, "body": body}
    try:
        return {"kind": kind, "body": json.loads(body)}
    except ValueError as error:
        raise BadDocument(f"the body of a {kind} message is not JSON: {error}") from None


def _set_properties(message: Message, row: Mapping[str, Any]) -> None:
    kinds = dict(row.get("propertyTypes") or ())
    properties = dict(row.get("properties") or ())
    if row.get("groupId") is not None:
        properties.setdefault(_GROUP_ID, row["groupId"])
    typed: dict[str, Any] = {}
    for name, text in properties.items():
        kind = kinds.get(name)
        typed[name] = text if kind is None or text is None else _typed(name, kind, text)
    set_properties(message, typed)


def _typed(name: str, kind: str, text: str) -> Any:
    reader = _READERS.get(kind)
    if reader is None:
        raise BadDocument(f"the property {name} has the unknown type {kind!r}: {nearest(kind, _READERS, 'types')}")
    try:
        return reader(text)
    except ValueError as error:
        raise BadDocument(f"the property {name} is {text!r}, which is no {kind}: {error}") from None


def _boolean(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError("it must be true or false")
    return text == "true"


_READERS: dict[str, Callable[[str], Any]] = {
    "boolean": _boolean,
    "byte": lambda text: Byte(int(text)),
    "short": lambda text: Short(int(text)),
    "int": lambda text: Int(int(text)),
    "long": lambda text: Long(int(text)),
    "float": lambda text: Float(javatext.parse_float(text)),
    "double": lambda text: Double(javatext.parse_double(text)),
    "string": str,
    "json": lambda text: from_json(json.loads(text)),
}

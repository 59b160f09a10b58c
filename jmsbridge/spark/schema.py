"""The columns of a message in Spark, and messages as Arrow batches of them.

The words and texts are those of ``jmsbridge.documents``, as in the JSON lines of the command line.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from jmsbridge import Message
from jmsbridge.codecs import javatext
from jmsbridge.documents import body_of, headers_of, kind_of, to_json
from jmsbridge.values import Byte, Double, Float, Int, Long, Short

__all__ = ["COLUMNS", "DEDUP_ID", "Row", "batch_of", "columns_of", "ddl", "id_of", "log_schema", "row_of", "types"]

DEDUP_ID = "_dedupId"
"""A column of the log alone: the id that identifies the message, null if it has none."""

_TEXTS = pa.map_(pa.string(), pa.string())
_TIME = pa.timestamp("us", tz="UTC")

COLUMNS: dict[str, tuple[str, pa.DataType]] = {
    "messageId": ("string", pa.string()),
    "destination": ("string", pa.string()),
    "body": ("binary", pa.binary()),
    "bodyType": ("string", pa.string()),
    "properties": ("map<string,string>", _TEXTS),
    "propertyTypes": ("map<string,string>", _TEXTS),
    "correlationId": ("string", pa.string()),
    "type": ("string", pa.string()),
    "replyTo": ("string", pa.string()),
    "groupId": ("string", pa.string()),
    "timestamp": ("timestamp", _TIME),
    "expiration": ("timestamp", _TIME),
    "deliveryTime": ("timestamp", _TIME),
    "priority": ("int", pa.int32()),
    "deliveryMode": ("string", pa.string()),
    "redelivered": ("boolean", pa.bool_()),
    "deliveryCount": ("int", pa.int32()),
    "offset": ("bigint", pa.int64()),
    "lane": ("int", pa.int32()),
}
"""Each column with its type in Spark and in Arrow."""

_DELIVERY_COUNT = "JMSXDeliveryCount"
_ADDED = ("offset", "lane")  # by the log when it is read

Row = tuple[Any, ...]


def types(body_format: str = "binary", include_properties: bool = True) -> dict[str, str]:
    """The type of each column in Spark's words."""
    found = {name: kind for name, (kind, _) in COLUMNS.items()}
    if body_format == "text":
        found["body"] = "string"
    if not include_properties:
        del found["properties"], found["propertyTypes"]
    return found


def ddl(body_format: str = "binary", include_properties: bool = True) -> str:
    """The schema in Spark's words."""
    return ", ".join(f"{name} {kind}" for name, kind in types(body_format, include_properties).items())


def log_schema() -> pa.Schema:
    """The columns of a segment of the log."""
    fields = [pa.field(name, kind) for name, (_, kind) in COLUMNS.items() if name not in _ADDED]
    return pa.schema([*fields, pa.field(DEDUP_ID, pa.string())])


def id_of(message: Message, id_property: str | None) -> str | None:
    """What identifies a message: its JMSMessageID or this property; None if it has none."""
    if id_property is None:
        return message.jms_message_id
    value = message.properties.get(id_property)
    return None if value is None else str(value)


def row_of(message: Message, dedup_id: str | None) -> Row:
    """One message in the order of ``log_schema``."""
    headers = headers_of(message)
    body, kind = _body(message), kind_of(message)
    properties, types = _properties(message)
    correlation_id = headers.get("jms_correlation_id")
    return (
        headers.get("jms_message_id"),
        headers.get("jms_destination"),
        body,
        kind,
        properties,
        types,
        correlation_id if isinstance(correlation_id, str | None) else json.dumps(correlation_id),
        headers.get("jms_type"),
        headers.get("jms_reply_to"),
        dict(properties).get("JMSXGroupID"),
        _microseconds(headers, "jms_timestamp"),
        _microseconds(headers, "jms_expiration"),
        _microseconds(headers, "jms_delivery_time"),
        headers.get("jms_priority"),
        headers.get("jms_delivery_mode"),
        headers.get("jms_redelivered", False),
        message.get_int_property(_DELIVERY_COUNT) if message.property_exists(_DELIVERY_COUNT) else None,
        dedup_id,
    )


def batch_of(rows: Sequence[Row]) -> pa.RecordBatch:
    """Rows as one Arrow batch."""
    schema = log_schema()
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    return pa.RecordBatch.from_arrays(
        [_array(values, field.type) for values, field in zip(columns, schema, strict=True)], schema=schema
    )


def columns_of(
    batch: pa.RecordBatch, names: Sequence[str], first: int, lane: int, body_format: str, decode_errors: str
) -> pa.RecordBatch:
    """These columns of rows of the log, as Spark expects them; ``first`` is the number of the first row."""
    count = batch.num_rows
    columns = {
        "offset": lambda: pa.array(range(first, first + count), pa.int64()),
        "lane": lambda: pa.repeat(pa.scalar(lane, pa.int32()), count),
    }
    if body_format == "text":
        columns["body"] = lambda: _texts(batch.column("body"), decode_errors)
    arrays = [columns[name]() if name in columns else batch.column(name) for name in names]
    return pa.RecordBatch.from_arrays(arrays, names=list(names))


def _texts(bodies: pa.Array, decode_errors: str) -> pa.Array:
    try:
        return bodies.cast(pa.string())
    except pa.ArrowInvalid as error:
        if decode_errors == "fail":
            raise ValueError(
                f'a body is not text ({error}): decodeErrors="null" makes it null, bodyFormat="binary" keeps its bytes'
            ) from None
        return pa.array([_text(body) for body in bodies.to_pylist()], pa.string())


def _text(body: bytes | None) -> str | None:
    try:
        return None if body is None else body.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    try:
        return pa.array(values, kind)
    except UnicodeEncodeError:  # Java's text may hold half of a surrogate pair, which is no UTF-8
        return pa.array([_encodable(value) for value in values], kind)


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, list):
        return [tuple(_encodable(part) for part in pair) for pair in value]
    return value


def _microseconds(headers: Mapping[str, Any], name: str) -> int | None:
    value = headers.get(name)
    return None if value is None else value * 1000


def _body(message: Message) -> bytes | None:
    if kind_of(message) == "bytes":
        return message.get_body(bytes) or b""
    body = body_of(message)
    if body is None:
        return None
    text = body if isinstance(body, str) and kind_of(message) == "text" else json.dumps(body, ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass")


def _properties(message: Message) -> tuple[list[tuple[str, Any]], list[tuple[str, str]]]:
    """Each property as text, and the types of those that are not a String."""
    texts: list[tuple[str, Any]] = []
    types: list[tuple[str, str]] = []
    for name in message.property_names:
        if name == _DELIVERY_COUNT:
            continue
        value = message.get_object_property(name)
        if isinstance(value, str | None):
            texts.append((name, value))
            continue
        kind, text = _TYPES.get(type(value), ("json", _json_text))
        texts.append((name, text(value)))
        types.append((name, kind))
    return texts, types


def _json_text(value: Any) -> str:
    return json.dumps(to_json(value))


def _digits(value: int) -> str:
    return str(int(value))


_TYPES: dict[type, tuple[str, Callable[[Any], str]]] = {
    bool: ("boolean", lambda value: "true" if value else "false"),
    Byte: ("byte", _digits),
    Short: ("short", _digits),
    Int: ("int", _digits),
    int: ("int", _digits),
    Long: ("long", _digits),
    Float: ("float", javatext.float_text),
    Double: ("double", javatext.double_text),
    float: ("double", javatext.double_text),
}

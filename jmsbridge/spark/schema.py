"""The columns of a message in Spark, and messages as Arrow batches of them.

The words and texts are those of ``jmsbridge.documents``, as in the JSON lines of the command line.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import pyarrow as pa

from jmsbridge import Message, TextMessage
from jmsbridge.codecs import javatext
from jmsbridge.documents import (
    body_of,
    delivery_counts,
    from_base64,
    header_columns,
    kind_of,
    property_values,
    to_json,
)
from jmsbridge.values import Byte, Double, Float, Int, Long, Short

__all__ = [
    "COLUMNS",
    "DEDUP_ID",
    "batch_of",
    "columns_of",
    "ddl",
    "id_of",
    "load_arrow",
    "log_schema",
    "placed",
    "read_id",
    "types",
    "written_id",
]

DEDUP_ID = "_dedupId"
"""A column of the log alone: the id that identifies the message, null if it has none."""

_FORMS = ('{"text": "', '{"bytes": "')
"""How correlation ids begin in their column that are not written as they are."""
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
_GROUP_ID = "JMSXGroupID"
_LAST_TIME = 253_402_300_799_999  # the end of the year 9999, which is the last one in Spark and Python
_ADDED = ("offset", "lane")  # by the log when it is read


def types(body_format: str = "binary", include_properties: bool = True, *, by_position: bool = False) -> dict[str, str]:
    """The type of each column in Spark's words; the broker's position is a text in place of the log's number."""
    found = {name: kind for name, (kind, _) in COLUMNS.items()}
    if by_position:
        found = {"position" if name == "offset" else name: kind for name, kind in found.items()}
        found["position"] = "string"
    if body_format == "text":
        found["body"] = "string"
    if not include_properties:
        del found["properties"], found["propertyTypes"]
    return found


def ddl(body_format: str = "binary", include_properties: bool = True, *, by_position: bool = False) -> str:
    """The schema in Spark's words."""
    found = types(body_format, include_properties, by_position=by_position)
    return ", ".join(f"{name} {kind}" for name, kind in found.items())


def log_schema() -> pa.Schema:
    """The columns of a segment of the log."""
    fields = [pa.field(name, kind) for name, (_, kind) in COLUMNS.items() if name not in _ADDED]
    return pa.schema([*fields, pa.field(DEDUP_ID, pa.string())])


def load_arrow() -> None:
    """Have pyarrow import pandas, as it does for its first array: a second for which no received message need wait."""
    pa.array([], pa.string())


def id_of(message: Message, id_property: str | None) -> str | None:
    """What identifies a message: its JMSMessageID or this property; None if it has none, or an empty text."""
    value = message.jms_message_id if id_property is None else message.properties.get(id_property)
    return None if value is None else str(value) or None


def written_id(correlation_id: str | dict[str, str] | None) -> str | None:
    """A correlation id in its column: bytes as ``{"bytes": "…"}`` in Base64, and a text of such a form within one."""
    if isinstance(correlation_id, str) and correlation_id.startswith(_FORMS):
        correlation_id = {"text": correlation_id}
    return json.dumps(correlation_id) if isinstance(correlation_id, dict) else correlation_id


def read_id(text: str) -> str | dict[str, str]:
    """The way back; what is none of these forms is a text."""
    if text.startswith(_FORMS):
        with suppress(ValueError):
            found = json.loads(text)
            if isinstance(found, dict) and len(found) == 1 and isinstance(value := found.popitem()[1], str):
                if text.startswith(_FORMS[0]):
                    return value
                from_base64(value)
                return {"bytes": value}
    return text


def batch_of(messages: Sequence[Message], ids: Sequence[str | None]) -> pa.RecordBatch:
    """Messages, each with what identifies it, as one Arrow batch with the columns of ``log_schema``."""
    headers = header_columns(messages)
    kinds = [kind_of(message) for message in messages]
    properties, property_types, groups = _properties(messages)
    arrays = {
        "messageId": headers["jms_message_id"],
        "destination": headers["jms_destination"],
        "body": [
            each.text if isinstance(each, TextMessage) else _body(each, kind)
            for each, kind in zip(messages, kinds, strict=True)
        ],
        "bodyType": kinds,
        "properties": properties,
        "propertyTypes": property_types,
        "correlationId": [written_id(each) for each in headers["jms_correlation_id"]],
        "type": headers["jms_type"],
        "replyTo": headers["jms_reply_to"],
        "groupId": groups,
        "timestamp": _times(headers["jms_timestamp"]),
        "expiration": _times(headers["jms_expiration"]),
        "deliveryTime": _times(headers["jms_delivery_time"]),
        "priority": headers["jms_priority"],
        "deliveryMode": headers["jms_delivery_mode"],
        "redelivered": [bool(each) for each in headers["jms_redelivered"]],
        "deliveryCount": delivery_counts(messages),
        DEDUP_ID: ids,
    }
    schema = log_schema()
    return pa.RecordBatch.from_arrays([_array(arrays[each.name], each.type) for each in schema], schema=schema)


def columns_of(
    batch: pa.RecordBatch, names: Sequence[str], first: int, lane: int, body_format: str, decode_errors: str
) -> pa.RecordBatch:
    """These columns of rows of the log, as Spark expects them; ``first`` is the number of the first row."""
    count = batch.num_rows
    added: dict[str, Callable[[], pa.Array]] = {
        "offset": lambda: pa.array(range(first, first + count), pa.int64()),
        "lane": lambda: pa.repeat(pa.scalar(lane, pa.int32()), count),
    }
    return placed(batch, names, added, body_format, decode_errors)


def placed(
    batch: pa.RecordBatch,
    names: Sequence[str],
    added: Mapping[str, Callable[[], pa.Array]],
    body_format: str,
    decode_errors: str,
) -> pa.RecordBatch:
    """These columns of messages, as Spark expects them, with those that ``added`` makes."""
    columns = dict(added)
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


def _array(values: Any, kind: pa.DataType) -> pa.Array:
    if isinstance(values, pa.Array):
        return values
    try:
        return pa.array(values, kind)
    except UnicodeEncodeError:  # Java's text may hold half of a surrogate pair, which is no UTF-8
        errors = "surrogatepass" if kind == pa.binary() else "backslashreplace"
        return pa.array([each.encode("utf-8", errors) if isinstance(each, str) else each for each in values], kind)


def _times(milliseconds: Sequence[int | None]) -> pa.Array:
    try:
        return pa.array(milliseconds, pa.timestamp("ms", tz="UTC")).cast(_TIME)
    except pa.ArrowInvalid:  # it has no number in microseconds: it is as good as never
        return _times([None if each is None else max(0, min(each, _LAST_TIME)) for each in milliseconds])


def _body(message: Message, kind: str) -> str | bytes | None:
    """The body as it is in the column; Arrow encodes text."""
    if kind == "bytes":
        return message.get_body(bytes) or b""
    body = body_of(message)
    return None if body is None else json.dumps(body, ensure_ascii=False)


def _properties(messages: Sequence[Message]) -> tuple[pa.Array, pa.Array, list[str | None]]:
    """The properties as texts, the types of those that are not a String, and the group of each message."""
    texts, types = _Maps(), _Maps()
    groups: list[str | None] = []
    for values in property_values(messages):
        groups.append(_group_of(values, texts, types) if values else None)
        texts.ends.append(len(texts.names))
        types.ends.append(len(types.names))
    return texts.array(), types.array(), groups


def _group_of(values: Mapping[str, Any], texts: "_Maps", types: "_Maps") -> str | None:
    """Add the properties of one message to both columns; its group."""
    group = None
    for name, value in values.items():
        if name == _DELIVERY_COUNT:
            continue
        if not isinstance(value, str | None):
            kind, text = _TYPES.get(type(value), ("json", _json_text))
            types.add(name, kind)
            value = text(value)
        texts.add(name, value)
        if name == _GROUP_ID:
            group = value
    return group


class _Maps:
    """A column of maps, built entry by entry; ``ends`` says for each row how many entries there are up to its end."""

    def __init__(self) -> None:
        self.ends = [0]
        self.names: list[str] = []
        self._values: list[str | None] = []

    def add(self, name: str, value: str | None) -> None:
        """Add an entry to the map of the current row."""
        self.names.append(name)
        self._values.append(value)

    def array(self) -> pa.Array:
        """The column."""
        names, values = _array(self.names, pa.string()), _array(self._values, pa.string())
        return pa.MapArray.from_arrays(pa.array(self.ends, pa.int32()), names, values)


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

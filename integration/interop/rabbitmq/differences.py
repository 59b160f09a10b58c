"""What Java's clients and jmsbridge change in each other's messages on RabbitMQ; reasons are in tables of losses."""

import json
import math
from collections.abc import Callable
from typing import Any

from integration.interop.changes import (
    empty_is_bytes,
    no_nulls,
    no_time,
    null_text_is_empty,
    temporary_addresses,
    time_of_send,
    time_only_of_delays,
)
from integration.interop.describing import Description, typed
from integration.interop.differences import Difference, Refusal
from integration.interop.matrix import Sample

__all__ = ["AMQP", "AMQP_MARKED", "AMQP_REFUSALS", "JMS", "JMS_REFUSALS", "QPID", "QPID_REFUSALS"]

_TYPES = {"Byte": "byte", "Character": "char", "Float": "float", "Long": "long", "Short": "short", "bytes": "bytes"}
"""What the JSON of maps and streams says beside a value that JSON has no type for."""
JMS_REFUSALS = (
    Refusal("numbers that are not finite", "RabbitMQ closes a connection that sends one in a header"),
    Refusal("delay", "the client needs a plugin of RabbitMQ for it, without which it does not even close"),
)
_OTHER_KINDS = (
    *("map", "map with bytes", "map beyond the BMP"),
    *("stream", "stream with bytes", "stream beyond the BMP"),
    *("object", "null object"),
)
AMQP_REFUSALS = (
    *JMS_REFUSALS,
    *(Refusal(name, "the client has no form for it", "Unsupported message type") for name in _OTHER_KINDS),
)

# --- dialect jms


def _message_is_text(sample: Sample, expected: Description, seen: Description) -> None:
    if sample.kind == "Message":
        expected["kind"] = "TextMessage"


def _correlation_is_text(sample: Sample, expected: Description, seen: Description) -> None:
    if isinstance(sample.correlation, bytes):
        expected["correlation_bytes"] = typed(expected["correlation_id"].encode())


JMS = (
    Difference("from Java", "from Java: null properties", no_nulls),
    Difference("from Java", "from Java: JMSDeliveryTime", time_of_send),
    Difference("from Java", "from Java: Message", _message_is_text),
    Difference("to Java", "to Java: correlation id as bytes", _correlation_is_text),
    Difference("to Java", "to Java: JMSDeliveryTime without delay", time_only_of_delays),
)

# --- dialect amqp


def _text_is_bytes(sample: Sample, expected: Description, seen: Description) -> None:
    if expected["kind"] == "TextMessage":
        text = "" if expected["body"] is None else expected["body"][1]
        expected |= {"kind": "BytesMessage", "body": ["bytes", text.encode().hex()]}


def _text_with_type_is_bytes(sample: Sample, expected: Description, seen: Description) -> None:
    if sample.type is not None:  # the marker would stand in the type's place
        _text_is_bytes(sample, expected, seen)


def _reply_to_topic_is_queue(sample: Sample, expected: Description, seen: Description) -> None:
    if expected["reply_to"] is not None:
        expected["reply_to"][0] = "queue"


def _expiration_is_about(sample: Sample, expected: Description, seen: Description) -> None:
    if abs(seen["expiration"] - expected["expiration"]) < 30_000:  # of ten minutes; the first send takes its time
        expected["expiration"] = seen["expiration"]


def _other_kind_is_bytes(sample: Sample, expected: Description, seen: Description) -> None:
    if sample.kind in ("MapMessage", "StreamMessage", "ObjectMessage", "Message"):
        expected |= {"kind": "BytesMessage", "body": _body_of_another_kind(sample, expected, seen)}


def _body_of_another_kind(sample: Sample, expected: Description, seen: Description) -> Any:
    """JSON in any writing, Java's own stream, or nothing."""
    if isinstance(sample.body, dict):
        fields, name = sample.body, "map"
        shown: Any = {field: _in_json(value) for field, value in fields.items()}
    elif isinstance(sample.body, tuple):
        fields, name = {str(number): value for number, value in enumerate(sample.body)}, "stream"
        shown = [_in_json(value) for value in sample.body]
    else:
        return expected["body"] or ["bytes", ""]
    classes = {field: typed(value)[0] for field, value in fields.items() if value is not None}
    types = {field: _TYPES[each] for field, each in classes.items() if each in _TYPES}
    body = {name: shown, "types": types} if types else {name: shown}
    return seen["body"] if json.loads(bytes.fromhex(seen["body"][1])) == body else body


def _in_json(value: Any) -> Any:
    return "AQL9" if isinstance(value, bytes) else value


def _type_is_kind(sample: Sample, expected: Description, seen: Description) -> None:
    if sample.type is None:
        expected["type"] = expected["kind"]


def _reply_to_is_queue(sample: Sample, expected: Description, seen: Description) -> None:
    if expected["reply_to"] is not None:
        expected["reply_to"] = ["queue", False, expected["reply_to"][2]]
    expected["destination"][1] = False  # of an answer


def _group_is_dropped(sample: Sample, expected: Description, seen: Description) -> None:
    for name in [name for name in expected["properties"] if name.startswith("JMSX")]:
        del expected["properties"][name]


def _properties_are_text(sample: Sample, expected: Description, seen: Description) -> None:
    expected["properties"] = {name: ["String", value[1]] for name, value in expected["properties"].items()}


def _notes(sample: Sample, expected: Description, seen: Description) -> None:
    notes: dict[str, str] = {}
    nulls = [name for name, value in sample.properties.items() if value is None]
    if nulls:
        notes["x-jb-nulls"] = json.dumps(nulls)
    if sample.kind == "TextMessage" and sample.body is None:
        notes["x-jb-null"] = "true"
    if sample.reply_to is not None and sample.reply_to != ("queue", "answers"):
        notes["x-jb-reply-to"] = f"temp-{sample.reply_to[0]}" if not sample.reply_to[1] else sample.reply_to[0]
    if isinstance(sample.correlation, bytes):
        notes["x-jb-correlation"] = sample.correlation.hex()
        _correlation_is_text(sample, expected, seen)
    expected["properties"] |= {name: ["String", note] for name, note in notes.items()}


def _not_finite(sample: Sample, expected: Description, seen: Description) -> None:
    kinds = {
        name: type(value).__name__.lower()
        for name, value in sample.properties.items()
        if isinstance(value, float) and not math.isfinite(value)
    }
    if kinds:
        expected["properties"]["x-jb-floats"] = ["String", json.dumps(kinds)]


def _death_is_property(sample: Sample, expected: Description, seen: Description) -> None:
    if sample.delivery_delay:  # it was in a queue where it died
        deaths = {name for name in seen["properties"] if name.startswith(("x-first-death-", "x-last-death-"))}
        for name in ("x-death", *deaths):
            expected["properties"][name] = seen["properties"][name]


_FROM_JAVA = (
    Difference("from Java", "from Java: null properties", no_nulls),
    Difference("from Java", "from Java: JMSDeliveryTime", time_of_send),
    Difference("from Java", "from Java: TextMessage", _text_is_bytes),
    Difference("from Java", "from Java: messages without body", empty_is_bytes),
    Difference("from Java", "from Java: JMSReplyTo", _reply_to_topic_is_queue),
    Difference("from Java", "from Java: expiration", _expiration_is_about, always=False),
)


def _to_java(text: Callable[[Sample, Description, Description], None]) -> tuple[Difference, ...]:
    changes = {
        "null texts": null_text_is_empty,
        "TextMessage": text,
        "other kinds": _other_kind_is_bytes,
        "JMSType": _type_is_kind,
        "JMSReplyTo": _reply_to_is_queue,
        "JMSX properties": _group_is_dropped,
        "null properties": no_nulls,
        "property types": _properties_are_text,
        "notes": _notes,
        "JMSDeliveryTime": no_time,
    }
    listed = [Difference("to Java", f"to Java: {name}", change) for name, change in changes.items()]
    return (
        *listed,
        Difference("to Java", "to others: NaN and infinities", _not_finite),
        Difference("to Java", "headers of the broker", _death_is_property),
    )


AMQP = (*_FROM_JAVA, *_to_java(_text_is_bytes))
AMQP_MARKED = (*_FROM_JAVA, *_to_java(_text_with_type_is_bytes))

# --- AMQP 1.0

QPID = (
    Difference("to Java", "java: temporary destinations", temporary_addresses("/queues/", "/exchanges/amq.topic/")),
)
QPID_REFUSALS = (
    Refusal("no body", "RabbitMQ ends the session of a message without a body"),
    Refusal("reply to a temporary queue", "RabbitMQ makes no nodes for clients"),
    Refusal("reply to a temporary topic", "RabbitMQ makes no nodes for clients"),
    Refusal("delay", "RabbitMQ has no delays", "elay"),
)

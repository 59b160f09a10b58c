"""What brokers change between STOMP and the clients of Java; the reasons are those of the backend's table of losses."""

from integration.interop.changes import (
    adds,
    answer_to_ordinary,
    new_id,
    no_correlation,
    no_nulls,
    no_time,
    null_text_is_empty,
    pairs_are_replaced,
    temporary_addresses,
    time_of_send,
    time_only_of_delays,
)
from integration.interop.describing import Description
from integration.interop.differences import Change, Difference, Loss
from integration.interop.matrix import Sample
from jmsbridge.transport.typed_values import encode_map, encode_stream

__all__ = [
    "CLASSIC",
    "CORE",
    "CORE_LOSSES",
    "OPENWIRE",
    "OPENWIRE_LOSSES",
]

_EMPTY = ["String", ""]


# -- to Java


def _no_id(sample: Sample, expected: Description, seen: Description) -> None:
    expected["message_id"] = None


def _texts(sample: Sample, expected: Description, seen: Description) -> None:
    expected["properties"] = {
        name: ["String", value[1]] if value is not None and name != "JMSXGroupSeq" else value
        for name, value in expected["properties"].items()
    }


def _kinds(sample: Sample, expected: Description, seen: Description) -> None:
    """A map or stream is a text with JSON, an object its stream, a plain message an empty text."""
    if isinstance(sample.body, dict):
        expected |= {"kind": "TextMessage", "body": ["String", encode_map(sample.body).decode()]}
    elif isinstance(sample.body, tuple):
        expected |= {"kind": "TextMessage", "body": ["String", encode_stream(sample.body).decode()]}
    elif sample.kind == "ObjectMessage":
        expected |= {"kind": "BytesMessage", "body": expected["body"] or ["bytes", ""]}
    elif sample.kind == "Message":
        expected |= {"kind": "TextMessage", "body": _EMPTY}


def _text_with_nul(sample: Sample, expected: Description, seen: Description) -> None:
    if expected["kind"] == "TextMessage" and "\0" in expected["body"][1]:
        expected |= {"kind": "BytesMessage", "body": ["bytes", expected["body"][1].encode().hex()]}


def _time_at_broker(sample: Sample, expected: Description, seen: Description) -> None:
    if abs(seen["timestamp"] - expected["timestamp"]) < 60_000:
        expected["timestamp"] = seen["timestamp"]


def _time_of_delayed(sample: Sample, expected: Description, seen: Description) -> None:
    if sample.delivery_delay:
        _time_at_broker(sample, expected, seen)


def _no_sequence(sample: Sample, expected: Description, seen: Description) -> None:
    if "JMSXGroupSeq" in expected["properties"]:
        expected["properties"]["JMSXGroupSeq"] = ["Integer", "0"]


def _temporary_is_ordinary(sample: Sample, expected: Description, seen: Description) -> None:
    if expected["reply_to"] is not None:
        expected["reply_to"][1] = False


def _answer_by_name(sample: Sample, expected: Description, seen: Description) -> None:
    kind, temporary, name = expected["destination"]
    expected["destination"] = [kind, temporary, name.removeprefix(f"/remote-temp-{kind}/")]


def _to_java(client: str, *changes: tuple[str, Change]) -> tuple[Difference, ...]:
    common = (
        ("property types", _texts),
        ("null properties", no_nulls),
        ("kinds", _kinds),
        ("null texts", null_text_is_empty),
        ("bytes as correlation id", no_correlation),
    )
    return tuple(Difference("to Java", f"{client}: {what}", change) for what, change in (*common, *changes))


# -- from Java


def _null_is_text(text: str) -> Change:
    def changed(sample: Sample, expected: Description, seen: Description) -> None:
        if "p_null" in expected["properties"]:
            expected["properties"]["p_null"] = ["String", text]

    return changed


def _unreadable(sample: Sample, expected: Description, seen: Description) -> None:
    """The bytes of a map, and some of a stream, are taken for a text, of which some is shown."""
    if sample.kind in ("MapMessage", "StreamMessage") and seen["kind"] == "TextMessage":
        expected |= {"kind": "TextMessage", "body": seen["body"]}


def _empty(sample: Sample, expected: Description, seen: Description) -> None:
    if sample.kind in ("ObjectMessage", "Message"):
        expected |= {"kind": "TextMessage", "body": _EMPTY}


def _structure_is_empty(sample: Sample, expected: Description, seen: Description) -> None:
    if sample.kind in ("MapMessage", "StreamMessage"):
        expected |= {"kind": "TextMessage", "body": _EMPTY}


def _empty_bytes(sample: Sample, expected: Description, seen: Description) -> None:
    if sample.kind == "BytesMessage" and expected["body"] == ["bytes", ""]:
        expected |= {"kind": "TextMessage", "body": _EMPTY}


def _name_of_bytes(sample: Sample, expected: Description, seen: Description) -> None:
    """Java's words for an array."""
    if isinstance(sample.correlation, bytes) and str(seen["correlation_id"]).startswith("[B@"):
        expected |= {name: seen[name] for name in ("correlation_id", "correlation_bytes")}


def _no_group(sample: Sample, expected: Description, seen: Description) -> None:
    for name in ("JMSXGroupID", "JMSXGroupSeq"):
        expected["properties"].pop(name, None)


def _from_java(client: str, *changes: tuple[str, Change]) -> tuple[Difference, ...]:
    common = (("property types", _texts), ("null texts", null_text_is_empty), ("kinds", _empty))
    return tuple(Difference("from Java", f"{client}: {what}", change) for what, change in (*common, *changes))


_WITH_ROUTING = (("null properties", _null_is_text("")), ("kinds", _unreadable), ("empty bytes", _empty_bytes))
_ROUTING_ADDS = adds("jb_", "destination", "content-length", "receipt", "_AMQ_SCHED_DELIVERY")
CORE = (
    *_to_java(
        "core",
        ("properties", _ROUTING_ADDS),
        ("message id", _no_id),
        ("JMSTimestamp", _time_at_broker),
        ("JMSDeliveryTime", time_only_of_delays),
        ("texts with NUL", _text_with_nul),
        ("JMSXGroupSeq", _no_sequence),
    ),
    Difference("to Java", "core: temporary destinations", answer_to_ordinary, always=False),
    *_from_java(
        "core",
        *_WITH_ROUTING,
        ("message id", new_id),
        ("JMSDeliveryTime", time_of_send),
        ("bytes as correlation id", _name_of_bytes),
    ),
)
CORE_LOSSES = tuple(Loss("from Java", name, "core: streams") for name in ("stream", "stream beyond the BMP"))
OPENWIRE = (
    *_to_java(
        "openwire",
        ("properties", _ROUTING_ADDS),
        ("message id", new_id),
        ("JMSTimestamp", _time_at_broker),
        ("JMSDeliveryTime", no_time),
        ("texts with NUL", _text_with_nul),
        ("characters beyond U+FFFF", pairs_are_replaced),
    ),
    *_from_java("openwire", *_WITH_ROUTING, ("characters beyond U+FFFF", pairs_are_replaced)),
)
OPENWIRE_LOSSES = tuple(Loss("from Java", name, "openwire: streams") for name in ("stream", "stream beyond the BMP"))
CLASSIC = (
    *_to_java(
        "openwire",
        ("properties", adds("jb_", "content-length", "amq-msg-type", "scheduledJobId")),
        ("message id", new_id),
        ("JMSDeliveryTime", no_time),
        ("characters beyond U+FFFF", pairs_are_replaced),
        ("temporary destinations", _temporary_is_ordinary),
    ),
    Difference("to Java", "openwire: JMSTimestamp", _time_of_delayed, always=False),
    Difference("to Java", "openwire: temporary destinations", _answer_by_name, always=False),
    *_from_java(
        "openwire",
        ("null properties", _null_is_text("null")),
        ("kinds", _structure_is_empty),
        ("groups", _no_group),
        ("characters beyond U+FFFF", pairs_are_replaced),
        ("temporary destinations", temporary_addresses("/remote-temp-queue/", "/remote-temp-topic/")),
    ),
)

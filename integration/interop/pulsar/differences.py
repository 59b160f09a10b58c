"""What Starlight for JMS changes; the reasons are those of the backend's table of losses."""

from integration.interop.changes import adds, no_nulls, text_of_bytes
from integration.interop.describing import Description
from integration.interop.differences import Difference, Refusal
from integration.interop.matrix import Sample

__all__ = ["STARLIGHT", "STARLIGHT_REFUSALS"]

_FULL = "persistent://public/default/"
_SHOWN = (
    *("JMSConnectionID", "JMSCorrelationID", "JMSDeliveryMode", "JMSDeliveryTime", "JMSExpiration", "JMSMessageId"),
    *("JMSPriority", "JMSPulsarMessageType", "JMSReplyTo", "JMSType", "JMS_jmsbridge"),
)


def _group_of_none(sample: Sample, expected: Description, seen: Description) -> None:
    if "JMSXGroupID" not in expected["properties"] and seen["properties"]["JMSXGroupSeq"][1].isdecimal():
        expected["properties"] |= {"JMSXGroupID": ["String", ""], "JMSXGroupSeq": seen["properties"]["JMSXGroupSeq"]}


def _text_there(sample: Sample, expected: Description, seen: Description) -> None:
    if isinstance(sample.correlation, bytes):
        expected["correlation_id"] = sample.correlation.decode("utf-8", "replace")


def _full_name(sample: Sample, expected: Description, seen: Description) -> None:
    if expected["reply_to"] is not None:
        kind, _, name = expected["reply_to"]
        expected["reply_to"] = [kind, False, _FULL + name]


def _full_name_of_answer(sample: Sample, expected: Description, seen: Description) -> None:
    kind, temporary, name = expected["destination"]
    if temporary:
        expected["destination"] = [kind, True, _FULL + name]


def _short_name(sample: Sample, expected: Description, seen: Description) -> None:
    if expected["reply_to"] is not None:
        kind, temporary, name = expected["reply_to"]
        expected["reply_to"] = [kind, temporary, name.removeprefix(_FULL)]


STARLIGHT = (
    Difference("to Java", "java: properties", adds(*_SHOWN)),
    Difference("to Java", "java: groups", _group_of_none),
    Difference("to Java", "java: null properties", no_nulls),
    Difference("to Java", "java: bytes as correlation id", _text_there),
    Difference("to Java", "java: names", _full_name),
    Difference("to Java", "java: names", _full_name_of_answer, always=False),
    Difference("from Java", "java: bytes as correlation id", text_of_bytes),
    Difference("from Java", "java: names", _short_name),
)
STARLIGHT_REFUSALS = (
    Refusal("null property", "Starlight cannot send a property that is null", "Need Non-Null value for key"),
)

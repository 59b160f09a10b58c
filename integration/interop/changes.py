"""The changes that several ways have in common, for their lists of differences."""

from integration.interop.describing import Description
from integration.interop.differences import Change, Refusal
from integration.interop.matrix import Sample

__all__ = [
    "NO_DELAY",
    "adds",
    "answer_to_ordinary",
    "empty_is_bytes",
    "new_id",
    "no_correlation",
    "no_nulls",
    "no_time",
    "null_text_is_empty",
    "object_ends_with_reset",
    "pairs_are_replaced",
    "temporary_addresses",
    "text_of_bytes",
    "time_of_send",
    "time_only_of_delays",
]

NO_DELAY = (Refusal("delay", "the client has no delays of JMS 2.0", "setDeliveryDelay() is not supported"),)


def adds(*prefixes: str) -> Change:
    """Properties whose names begin so are there in addition, whatever their values."""

    def changed(sample: Sample, expected: Description, seen: Description) -> None:
        expected["properties"] |= {
            name: value for name, value in seen["properties"].items() if name.startswith(prefixes)
        }

    return changed


def new_id(sample: Sample, expected: Description, seen: Description) -> None:
    """The message has another id than its sender gave it."""
    if seen["message_id"].startswith("ID:"):
        expected["message_id"] = seen["message_id"]


def empty_is_bytes(sample: Sample, expected: Description, seen: Description) -> None:
    """A message without body is a bytes message without bytes."""
    if sample.kind == "Message":
        expected |= {"kind": "BytesMessage", "body": ["bytes", ""]}


def null_text_is_empty(sample: Sample, expected: Description, seen: Description) -> None:
    """A text message without text has an empty one."""
    if expected["kind"] == "TextMessage" and expected["body"] is None:
        expected["body"] = ["String", ""]


def no_nulls(sample: Sample, expected: Description, seen: Description) -> None:
    """A property that is null is lost."""
    expected["properties"] = {name: value for name, value in expected["properties"].items() if value is not None}


def no_correlation(sample: Sample, expected: Description, seen: Description) -> None:
    """A correlation id of bytes is lost."""
    if isinstance(sample.correlation, bytes):
        expected |= {"correlation_id": None, "correlation_bytes": None}


def text_of_bytes(sample: Sample, expected: Description, seen: Description) -> None:
    """A correlation id of bytes has a text for the reader in Python."""
    if isinstance(sample.correlation, bytes):
        expected["correlation_id"] = sample.correlation.decode("utf-8", "backslashreplace")


def answer_to_ordinary(sample: Sample, expected: Description, seen: Description) -> None:
    """An answer to a temporary destination goes to an ordinary one of that name."""
    expected["destination"][1] = False


def no_time(sample: Sample, expected: Description, seen: Description) -> None:
    """The time of delivery is lost."""
    expected["delivery_time"] = 0


def time_only_of_delays(sample: Sample, expected: Description, seen: Description) -> None:
    """The time of delivery is lost where it is that of the send."""
    if not sample.delivery_delay:
        expected["delivery_time"] = 0


def time_of_send(sample: Sample, expected: Description, seen: Description) -> None:
    """The sender shows no time of delivery, the reader that of the send."""
    if not sample.delivery_delay:
        expected["delivery_time"] = expected["timestamp"]


def object_ends_with_reset(sample: Sample, expected: Description, seen: Description) -> None:
    """The client writes a reset behind an object in its stream, which means nothing."""
    if isinstance(sample.body, list):
        expected["body"] = ["bytes", expected["body"][1] + "79"]


def pairs_are_replaced(sample: Sample, expected: Description, seen: Description) -> None:
    """In maps and properties each half of a character beyond the BMP becomes a replacement character."""
    for field in ("body", "properties"):
        if isinstance(expected[field], dict):
            expected[field] = {
                name: value and [value[0], value[1].replace("😀", "\ufffd\ufffd")]
                for name, value in expected[field].items()
            }


def temporary_addresses(queue: str, topic: str) -> Change:
    """The reader sees the whole address of a temporary destination: its name after one of these."""

    def changed(sample: Sample, expected: Description, seen: Description) -> None:
        if sample.reply_to in (("queue", ""), ("topic", "")):
            kind, temporary, name = expected["reply_to"]
            expected["reply_to"] = [kind, temporary, (queue if kind == "queue" else topic) + name]

    return changed

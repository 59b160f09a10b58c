"""What ActiveMQ Classic changes between AMQP and OpenWire, and in what Qpid JMS and jmsbridge send each other."""

from integration.interop.changes import (
    adds,
    empty_is_bytes,
    no_time,
    object_ends_with_reset,
    pairs_are_replaced,
    temporary_addresses,
)
from integration.interop.describing import Description, typed
from integration.interop.differences import Difference, Loss
from integration.interop.matrix import Sample
from jmsbridge.codecs import javaserial

__all__ = ["OPENWIRE", "OPENWIRE_LOSSES", "QPID", "QPID_LOSSES"]


def _temporary_is_ordinary(sample: Sample, expected: Description, seen: Description) -> None:
    kind, temporary, name = expected["destination"]  # of an answer
    expected["destination"] = [kind, temporary, name.removeprefix(f"temp-{kind}://")]
    if expected["reply_to"] is not None:
        expected["reply_to"][1] = False


def _text_of_bytes(sample: Sample, expected: Description, seen: Description) -> None:
    if isinstance(sample.correlation, bytes):
        text = f"AMQP_BINARY:{sample.correlation.hex().upper()}"
        expected |= {"correlation_id": text, "correlation_bytes": typed(text.encode())}


def _whole_message_is_bytes(sample: Sample, expected: Description, seen: Description) -> None:
    if sample.name == "stream with bytes":
        expected["kind"] = "BytesMessage"
        if seen["body"][1].startswith("005370"):  # the first section of a message of AMQP
            expected["body"] = seen["body"]


def _structure_is_object(sample: Sample, expected: Description, seen: Description) -> None:
    if sample.kind in ("MapMessage", "StreamMessage"):
        value = list(sample.body) if isinstance(sample.body, tuple) else sample.body
        expected["kind"] = "ObjectMessage"
        if seen["kind"] == "ObjectMessage" and javaserial.loads(bytes.fromhex(seen["body"][1])) == value:
            expected["body"] = seen["body"]


QPID = (
    Difference("to Java", "java: temporary destinations", temporary_addresses("queue://", "topic://")),
    Difference("to Java", "java: delays", adds("scheduledJobId")),
)
QPID_LOSSES = (Loss("to Java", "map beyond the BMP", "java: characters beyond U+FFFF"),)
OPENWIRE = (
    Difference("to Java", "openwire: properties", adds("JMS_AMQP_", "scheduledJobId")),
    Difference("to Java", "openwire: Message", empty_is_bytes),
    Difference("to Java", "openwire: Stream with bytes", _whole_message_is_bytes),
    Difference("to Java", "openwire: JMSDeliveryTime", no_time),
    Difference("to Java", "openwire: bytes as correlation id", _text_of_bytes),
    Difference("to Java", "openwire: characters beyond U+FFFF", pairs_are_replaced),
    Difference("to Java", "openwire: temporary destinations", _temporary_is_ordinary),
    Difference("from Java", "openwire: Message", empty_is_bytes),
    Difference("from Java", "openwire: kinds", _structure_is_object),
    Difference("from Java", "openwire: objects", object_ends_with_reset),
    Difference("from Java", "openwire: temporary destinations", temporary_addresses("temp-queue://", "temp-topic://")),
)
OPENWIRE_LOSSES = (Loss("from Java", "stream with bytes", "openwire: Stream with bytes"),)

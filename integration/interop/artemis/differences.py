"""What Artemis changes between AMQP and its other protocols; the reasons are those of the backend's table of losses."""

from integration.interop.changes import (
    adds,
    answer_to_ordinary,
    empty_is_bytes,
    new_id,
    no_correlation,
    no_time,
    object_ends_with_reset,
    pairs_are_replaced,
    text_of_bytes,
    time_of_send,
    time_only_of_delays,
)
from integration.interop.describing import Description
from integration.interop.differences import Difference, Loss
from integration.interop.matrix import Sample

__all__ = ["CORE", "CORE_LOSSES", "OPENWIRE", "OPENWIRE_LOSSES"]


def _no_text(sample: Sample, expected: Description, seen: Description) -> None:
    if isinstance(sample.correlation, bytes):
        expected["correlation_id"] = None


CORE = (
    Difference("to Java", "core: message id", new_id),
    Difference("to Java", "core: properties", adds("JMS_AMQP_", "NATIVE_MESSAGE_ID", "_AMQ_SCHED_DELIVERY")),
    Difference("to Java", "core: Message", empty_is_bytes),
    Difference("to Java", "core: JMSDeliveryTime", time_only_of_delays),
    Difference("to Java", "core: bytes as correlation id", _no_text),
    Difference("to Java", "core: temporary destinations", answer_to_ordinary, always=False),
    Difference("from Java", "core: JMSDeliveryTime", time_of_send),
    Difference("from Java", "core: bytes as correlation id", text_of_bytes),
)
CORE_LOSSES = (
    Loss("to Java", "stream with bytes", "core: Stream with bytes", ("no message within",)),
    Loss("from Java", "stream with bytes", "core: Stream with bytes"),
    Loss("from Java", "null object", "core: null objects"),
)
OPENWIRE = (
    Difference("to Java", "openwire: message id", new_id),
    Difference("to Java", "openwire: properties", adds("JMS_AMQP_", "NATIVE_MESSAGE_ID")),
    Difference("to Java", "openwire: Message", empty_is_bytes),
    Difference("to Java", "openwire: JMSDeliveryTime", no_time),
    Difference("to Java", "openwire: bytes as correlation id", no_correlation),
    Difference("to Java", "openwire: characters beyond U+FFFF", pairs_are_replaced),
    Difference("from Java", "openwire: message id", new_id),
    Difference("from Java", "openwire: characters beyond U+FFFF", pairs_are_replaced),
    Difference("from Java", "openwire: objects", object_ends_with_reset),
)
_CLOSED = ("The Consumer is closed", "channel has already failed", "Disposed due to prior exception")
OPENWIRE_LOSSES = (
    Loss("to Java", "stream with bytes", "openwire: Stream with bytes", _CLOSED),
    Loss("from Java", "stream with bytes", "openwire: Stream with bytes"),
    Loss("from Java", "null object", "openwire: null objects"),
)

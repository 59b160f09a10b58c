"""What Qpid JMS and jmsbridge change in each other's messages: the same on every broker."""

from integration.interop.changes import text_of_bytes
from integration.interop.describing import Description
from integration.interop.differences import Difference
from integration.interop.matrix import Sample

__all__ = ["QPID"]


def _marked(sample: Sample, expected: Description, seen: Description) -> None:
    if isinstance(sample.correlation, bytes):
        expected["correlation_id"] = f"ID:AMQP_BINARY:{sample.correlation.hex().upper()}"


QPID = (
    Difference("from Java", "java: bytes as correlation id", text_of_bytes),
    Difference("to Java", "java: bytes as correlation id", _marked),
)

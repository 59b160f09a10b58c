"""What Qpid JMS shows otherwise of our messages on Qpid Broker-J."""

from integration.interop.changes import temporary_addresses
from integration.interop.differences import Difference

__all__ = ["QPID"]

QPID = (Difference("to Java", "java: temporary destinations", temporary_addresses("", "amq.topic/")),)

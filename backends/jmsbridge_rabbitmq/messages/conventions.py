"""Constants that encoding and decoding share, other than header names. Pure."""

from typing import Final

from jmsbridge_rabbitmq.protocol.fields import field

__all__ = ["BROKER_NAMED", "HEADS", "ID_KEY", "KIND_NAMES", "TIME_KEY", "UNNAMED", "WAITING"]

UNNAMED: Final = "jb-none:"
"""The prefix of the AMQP message-id if the sender has disabled message ids."""

KIND_NAMES: Final = {(True, False): "topic", (False, True): "temp-queue", (True, True): "temp-topic"}
"""The values of the header ``REPLY_KIND``, by (topic, temporary)."""

BROKER_NAMED: Final = ("amq.rabbitmq.reply-to", "amq.gen-", "jms-temp-queue-")
"""Prefixes of the names of queues that end with a connection."""

WAITING: Final = "jms.delay."
"""The prefix of the names of delay queues."""

HEADS: Final[dict[tuple[int | None, int | None], bytes]] = {
    (mode, priority): field("JMSDeliveryMode", name) + field("JMSPriority", priority)
    for mode, name in ((1, "NON_PERSISTENT"), (2, "PERSISTENT"))
    for priority in range(10)
}
"""The first two headers of every message that jmsbridge sends, by AMQP delivery mode and priority; the next two begin
with ``TIME_KEY`` and ``ID_KEY``."""

TIME_KEY: Final = b"\x0cJMSTimestampl"
ID_KEY: Final = b"\x0cJMSMessageIDS\0\0\0"  # without the last octet of the length

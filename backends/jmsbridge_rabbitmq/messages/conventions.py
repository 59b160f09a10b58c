"""What writing and reading of messages agree on beside the headers' names. Pure."""

from typing import Final

from jmsbridge_rabbitmq.protocol.fields import field

__all__ = ["BROKER_NAMED", "HEADS", "ID_KEY", "KIND_NAMES", "TIME_KEY", "UNNAMED", "WAITING"]

UNNAMED: Final = "jb-none:"
"""How the AMQP message-id of a message begins whose sender has disabled ids."""

KIND_NAMES: Final = {(True, False): "topic", (False, True): "temp-queue", (True, True): "temp-topic"}
"""What the header ``REPLY_KIND`` says, by (topic, temporary)."""

BROKER_NAMED: Final = ("amq.rabbitmq.reply-to", "amq.gen-", "jms-temp-queue-")
"""How the names of queues begin that die with a connection."""

WAITING: Final = "jms.delay."
"""How the names of queues begin where messages wait for their delivery time."""

HEADS: Final[dict[tuple[int | None, int | None], bytes]] = {
    (mode, priority): field("JMSDeliveryMode", name) + field("JMSPriority", priority)
    for mode, name in ((1, "NON_PERSISTENT"), (2, "PERSISTENT"))
    for priority in range(10)
}
"""The first two headers of every message that is sent here, by AMQP delivery mode and priority; the next two begin with
``TIME_KEY`` and ``ID_KEY``."""

TIME_KEY: Final = b"\x0cJMSTimestampl"
ID_KEY: Final = b"\x0cJMSMessageIDS\0\0\0"  # and the last octet of the length

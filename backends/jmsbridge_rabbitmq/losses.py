"""What does not survive on the way through RabbitMQ, per dialect, and why."""

from typing import Final

__all__ = ["LOSSES"]

_BOTH: Final = {
    "lone surrogates": "other readers see replacement characters, since UTF-8 has no such text",
    "JMSXDeliveryCount set by a sender": "the count is the provider's",
}

LOSSES: Final[dict[str, dict[str, str]]] = {"amqp": _BOTH, "jms": _BOTH}

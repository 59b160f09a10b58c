"""The brokers on which jmsbridge is measured beside its peers, one comparison each."""

from integration.bench.rabbitmq import RABBITMQ
from integration.bench.rows import Comparison

__all__ = ["COMPARISONS", "DEFAULT"]

COMPARISONS: dict[str, Comparison] = {each.broker: each for each in (RABBITMQ,)}
"""By the name of the broker."""
DEFAULT = RABBITMQ.broker

"""Where jmsbridge is measured beside its peers, one comparison each."""

from integration.bench.activemq import ACTIVEMQ
from integration.bench.artemis import ARTEMIS
from integration.bench.no_broker import NO_BROKER
from integration.bench.rabbitmq import RABBITMQ
from integration.bench.rows import Comparison

__all__ = ["COMPARISONS", "DEFAULT"]

COMPARISONS: dict[str, Comparison] = {each.name: each for each in (RABBITMQ, NO_BROKER, ARTEMIS, ACTIVEMQ)}
"""By name."""
DEFAULT = RABBITMQ.name

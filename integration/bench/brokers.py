"""Where jmsbridge is measured beside its peers, one comparison each."""

from integration.bench.activemq import ACTIVEMQ, ACTIVEMQ_STOMP
from integration.bench.artemis import ARTEMIS, ARTEMIS_APPLICATIONS, ARTEMIS_STOMP
from integration.bench.no_broker import NO_BROKER
from integration.bench.pulsar import PULSAR
from integration.bench.rabbitmq import RABBITMQ, RABBITMQ_APPLICATIONS
from integration.bench.rows import Comparison

__all__ = ["COMPARISONS", "DEFAULT"]

COMPARISONS: dict[str, Comparison] = {
    each.name: each
    for each in (
        RABBITMQ,
        NO_BROKER,
        ARTEMIS,
        ARTEMIS_STOMP,
        ACTIVEMQ,
        ACTIVEMQ_STOMP,
        PULSAR,
        RABBITMQ_APPLICATIONS,
        ARTEMIS_APPLICATIONS,
    )
}
"""By name."""
DEFAULT = RABBITMQ.name

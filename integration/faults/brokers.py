"""The fault runs of the tests, one row each, and how their brokers are prepared."""

from dataclasses import dataclass

from integration.faults.verdict import Late

__all__ = ["RESTART_FIRST", "ROWS", "Row", "late"]

RESTART_FIRST = frozenset({"rabbitmq"})
"""Brokers that are restarted after the creation of the queue: RabbitMQ 4.0 loses a quorum queue if it is killed within
seconds of its creation."""

_CLASSIC_QUEUES = "queue_type=classic"
_JOURNAL = Late(stored=10.0)
_LATE = {"pulsar": Late(sent=1.0, stored=70.0, remembered=True), "activemq": _JOURNAL, "artemis": _JOURNAL}


def late(broker: str, options: str) -> Late:
    """How late a broker stores acknowledgements that it does not confirm, or are not asked to be confirmed.

    Pulsar's client sends them within 0.1 s, and its broker stores them within a minute
    (``managedLedgerCursorPositionFlushSeconds``). A classic queue of RabbitMQ had 1,000 of 1,000 again when it was
    killed right after the consumer had closed, and none of them 2 s later; a quorum queue has stored them. ActiveMQ
    Classic and Artemis append them to their journals and do not wait for the disk: 734 and 150 more came again than
    may be unacknowledged, with other programs writing to the same disk.
    """
    if broker == "rabbitmq" and _CLASSIC_QUEUES in options:
        return Late(stored=5.0)
    return _LATE.get(broker, Late())


@dataclass(frozen=True)
class Row:
    """One kind of queue on one broker, by one scheme."""

    name: str
    broker: str
    """Its name in ``integration.lab.table``."""
    scheme: str | None = None
    """The scheme of its URLs; None for the first one of the table."""
    options: str = ""
    """The options of its URLs."""
    short: int = 1_000
    """The messages of the short run; the long one of ``make test-long`` has 100,000 everywhere."""
    topic: bool = False
    """Whether there is a short run with a topic too."""
    module: str | None = None
    """The module of its client library, where that may be missing."""
    applications: bool = False
    """Whether there is a short run with containers, templates and tasks."""


ROWS = (
    Row("rabbitmq-classic", "rabbitmq", options=_CLASSIC_QUEUES, short=10_000, topic=True, applications=True),
    Row("rabbitmq-quorum", "rabbitmq", options="queue_type=quorum", short=10_000),
    Row("artemis-amqp", "artemis", topic=True, module="proton", applications=True),
    Row("activemq-amqp", "activemq", module="proton"),
    Row("artemis-stomp", "artemis", "stomp"),
    Row("activemq-stomp", "activemq", "stomp"),
    Row("pulsar", "pulsar", options="single_address=true", short=10_000, topic=True, module="_pulsar"),
)

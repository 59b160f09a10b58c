"""The brokers that a fault run can start: how each is prepared, and the runs of the tests."""

from dataclasses import dataclass, field

__all__ = ["BROKERS", "DEFAULT", "Row"]


@dataclass(frozen=True)
class Row:
    """One broker of ``integration.lab.table``."""

    scheme: str | None = None
    """The scheme of its URLs; None for the first one of the table."""
    restart_first: bool = False
    """Whether to restart it after the creation of the queue, because a kill soon afterwards may lose the queue."""
    runs: dict[str, str] = field(default_factory=dict)
    """Kinds of queues with the options that create them."""
    short: int = 10_000
    """The messages of the short run; the long one of ``make test-long`` has 100,000 everywhere."""
    topics: tuple[str, ...] = ()
    """The kinds on which there is a short run with a topic too."""
    module: str | None = None
    """The module of its client library, where that may be missing."""


DEFAULT = Row()
BROKERS = {
    # RabbitMQ 4.0 loses a quorum queue if it is killed within seconds of its creation.
    "rabbitmq": Row(
        restart_first=True,
        runs={"classic": "queue_type=classic", "quorum": "queue_type=quorum"},
        topics=("classic",),
    ),
    "artemis": Row(runs={"amqp": ""}, short=1_000, topics=("amqp",), module="proton"),
    "activemq": Row(runs={"amqp": ""}, short=1_000, module="proton"),
}

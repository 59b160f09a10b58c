"""What a fault run knows of the brokers that it starts: how each is prepared, and the runs that tests make on it."""

from dataclasses import dataclass, field

__all__ = ["BROKERS", "DEFAULT", "Row"]


@dataclass(frozen=True)
class Row:
    """One broker of ``integration.lab.table``."""

    scheme: str | None = None
    """The scheme of the URLs by which the run reaches it; None for the first one of the table."""
    restart_first: bool = False
    """Whether it is restarted between the making of the queue and the run, because a kill soon after may lose it."""
    runs: dict[str, str] = field(default_factory=dict)
    """Kinds of queues with the options that make them."""
    topics: tuple[str, ...] = ()
    """Those of them on which a short run with a topic is made too."""


DEFAULT = Row()
BROKERS = {
    # RabbitMQ 4.0 does not bring a quorum queue back when it is killed within seconds of making it.
    "rabbitmq": Row(
        restart_first=True,
        runs={"classic": "queue_type=classic", "quorum": "queue_type=quorum"},
        topics=("classic",),
    ),
}

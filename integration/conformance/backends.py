"""The backends that the Java tests run on, one row each."""

from dataclasses import dataclass

__all__ = ["BACKENDS", "Backend"]


@dataclass(frozen=True)
class Backend:
    """Where a run of Java tests finds jmsbridge's broker."""

    name: str
    url: str = ""
    """Of a backend without a server; ``{folder}`` is shared by all workers of a run."""
    broker: str = ""
    """The broker of ``integration.lab.table``, where it needs one."""
    every_suite: bool = True
    """Whether our own Java tests run on it too, and not only Joram's."""
    long: bool = False
    """Whether only ``make test-long`` runs it."""


BACKENDS = {
    each.name: each
    for each in (
        Backend("embedded", "embedded:?broker=conformance"),
        Backend("embedded-file", "embedded:{folder}/conformance.db", every_suite=False),
        Backend("rabbitmq", broker="rabbitmq"),
        Backend("rabbitmq3", broker="rabbitmq3", every_suite=False, long=True),
    )
}

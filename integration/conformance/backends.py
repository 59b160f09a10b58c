"""The backends that the Java tests run on, one row each."""

from dataclasses import dataclass

__all__ = ["BACKENDS", "Backend"]


@dataclass(frozen=True)
class Backend:
    """The broker of a run of Java tests."""

    name: str
    url: str = ""
    """The URL for a backend without a server; ``{folder}`` is shared by all workers of a run."""
    broker: str = ""
    """The broker of ``integration.lab.table``, if it needs one."""
    scheme: str | None = None
    """The scheme of its URL, if it is not the broker's first one."""
    options: str = ""
    """Options for the URL of the broker, in the form of a query."""
    every_suite: bool = True
    """Whether our own Java tests run on it too, and not only Joram's."""
    long: bool = False
    """Whether only ``make test-long`` runs it."""
    module: str | None = None
    """The module of its client library, where that may be missing."""
    has_rest: bool = False
    """Whether the option ``admin_url`` is the address of its REST interface."""


BACKENDS = {
    each.name: each
    for each in (
        Backend("embedded", "embedded:?broker=conformance"),
        Backend("embedded-file", "embedded:{folder}/conformance.db", every_suite=False),
        Backend("rabbitmq", broker="rabbitmq"),
        Backend("rabbitmq3", broker="rabbitmq3", every_suite=False, long=True),
        Backend("artemis-amqp", broker="artemis", every_suite=False, module="proton"),
        Backend("activemq-amqp", broker="activemq", every_suite=False, module="proton"),
        Backend("artemis-stomp", broker="artemis", scheme="stomp", every_suite=False),
        Backend("activemq-stomp", broker="activemq", scheme="stomp", every_suite=False),
        Backend(
            "brokerj-amqp", broker="brokerj", options="topic_prefix=amq.topic/", every_suite=False, module="proton"
        ),
        Backend("pulsar", broker="pulsar", every_suite=False, module="_pulsar", has_rest=True),
    )
}

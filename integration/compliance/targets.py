"""The brokers that the compliance suite runs on, one row each."""

from dataclasses import dataclass, field

import jmsbridge_rabbitmq
from jmsbridge.spi import registry
from jmsbridge.testing.proxy import ProxiedHarness

__all__ = ["TARGETS", "Target", "TargetHarness"]

if "rabbitmq" not in registry.names():  # a bare checkout: nothing is installed, so there is no entry point
    registry.register("rabbitmq", jmsbridge_rabbitmq.backend)


@dataclass(frozen=True)
class Target:
    """One broker in one setting."""

    name: str
    """What the test ids and the summary call it."""
    broker: str
    """Its name in ``integration.lab.table``."""
    options: dict[str, str] = field(default_factory=dict)
    long: bool = False
    """Whether only ``make test-long`` runs what is above the contract level."""


TARGETS = (
    Target("rabbitmq", "rabbitmq"),
    Target("rabbitmq-quorum", "rabbitmq", {"queue_type": "quorum"}, long=True),
    Target("rabbitmq3", "rabbitmq3", long=True),
)


class TargetHarness(ProxiedHarness):
    """Through a fault proxy, with a dead-letter queue of its own for each test."""

    def __init__(self, target: Target, url: str) -> None:
        self._target = target
        self.dead_letters = self.name("dlq")
        options = {**target.options, "dead_letter_queue": self.dead_letters}
        super().__init__(f"{url}?{'&'.join(f'{name}={value}' for name, value in options.items())}")

    @property
    def label(self) -> str:
        """The name of the target."""
        return self._target.name

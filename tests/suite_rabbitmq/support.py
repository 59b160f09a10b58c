"""How the compliance suite reaches a RabbitMQ: through a fault proxy for each test."""

import jmsbridge_rabbitmq
from jmsbridge.spi import registry
from jmsbridge.testing.proxy import ProxiedHarness

__all__ = ["RabbitHarness"]

if "rabbitmq" not in registry.names():  # a bare checkout: nothing is installed, so there is no entry point
    registry.register("rabbitmq", jmsbridge_rabbitmq.backend)


class RabbitHarness(ProxiedHarness):
    """Each test has a dead-letter queue of its own."""

    def __init__(self, url: str, **options: str) -> None:
        self.dead_letters = options["dead_letter_queue"] = self.name("dlq")
        super().__init__(f"{url}?{'&'.join(f'{name}={value}' for name, value in options.items())}")

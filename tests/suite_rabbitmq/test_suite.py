"""The whole compliance suite, on RabbitMQ 4."""

from jmsbridge.testing.suite import *  # noqa: F403

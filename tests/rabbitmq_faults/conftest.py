"""A real RabbitMQ, and fixtures for what goes wrong with it as an application sees it."""

from integration.brokers.fixtures import own_broker, rabbitmq
from tests.rabbitmq_live.conftest import broker, name

__all__ = ["broker", "name", "own_broker", "rabbitmq"]

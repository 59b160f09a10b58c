"""What tests of all brokers ask RabbitMQ's administration for."""

from integration.lab.broker import Broker

__all__ = ["remove_queue", "set_password"]


def set_password(broker: Broker, user: str, password: str) -> None:
    """Make a user who may do everything with messages, or give them another password."""
    broker.admin.put(f"/api/users/{user}", {"password": password, "tags": ""})
    broker.admin.put(f"/api/permissions/%2F/{user}", {"configure": ".*", "write": ".*", "read": ".*"})


def remove_queue(broker: Broker, name: str) -> None:
    """Delete a queue with what is in it."""
    broker.admin.delete(f"/api/queues/%2F/{name}")

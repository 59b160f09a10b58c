"""RabbitMQ's administration for the tests of all networked backends."""

from integration.lab.broker import Broker

__all__ = ["remove_queue", "set_password"]


def set_password(broker: Broker, user: str, password: str) -> None:
    """Create a user with all rights on messages, or set another password."""
    broker.admin.put(f"/api/users/{user}", {"password": password, "tags": ""})
    broker.admin.put(f"/api/permissions/%2F/{user}", {"configure": ".*", "write": ".*", "read": ".*"})


def remove_queue(broker: Broker, name: str) -> None:
    """Delete a queue with its messages."""
    broker.admin.delete(f"/api/queues/%2F/{name}")

"""Artemis's administration for the tests of all networked backends."""

from integration.lab.admin.artemis import Management
from integration.lab.broker import Broker

__all__ = ["remove_queue", "set_password"]


def set_password(broker: Broker, user: str, password: str) -> None:
    """Create a user with all rights on messages, or set another password."""
    with Management(broker.ports["stomp"]) as management:
        management.set_password(user, password)


def remove_queue(broker: Broker, name: str) -> None:
    """Delete a queue with its messages."""
    with Management(broker.ports["stomp"]) as management:
        management.delete(name)

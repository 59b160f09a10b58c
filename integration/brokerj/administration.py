"""Qpid Broker-J's administration for the tests of all networked backends."""

from integration.lab.admin.rest import quoted
from integration.lab.broker import Broker

__all__ = ["remove_queue", "set_password"]


def set_password(broker: Broker, user: str, password: str) -> None:
    """Create a user, who has all rights, or set another password."""
    broker.admin.put(f"/api/latest/user/passwords/{quoted(user)}", {"type": "managed", "password": password})


def remove_queue(broker: Broker, name: str) -> None:
    """Delete a queue with its messages."""
    broker.admin.delete(f"/api/latest/queue/jb/jb/{quoted(name)}")

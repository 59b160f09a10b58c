"""Pulsar's administration for the tests of all networked backends."""

from integration.lab.admin.rest import quoted
from integration.lab.broker import Broker

__all__ = ["remove_queue"]


def remove_queue(broker: Broker, name: str) -> None:
    """Delete a queue with its messages."""
    broker.admin.delete(f"/admin/v2/persistent/public/default/{quoted(name)}?force=true")

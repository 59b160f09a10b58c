"""ActiveMQ Classic's administration for the tests of all networked backends."""

from integration.lab.broker import Broker

__all__ = ["remove_queue"]

_BROKER = "org.apache.activemq:type=Broker,brokerName=jb"


def remove_queue(broker: Broker, name: str) -> None:
    """Delete a queue with its messages."""
    asked = {"type": "exec", "mbean": _BROKER, "operation": "removeQueue", "arguments": [name]}
    answer = broker.admin.post("/jolokia/", asked)
    assert answer["status"] == 200, answer

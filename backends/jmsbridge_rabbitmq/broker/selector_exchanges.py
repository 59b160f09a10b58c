"""Selectors of topics at the broker, with its plugin for JMS: each subscription has an exchange of the plugin's type.

The topic is bound to that exchange, whose binding to the subscription's queue has the selector. Both are deleted with
the queue.
"""

import hashlib
import uuid
from typing import Any

from jmsbridge_rabbitmq.broker.conversations import Ask, Conversation

__all__ = ["PLUGIN", "bind", "exchange_of", "probe"]

PLUGIN = "rabbitmq_jms_topic_exchange"
_TYPE = "x-jms-topic"
_VERSION = "3.7.0"  # the version of the Java client with these texts; the plugin does not check it


def exchange_of(queue: str, *, durable: bool) -> str:
    """The exchange for the selector of a subscription, named as in the Java client."""
    kind = "dutop" if durable else "ndtop"
    return f"jms-{kind}-slx-{uuid.UUID(hashlib.sha256(queue.encode()).hexdigest()[:32])}"


def _declare(name: str, *, durable: bool) -> Ask:
    arguments: dict[str, Any] = {"rjms_version": _VERSION}
    flags = {"durable": durable, "auto_delete": True}
    return Ask("exchange_declare", {"exchange": name, "exchange_type": _TYPE, **flags, "arguments": arguments})


def bind(queue: str, exchange: str, topic: str, term: str, *, durable: bool) -> Conversation:
    """Route the matching messages of a topic to a queue; idempotent."""
    name = exchange_of(queue, durable=durable)
    arguments = {"rjms_erlang_selector": term, "rjms_version": _VERSION}
    yield _declare(name, durable=durable)
    yield Ask("queue_bind", {"queue": queue, "exchange": name, "routing_key": topic, "arguments": arguments})
    yield Ask("exchange_bind", {"destination": name, "source": exchange, "routing_key": topic})


def probe() -> Conversation:
    """Create such an exchange and delete it; without the plugin the broker closes the channel or the connection."""
    name = f"jms-ndtop-slx-{uuid.uuid4()}"
    yield _declare(name, durable=False)
    yield Ask("exchange_delete", {"exchange": name})

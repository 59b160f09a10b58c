"""Jakarta Messaging 3.1 (JMS 2.0) for Python, on the brokers that companies already run.

A guided tour::

    import jmsbridge

    with jmsbridge.context() as context:                      # "embedded:", a broker inside this process
        orders = context.create_queue("orders")
        context.create_producer().set_property("rush", True).send(orders, "two of everything")
        message = context.create_consumer(orders, "rush = TRUE").receive(timeout=1)
        print(message.text, message.get_boolean_property("rush"))

``context`` opens the simplified API, ``connect`` the classic one (``Connection``, ``Session``, ``MessageProducer``,
``MessageConsumer``). The argument names the broker: a URL, a list of URLs for failover, or a profile of
``jmsbridge.toml``. Nouns and verbs are Jakarta Messaging's in snake_case; attributes are properties; durations are
seconds; everything with ``close`` is a context manager. ``except jmsbridge.JMSError`` catches every error;
``jmsbridge.errors`` has the tree.

What a broker lacks is emulated, with an ``EmulationWarning`` naming the price, or refused with
``UnsupportedFeature``: never silently weaker.
"""

from typing import TYPE_CHECKING, Any

from jmsbridge.administration import Administration, DestinationInfo
from jmsbridge.browser import QueueBrowser
from jmsbridge.codecs.javaserial import JavaObject
from jmsbridge.connection import Connection
from jmsbridge.consumer import MessageConsumer
from jmsbridge.core.modes import (
    AUTO_ACKNOWLEDGE,
    CLIENT_ACKNOWLEDGE,
    DUPS_OK_ACKNOWLEDGE,
    INDIVIDUAL_ACKNOWLEDGE,
    NO_ACKNOWLEDGE,
    PRE_ACKNOWLEDGE,
    SESSION_TRANSACTED,
    DeliveryMode,
)
from jmsbridge.core.plan import Capability
from jmsbridge.destinations import Destination, Queue, TemporaryQueue, TemporaryTopic, Topic
from jmsbridge.errors import *  # noqa: F403
from jmsbridge.errors import __all__ as _errors
from jmsbridge.factory import ConnectionFactory, connect, context
from jmsbridge.listeners import CompletionListener, ExceptionListener, MessageListener
from jmsbridge.message import BytesMessage, MapMessage, Message, ObjectMessage, StreamMessage, TextMessage
from jmsbridge.metadata import ConnectionMetaData, __version__
from jmsbridge.positions import MessagePositions, PositionedMessage
from jmsbridge.producer import MessageProducer
from jmsbridge.session import Session
from jmsbridge.simplified.consumer import JMSConsumer
from jmsbridge.simplified.context import JMSContext
from jmsbridge.simplified.producer import JMSProducer
from jmsbridge.values import Byte, Char, Double, FieldValue, Float, Int, JavaValue, Long, PropertyValue, Short

if TYPE_CHECKING:
    from jmsbridge.app.template import Template

__all__ = [
    "AUTO_ACKNOWLEDGE",
    "CLIENT_ACKNOWLEDGE",
    "DUPS_OK_ACKNOWLEDGE",
    "INDIVIDUAL_ACKNOWLEDGE",
    "NO_ACKNOWLEDGE",
    "PRE_ACKNOWLEDGE",
    "SESSION_TRANSACTED",
    "Administration",
    "Byte",
    "BytesMessage",
    "Capability",
    "Char",
    "CompletionListener",
    "Connection",
    "ConnectionFactory",
    "ConnectionMetaData",
    "DeliveryMode",
    "Destination",
    "Double",
    "ExceptionListener",
    "FieldValue",
    "Float",
    "Int",
    "JMSConsumer",
    "JMSContext",
    "JMSProducer",
    "JavaObject",
    "JavaValue",
    "Long",
    "MapMessage",
    "Message",
    "MessageConsumer",
    "MessageListener",
    "MessagePositions",
    "MessageProducer",
    "ObjectMessage",
    "DestinationInfo",
    "PositionedMessage",
    "PropertyValue",
    "Queue",
    "QueueBrowser",
    "Session",
    "Short",
    "StreamMessage",
    "Template",
    "TemporaryQueue",
    "TemporaryTopic",
    "TextMessage",
    "Topic",
    "__version__",
    "connect",
    "context",
    *_errors,
]


def __getattr__(name: str) -> Any:
    """``Template`` is loaded when it is first used: connections do not need it."""
    if name != "Template":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from jmsbridge.app.template import Template

    return Template

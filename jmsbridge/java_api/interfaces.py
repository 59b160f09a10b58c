"""The table of the API: every method of every interface, and its Python counterpart.

A line reads: what it returns, the method with its parameters, and the Python side::

    void  setTimeToLive(ms)             time_to_live =
    void  send(Message, int, int, ms)   send(_, delivery_mode, priority, time_to_live)
    ms    getTimeToLive()               time_to_live

The words on the Java side name converters of the Java face (``integration/conformance``), most of them Java types.
The Python side is an attribute that is read, an attribute that is set (``=``), a call whose arguments are given by
place (``_``) or by name, or a function of the face itself (``!``). A line of an interface goes before one that it
inherits.
"""

from jmsbridge.java_api.connections import CONNECTIONS
from jmsbridge.java_api.domain import DOMAIN
from jmsbridge.java_api.messages import MESSAGES
from jmsbridge.java_api.parts import PARTS
from jmsbridge.java_api.simplified import SIMPLIFIED

__all__ = ["INTERFACES", "LEFT_OUT", "PARENTS"]

INTERFACES: dict[str, str] = MESSAGES | CONNECTIONS | PARTS | SIMPLIFIED | DOMAIN
"""The lines of each interface, by its simple name."""

PARENTS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("BytesMessage", "MapMessage", "ObjectMessage", "StreamMessage", "TextMessage"), ("Message",)),
    "QueueConnectionFactory": ("ConnectionFactory",),
    "TopicConnectionFactory": ("ConnectionFactory",),
    "QueueConnection": ("Connection",),
    "TopicConnection": ("Connection",),
    "QueueSession": ("Session",),
    "TopicSession": ("Session",),
    "QueueSender": ("MessageProducer",),
    "TopicPublisher": ("MessageProducer",),
    "QueueReceiver": ("MessageConsumer",),
    "TopicSubscriber": ("MessageConsumer",),
    "TemporaryQueue": ("Queue",),
    "TemporaryTopic": ("Topic",),
}
"""What each interface extends, of those that have lines."""

LEFT_OUT = frozenset(
    {
        "ConnectionConsumer",
        "ServerSession",
        "ServerSessionPool",
        "XAConnection",
        "XAConnectionFactory",
        "XAJMSContext",
        "XAQueueConnection",
        "XAQueueConnectionFactory",
        "XAQueueSession",
        "XASession",
        "XATopicConnection",
        "XATopicConnectionFactory",
        "XATopicSession",
        # Implemented by applications, called by the face.
        "CompletionListener",
        "ExceptionListener",
        "MessageListener",
        # Interfaces without methods.
        "DeliveryMode",
        "Destination",
    }
)
"""Interfaces that the face does not implement: facilities of application servers, all optional, and listeners."""

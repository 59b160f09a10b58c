"""The table behind the Java face: every method of every interface, and its Python counterpart.

A line reads: what it returns, the method with its parameters, and the Python side::

    void  setTimeToLive(ms)             time_to_live =
    void  send(Message, int, int, ms)   send(_, delivery_mode, priority, time_to_live)
    ms    getTimeToLive()               time_to_live

The words on the Java side name converters (``integration.conformance.values``), most of them Java types. The Python
side is an attribute that is read, an attribute that is set (``=``), a call whose arguments are given by place (``_``)
or by name, or a function of ``integration.conformance.special`` (``!``). A line of an interface goes before one that
it inherits.
"""

from integration.conformance.table.connections import CONNECTIONS
from integration.conformance.table.domain import DOMAIN
from integration.conformance.table.messages import MESSAGES
from integration.conformance.table.parts import PARTS
from integration.conformance.table.simplified import SIMPLIFIED

__all__ = ["INTERFACES", "LEFT_OUT"]

INTERFACES: dict[str, str] = MESSAGES | CONNECTIONS | PARTS | SIMPLIFIED | DOMAIN
"""The lines of each interface, by its simple name."""

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

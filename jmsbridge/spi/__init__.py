"""The interface between the facade and its backends: read ``backend`` first, then ``envelope`` and ``native``.

A backend imports this package, ``jmsbridge.transport``, ``jmsbridge.codecs`` and ``jmsbridge.selectors``, and nothing
else of jmsbridge.
"""

from jmsbridge.spi.admin import Admin, DestinationInfo
from jmsbridge.spi.backend import Backend, Cancels, Channel, Inbox, Link, LinkEvents, Retires, Subscription, Ticket
from jmsbridge.spi.dead_letters import (
    DEAD_LETTER_DELIVERIES,
    DEAD_LETTER_EXPIRED,
    DEAD_LETTER_NOTES,
    DEAD_LETTER_ORIGIN,
    DEAD_LETTER_QUEUE,
    DEAD_LETTER_REASON,
    DEAD_LETTER_TIME,
    dead_letter_notes,
    rejected_to,
)
from jmsbridge.spi.envelope import Address, Arrival, BodyKind, Endpoint, Envelope, Interest, Mode, Outcome
from jmsbridge.spi.errors import (
    AccessDenied,
    AddressInUse,
    AddressRefused,
    AuthenticationFailed,
    BackendError,
    ChannelLost,
    ClientIdRefused,
    ConnectFailed,
    LinkLost,
    NotSupported,
    PositionLost,
    SelectorRefused,
    SendCancelled,
    SendRefused,
    SubscriptionRefused,
    SubscriptionUnknown,
    TransactionRolledBack,
)
from jmsbridge.spi.native import Native
from jmsbridge.spi.positions import Positioned, Positions, Reading
from jmsbridge.values import Byte, Char, Float, Long, Short

__all__ = [
    "DEAD_LETTER_DELIVERIES",
    "DEAD_LETTER_EXPIRED",
    "DEAD_LETTER_NOTES",
    "DEAD_LETTER_ORIGIN",
    "DEAD_LETTER_QUEUE",
    "DEAD_LETTER_REASON",
    "DEAD_LETTER_TIME",
    "AccessDenied",
    "Address",
    "AddressInUse",
    "AddressRefused",
    "Admin",
    "Arrival",
    "AuthenticationFailed",
    "Backend",
    "BackendError",
    "BodyKind",
    "Byte",
    "Cancels",
    "Channel",
    "ChannelLost",
    "Char",
    "ClientIdRefused",
    "ConnectFailed",
    "DestinationInfo",
    "Endpoint",
    "Envelope",
    "Float",
    "Inbox",
    "Interest",
    "Link",
    "LinkEvents",
    "LinkLost",
    "Long",
    "Mode",
    "Native",
    "NotSupported",
    "Outcome",
    "PositionLost",
    "Positioned",
    "Positions",
    "Reading",
    "Retires",
    "SelectorRefused",
    "SendCancelled",
    "SendRefused",
    "Short",
    "Subscription",
    "SubscriptionRefused",
    "SubscriptionUnknown",
    "Ticket",
    "TransactionRolledBack",
    "dead_letter_notes",
    "rejected_to",
]

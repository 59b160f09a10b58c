"""The six kinds of messages (section 3 of Jakarta Messaging 3.1).

A message made here belongs to no connection and can be sent by any. It is not thread-safe; ``send`` copies it, so it
may be changed and sent again at once after a synchronous send, and after the completion of an asynchronous one.
"""

from jmsbridge.messages.arriving import message_for_body, message_from_arrival
from jmsbridge.messages.base import Message
from jmsbridge.messages.binary import BytesMessage
from jmsbridge.messages.foreign import ForeignMessage, copy_foreign, write_headers
from jmsbridge.messages.mapping import MapMessage
from jmsbridge.messages.objects import ObjectMessage
from jmsbridge.messages.stream import StreamMessage
from jmsbridge.messages.text import TextMessage

__all__ = [
    "MESSAGE_KINDS",
    "BytesMessage",
    "ForeignMessage",
    "MapMessage",
    "Message",
    "ObjectMessage",
    "StreamMessage",
    "TextMessage",
    "copy_foreign",
    "message_for_body",
    "message_from_arrival",
    "write_headers",
]

MESSAGE_KINDS = frozenset((TextMessage, BytesMessage, MapMessage, StreamMessage, ObjectMessage, Message))
"""A message is mostly of one of these, which is found out three times as fast as ``isinstance`` finds it."""

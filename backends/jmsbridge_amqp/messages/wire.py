"""Encodes and decodes envelopes as AMQP 1.0 messages, in the bytes of Qpid JMS."""

from jmsbridge_amqp.messages.copying import copy_for
from jmsbridge_amqp.messages.decoding import FAULT, Decoder, Inbound
from jmsbridge_amqp.messages.encoding import Encoder
from jmsbridge_amqp.messages.naming import Naming
from jmsbridge_amqp.protocol.errors import Malformed, Unencodable

__all__ = ["FAULT", "Decoder", "Encoder", "Inbound", "Malformed", "Naming", "Unencodable", "copy_for"]

"""Encodes and decodes envelopes as STOMP frames; pure. The page of the backend lists what Java programs do not get."""

from jmsbridge_stomp.messages.conventions import FAULT
from jmsbridge_stomp.messages.decoding import Decoder, Inbound
from jmsbridge_stomp.messages.dialects import ARTEMIS, CLASSIC, OLD_CLASSIC, RABBITMQ, Dialect
from jmsbridge_stomp.messages.encoding import Encoder

__all__ = ["ARTEMIS", "CLASSIC", "FAULT", "OLD_CLASSIC", "RABBITMQ", "Decoder", "Dialect", "Encoder", "Inbound"]

"""Encodes and decodes envelopes as STOMP frames; pure.

``LOSSES`` lists what Java programs do not get, and what does not arrive from them.
"""

from jmsbridge_stomp.messages.conventions import FAULT
from jmsbridge_stomp.messages.decoding import Decoder, Inbound
from jmsbridge_stomp.messages.dialects import ARTEMIS, CLASSIC, OLD_CLASSIC, Dialect
from jmsbridge_stomp.messages.encoding import Encoder
from jmsbridge_stomp.messages.losses import LOSSES

__all__ = ["ARTEMIS", "CLASSIC", "FAULT", "LOSSES", "OLD_CLASSIC", "Decoder", "Dialect", "Encoder", "Inbound"]

"""Envelopes as RabbitMQ messages and back, in two dialects; pure, no I/O.

``amqp`` is plain AMQP 0-9-1 (text as text, typed headers); ``jms`` is what RabbitMQ's Java client for JMS writes in its
own mode. A message tells which one it is, so ``decode`` is not asked.
"""

from jmsbridge_rabbitmq.messages.decoding import FAULT, Inbound, decode
from jmsbridge_rabbitmq.messages.encoding import Dialect, Encoder, Outbound
from jmsbridge_rabbitmq.messages.losses import LOSSES

__all__ = ["FAULT", "LOSSES", "Dialect", "Encoder", "Inbound", "Outbound", "decode"]

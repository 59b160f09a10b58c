"""Encodes and decodes envelopes as RabbitMQ messages, in two dialects; pure.

``amqp`` is plain AMQP 0-9-1 (text as text, typed headers); ``jms`` is the format of RabbitMQ's Java client for JMS in
its own mode. ``decode`` recognises the dialect of a message.
"""

from jmsbridge_rabbitmq.messages.decoding import FAULT, Inbound, decode
from jmsbridge_rabbitmq.messages.encoding import Dialect, Encoder, Outbound

__all__ = ["FAULT", "Dialect", "Encoder", "Inbound", "Outbound", "decode"]

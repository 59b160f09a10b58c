"""Envelopes as RabbitMQ messages and back, in two dialects; pure, no I/O.

``amqp`` is plain AMQP 0-9-1 (text as text, typed headers); ``jms`` is what RabbitMQ's Java client for JMS writes in its
own mode. A message tells which one it is, so ``decode`` is not asked.
"""

from typing import Literal

import msgspec

from jmsbridge.spi import Address, Envelope

__all__ = ["LOSSES", "Dialect", "Encoder", "Inbound", "Outbound", "decode"]

Dialect = Literal["amqp", "jms"]


class Outbound(msgspec.Struct, frozen=True, gc=False):
    """What ``Publisher.frames`` wants, and the AMQP message-id by which a return is matched."""

    properties: bytes
    body: bytes
    message_id: str


class Inbound(msgspec.Struct, frozen=True, gc=False):
    """A decoded message: ``delivery_count`` counts this delivery, ``stamp`` is the sender's stamp (no-local) or None.

    ``fault`` says why a message could not be read and is a bytes message with its raw body; None where all is well.
    """

    envelope: Envelope
    delivery_count: int
    stamp: str | None
    fault: str | None


class Encoder:
    """Writes envelopes in one dialect; one per link. Safe for use by several threads.

    ``stamp`` goes as a header into messages for topics; ``text_marker`` says that texts without a JMSType get
    ``JMSType=TextMessage`` in dialect amqp, which the Java client needs to see text.
    """

    def __init__(self, dialect: Dialect = "amqp", stamp: str | None = None, text_marker: bool = False) -> None: ...

    def encode(self, envelope: Envelope, now: int) -> Outbound:
        """The message; Unencodable for what does not fit. ``now`` (ms) makes the relative ``expiration``.

        A message with a delivery time to come gets no ``expiration``: it would count while the message waits.
        """


def decode(address: Address, properties: bytes, body: bytes, redelivered: bool = False) -> Inbound:
    """The message in either dialect, as one for ``address``; never raises.

    The count is the broker's (``x-acquired-count``, ``x-delivery-count``) plus one, else 1 or 2.
    """


LOSSES: dict[Dialect, dict[str, str]] = {}

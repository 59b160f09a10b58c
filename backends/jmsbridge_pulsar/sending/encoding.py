"""A message as it is sent, by us or by the client library."""

from typing import Any

import _pulsar

from jmsbridge.spi import Address, Envelope, SendRefused, Ticket
from jmsbridge.transport.deliveries.expiry import now_ms
from jmsbridge_pulsar.facts import LinkFacts
from jmsbridge_pulsar.messages.encoding import Outgoing as Encoded
from jmsbridge_pulsar.messages.encoding import encode
from jmsbridge_pulsar.sending.entries import encode_message
from jmsbridge_pulsar.sending.outgoing import Outgoing

__all__ = ["built", "outgoing_of"]

_LARGE = 1 << 17  # bytes from which a message is an entry of its own


def outgoing_of(facts: LinkFacts, envelope: Envelope, ticket: Ticket | None) -> Outgoing:
    """The message as it is sent; AddressRefused or SendRefused if it cannot be sent."""
    address = envelope.address
    facts.names.topic(address)  # so that a name that is no topic is refused here, not on the I/O thread
    try:
        encoded = encode(envelope, facts.names, facts.sender)
    except ValueError as error:
        raise SendRefused(f"{address}: {error}") from error
    if encoded.size > facts.largest:
        raise SendRefused(
            f"a message to {address} has about {encoded.size} bytes, and {facts.life.broker} takes {facts.largest} "
            "(maxMessageSize)"
        )
    alone = encoded.deliver_at > 0 or encoded.size >= _LARGE
    if address.temporary:  # the same topic, and the same producer
        address = Address(address.name, address.topic)
    data = encode_message(encoded) if facts.options.batching else b""
    return Outgoing(address, encoded, data, alone, ticket)


def built(encoded: Encoded) -> Any:
    """The message for the library, where that sends it."""
    builder = _pulsar.MessageBuilder()
    if encoded.body is None:
        builder.set_null_value()
    else:
        builder.content(encoded.body)
    builder.properties(encoded.properties)
    if encoded.key is not None:
        builder.partition_key(encoded.key)
    if encoded.event_time:
        builder.event_timestamp(encoded.event_time)
    if encoded.deliver_at > now_ms():
        builder.deliver_at(encoded.deliver_at)
    return builder.build()

"""A message as the client library sends it."""

import _pulsar

from jmsbridge.spi import Address, Envelope, SendRefused, Ticket
from jmsbridge.transport.deliveries.expiry import now_ms
from jmsbridge_pulsar.facts import LinkFacts
from jmsbridge_pulsar.messages.encoding import encode
from jmsbridge_pulsar.sending.outgoing import Outgoing

__all__ = ["outgoing_of"]

_LARGE = 1 << 17  # bytes from which a message is an entry of its own


def outgoing_of(facts: LinkFacts, envelope: Envelope, ticket: Ticket | None) -> Outgoing:
    """The message as the library sends it; AddressRefused or SendRefused if it cannot be sent."""
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
    is_delayed = encoded.deliver_at > 0 and encoded.deliver_at > now_ms()
    if is_delayed:
        builder.deliver_at(encoded.deliver_at)
    alone = is_delayed or encoded.size >= _LARGE
    if address.temporary:  # the same topic, and the same producer
        address = Address(address.name, address.topic)
    return Outgoing(address, builder.build(), encoded.size, alone, ticket)

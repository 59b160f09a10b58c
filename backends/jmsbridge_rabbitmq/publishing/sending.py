"""One publish, and the error messages for publishes."""

import msgspec

from jmsbridge.spi import BackendError, SendRefused, Ticket
from jmsbridge_rabbitmq.broker import delay_queues, topology
from jmsbridge_rabbitmq.messages.wire import Outbound
from jmsbridge_rabbitmq.protocol import names, properties
from jmsbridge_rabbitmq.protocol.errors import ChannelException
from jmsbridge_rabbitmq.protocol.fields import Malformed, Unencodable

__all__ = ["Sending", "full", "message_id", "refused_range", "too_large", "too_many_headers", "unencodable"]


class Sending(msgspec.Struct, gc=False, eq=False):
    """One publish, from ``send`` to its answer. Not tracked by the garbage collector: every list of them is emptied."""

    exchange: str
    key: str
    made: Outbound
    ticket: Ticket | None
    owned: bool = False
    """Whether the destination must not be created, because it is temporary, or is known to exist."""
    wait: int = 0
    """The delay in milliseconds."""
    quorum: bool = False
    """Whether its delay queue is a quorum queue."""
    tries: int = 0
    returned: str | None = None

    def fail(self, error: BackendError) -> None:
        """Answer the ticket with an error."""
        if self.ticket is not None:
            self.ticket.fail(error)

    @property
    def delay_queue(self) -> tuple[int, str, bool]:
        """Its delay queue, if it is delayed."""
        return delay_queues.bucket(self.wait), self.exchange, self.quorum

    @property
    def via(self) -> str:
        """The exchange that it is published to."""
        return delay_queues.name_of(*self.delay_queue) if self.wait > 0 else self.exchange

    @property
    def mandatory(self) -> bool:
        """The mandatory flag: whether the broker returns the message if no queue takes it."""
        if self.exchange:
            return self.exchange != topology.TOPICS or self.wait > 0
        # a direct reply goes through no queue, so the broker would return it
        return not self.key.startswith(names.DIRECT_REPLY) or self.wait > 0

    @property
    def where(self) -> str:
        """The destination, for error messages."""
        return f"{'topic' if self.exchange else 'queue'} {self.key!r}"


def unencodable(where: str, error: Unencodable) -> SendRefused:
    """The error for a message that AMQP 0-9-1 cannot represent."""
    refused = SendRefused(f"{where}: the message cannot be written as AMQP 0-9-1: {error}")
    refused.__cause__ = error
    return refused


def too_many_headers(made: Outbound, room: int) -> str:
    """The text for a header that exceeds a frame."""
    return (
        f"headers and properties take {len(made.properties)} bytes, and a frame of this connection has room for {room}"
    )


def message_id(raw: bytes) -> str | None:
    """The id in a property list."""
    try:
        return properties.decode(raw).message_id
    except Malformed:
        return None


def refused_range(no: ChannelException, sendings: list[Sending], size: tuple[int, int] | None) -> tuple[int, int]:
    """The first and the last of the unanswered sends that may have made the broker close the channel.

    A message that is too large or not allowed is always refused, so it was the first that matches. A missing exchange
    may have existed for the first of its messages, so it was any of those that match.
    """
    found = [place for place, each in enumerate(sendings) if _is_about(no, each, size)]
    if not found:
        return 0, len(sendings) - 1
    return found[0], found[0] if size is not None or no.code == 403 else found[-1]


def _is_about(no: ChannelException, sending: Sending, size: tuple[int, int] | None) -> bool:
    if size is not None:
        return len(sending.made.body) == size[0]
    what, _, _ = no.text.rpartition(" in vhost '")  # without the virtual host and the user
    if "topic '" in what and f"topic '{sending.key}'" not in what:
        return False
    return f"exchange '{sending.via or 'amq.default'}'" in what


def full(sending: Sending, broker: str) -> str:
    """The text for a basic.nack."""
    return (
        f"{sending.where}: {broker} refused the message (basic.nack): the queue is full and its overflow policy is "
        "reject-publish, or the broker could not store it; consume from it, raise its limit, or send again later"
    )


def too_large(sending: Sending, limit: int, broker: str) -> str:
    """The text for a body that exceeds the broker's limit."""
    size = len(sending.made.body)
    return (
        f"{sending.where}: the message has {size} bytes and {broker} takes {limit} at most; send smaller messages, or "
        "raise max_message_size on the broker"
    )

"""What RabbitMQ can do over AMQP 0-9-1."""

from jmsbridge.spi import Native
from jmsbridge_rabbitmq.connection.options import RabbitOptions

__all__ = ["NATIVE", "native_with", "of_kind"]

_CLASSIC_ONLY = Native.DRAIN | Native.UNLIMITED_REQUEUE
"""A quorum queue counts what is handed back, up to a limit that a policy may set; a fetch overtakes what it pushes."""

NATIVE = (
    Native.SEND_CONFIRM
    | Native.TYPED_PROPERTIES
    | Native.BODY_KINDS
    | Native.DURABLE
    | Native.SHARED
    | Native.SHARED_DURABLE
    | Native.EXCLUSIVE_DURABLE
    | Native.CLIENT_ID
    | Native.TEMPORARY
    | Native.DELAY
    | Native.EXPIRY
    | Native.DRAIN
    | Native.CREDIT
    | Native.UNLIMITED_REQUEUE
    | Native.REJECT
    | Native.NO_LOCAL
)


def native_with(options: RabbitOptions) -> Native:
    """What a link can do, given its options."""
    native = NATIVE if options.dead_letter_queue else NATIVE & ~Native.REJECT
    if options.topic_selectors == "broker":
        native |= Native.TOPIC_SELECTORS
    return of_kind(native, options.queue_type or "classic", options)


def of_kind(native: Native, kind: str | None, options: RabbitOptions) -> Native:
    """What is left of it on a queue of this kind."""
    if kind == "classic":
        return native
    less = _CLASSIC_ONLY
    if kind == "quorum" and options.delivery_limit is not None:
        less &= ~Native.UNLIMITED_REQUEUE  # no policy is unknown, so nothing is handed back too often
    return native & ~less

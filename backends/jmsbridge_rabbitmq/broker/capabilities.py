"""The capabilities of RabbitMQ over AMQP 0-9-1."""

from jmsbridge.spi import Native
from jmsbridge_rabbitmq.connection.options import RabbitOptions

__all__ = ["NATIVE", "native_with", "of_kind"]

_CLASSIC_ONLY = Native.DRAIN | Native.UNLIMITED_REQUEUE
"""Quorum queues limit the number of requeues, perhaps by a policy, and a basic.get overtakes their deliveries."""

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
    | Native.RETURN
    | Native.FAIL
    | Native.UNLIMITED_REQUEUE
    | Native.REJECT
    | Native.NO_LOCAL
)


def native_with(options: RabbitOptions) -> Native:
    """The capabilities of a link with these options."""
    native = NATIVE if options.dead_letter_queue else NATIVE & ~Native.REJECT
    if options.topic_selectors == "broker":
        native |= Native.TOPIC_SELECTORS
    return of_kind(native, options.queue_type or "classic", options)


def of_kind(native: Native, kind: str | None, options: RabbitOptions) -> Native:
    """The capabilities of a subscription to a queue of this kind."""
    if kind == "classic":
        return native
    less = _CLASSIC_ONLY
    if kind == "quorum" and options.delivery_limit is not None:
        less &= ~Native.UNLIMITED_REQUEUE  # the limit is known, and ``Copies`` prevents that it is reached
    return native & ~less

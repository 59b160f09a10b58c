"""What RabbitMQ can do over AMQP 0-9-1."""

from jmsbridge.spi import Native

__all__ = ["CLASSIC_ONLY", "NATIVE", "native_with"]

CLASSIC_ONLY = Native.DRAIN | Native.HAND_BACK
"""A quorum queue counts what is handed back, and drops or moves it at its limit; a fetch overtakes what it pushes."""

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
    | Native.HAND_BACK
    | Native.REJECT
    | Native.NO_LOCAL
)


def native_with(dead_letters: bool, queue_type: str | None, selects: bool) -> Native:
    """What a link can do, given its options."""
    native = NATIVE if dead_letters else NATIVE & ~Native.REJECT
    if selects:
        native |= Native.TOPIC_SELECTORS
    return native & ~CLASSIC_ONLY if queue_type == "quorum" else native

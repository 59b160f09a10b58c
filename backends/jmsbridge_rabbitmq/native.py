"""What RabbitMQ can do over AMQP 0-9-1."""

from jmsbridge.spi import Native

__all__ = ["NATIVE"]

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

"""The capabilities of brokers over AMQP 1.0: all that this backend can use, and those of one broker."""

from collections.abc import Collection

from jmsbridge.spi import Native
from jmsbridge_amqp.connection.products import Product

__all__ = ["ANONYMOUS_RELAY", "DESIRED", "NATIVE", "native_of"]

ANONYMOUS_RELAY = "ANONYMOUS-RELAY"
_DELAYED_DELIVERY = "DELAYED_DELIVERY"
_SHARED_SUBS = "SHARED-SUBS"
_SOLE_CONNECTION = "sole-connection-for-container"
DESIRED = (_SOLE_CONNECTION, _DELAYED_DELIVERY, ANONYMOUS_RELAY, _SHARED_SUBS)
"""The capabilities that the client asks for when it connects."""

NATIVE = (
    Native.SEND_CONFIRM
    | Native.TYPED_PROPERTIES
    | Native.BODY_KINDS
    | Native.TRANSACTIONS
    | Native.SEND_TRANSACTIONS
    | Native.TOPIC_SELECTORS
    | Native.QUEUE_SELECTORS
    | Native.BROWSE
    | Native.DURABLE
    | Native.SHARED
    | Native.SHARED_DURABLE
    | Native.CLIENT_ID
    | Native.EXCLUSIVE_DURABLE
    | Native.GROUPS
    | Native.DELAY
    | Native.PRIORITY
    | Native.EXPIRY
    | Native.DUPLICATE_DETECTION
    | Native.DRAIN
    | Native.CREDIT
    | Native.RETURN
    | Native.FAIL
    | Native.RELEASE
    | Native.UNLIMITED_REQUEUE
    | Native.REJECT
    | Native.NO_LOCAL
)


def native_of(product: Product, offered: Collection[str], dead_letters: str) -> Native:
    """What a link can do: what the broker's product always has, and what this broker offered."""
    native = product.native
    if _DELAYED_DELIVERY in offered:
        native |= Native.DELAY
    if _SOLE_CONNECTION in offered:
        native |= Native.CLIENT_ID | Native.EXCLUSIVE_DURABLE  # within one connection the client checks the latter
    if _SHARED_SUBS in offered:
        native |= Native.SHARED | Native.SHARED_DURABLE
    return native if dead_letters else native & ~Native.REJECT

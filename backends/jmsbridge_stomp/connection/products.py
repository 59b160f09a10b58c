"""What must be known of a broker by its product, which it names when a connection opens."""

import re
from typing import Final

import msgspec

from jmsbridge.spi import ConnectFailed, Native
from jmsbridge_stomp.messages.wire import ARTEMIS, CLASSIC, OLD_CLASSIC, RABBITMQ, Dialect

__all__ = ["NATIVE", "Product", "product_of"]

_ALL: Final = (
    Native.SEND_CONFIRM
    | Native.TYPED_PROPERTIES
    | Native.BODY_KINDS
    | Native.EXPIRY
    | Native.CREDIT
    | Native.REJECT
    | Native.NO_LOCAL
    | Native.UNLIMITED_REQUEUE
)
_ACTIVEMQ: Final = (
    _ALL
    | Native.SETTLE_CONFIRM
    | Native.SEND_TRANSACTIONS
    | Native.DURABLE
    | Native.PRIORITY
    | Native.GROUPS
    | Native.QUEUE_SELECTORS
)


class Product(msgspec.Struct, frozen=True, kw_only=True):
    """One product, of one version."""

    dialect: Dialect
    native: Native
    dead_letters: str
    """Its own dead-letter queue."""
    has_scheduler: bool
    """It keeps delayed messages if its scheduler is on, which must be asked."""
    shares_socket: bool
    """All subscriptions of a link have one socket, because a client id belongs to one connection and a refused frame
    does not end it. Otherwise each has its own, because every ERROR ends its socket."""
    managed: bool
    """It is administered by messages."""
    window: str
    """The header with which a subscription says how much may be on its way or unsettled."""
    window_unit: int = 1
    """What one message counts there."""
    late_window: int
    """Its value if settlements come late."""
    names_message: str = "ack"
    """The header with what ACK names a message by. Artemis writes the sender's headers before its own ``ack``, which is
    the same as ``message-id``."""
    parses_ids: bool = False
    """It ends the connection at the acknowledgement of a message whose id has not the form of its own: one that was
    sent over AMQP 1.0 with an id."""
    keeps_unsettled: bool = False
    """UNSUBSCRIBE returns nothing to the queue: only the end of the socket does."""
    names_refused: bool = True
    """ERROR names the refused frame, if that asked for a receipt."""
    commits_whole: bool = False
    """It refuses to commit a transaction of which it refused a frame, unless it was configured otherwise, which must be
    asked; and it writes a message of a transaction to the disk by itself only if that has a receipt."""
    answers_in_order: bool = False
    """Its receipt for a message of a transaction says that it has refused none of those before in that transaction."""


_CLASSIC: Final = Product(
    dialect=CLASSIC,
    native=_ACTIVEMQ | Native.CLIENT_ID | Native.EXCLUSIVE_DURABLE | Native.BROWSE | Native.DRAIN | Native.TRANSACTIONS,
    dead_letters="ActiveMQ.DLQ",
    has_scheduler=True,
    shares_socket=True,
    managed=False,
    window="activemq.prefetchSize",
    late_window=32_766,
    parses_ids=True,
    commits_whole=True,
)
_ARTEMIS: Final = Product(
    dialect=ARTEMIS,
    native=_ACTIVEMQ | Native.DELAY | Native.DUPLICATE_DETECTION | Native.SHARED | Native.SHARED_DURABLE,
    dead_letters="DLQ",
    has_scheduler=False,
    shares_socket=False,
    managed=True,
    window="consumer-window-size",
    window_unit=2048,
    late_window=1 << 26,
    names_message="message-id",
    answers_in_order=True,
)
_RABBITMQ: Final = Product(
    dialect=RABBITMQ,
    native=_ALL,
    dead_letters="jms.dlq",
    has_scheduler=False,
    shares_socket=False,
    managed=False,
    window="prefetch-count",
    late_window=32_766,
    keeps_unsettled=True,
    names_refused=False,
)
NATIVE: Final = _CLASSIC.native | _ARTEMIS.native | _RABBITMQ.native
"""All that this backend can use, on any broker."""

_SERVER: Final = re.compile(r"(ActiveMQ-Artemis|ActiveMQ|RabbitMQ)/(\d+)\.(\d+)\.?(\d*)")


def product_of(server: str | None, where: object) -> tuple[Product, str]:
    """The product by the header ``server``, and its name with its version; ConnectFailed for any other product."""
    found = _SERVER.match(server or "")
    if found is None:
        said = f"calls itself {server[:80]!r}" if server else "does not say what it is"
        raise ConnectFailed(
            f"{where}: the broker {said}; over STOMP jmsbridge supports ActiveMQ Classic, Artemis and RabbitMQ. "
            "For other brokers try amqp://"
        )
    version = tuple(int(part or 0) for part in found.groups()[1:])
    text = ".".join(map(str, version))
    if found[1] == "ActiveMQ-Artemis":
        return _ARTEMIS, f"Artemis {text}"
    if found[1] == "RabbitMQ":
        return _RABBITMQ, f"RabbitMQ {text}"
    row = _CLASSIC
    if version < (5, 18, 6) or (6, 0, 0) <= version < (6, 1, 4):
        row = msgspec.structs.replace(row, dialect=OLD_CLASSIC)
    if version < (6, 0, 0):  # delivery stops at 200 to 400 messages that are not acknowledged
        row = msgspec.structs.replace(row, native=row.native & ~Native.TRANSACTIONS, commits_whole=False)
    return row, f"ActiveMQ Classic {text}"

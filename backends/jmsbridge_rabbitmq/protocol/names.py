"""Names that RabbitMQ takes, and those that it would cut, or that would end the link. Pure."""

import base64
import binascii
from typing import Any, Final

from jmsbridge.spi import AddressRefused, ClientIdRefused

__all__ = ["DIRECT_REPLY", "check", "check_arguments", "check_client_id", "check_new", "client_queue"]

DIRECT_REPLY: Final = "amq.rabbitmq.reply-to"
"""What one who wants an answer without a queue says; the broker puts a name with a token in its place."""

_ATOMS: Final = {118: 2, 119: 1, 100: 2, 115: 1}  # an Erlang atom's tags, and the octets of its length


def check(name: str) -> None:
    """AddressRefused where it can be the name of no queue, exchange or topic."""
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        size = 0
    if not 0 < size <= 255 or "\n" in name or "\r" in name:  # the broker leaves line ends out, and so takes another one
        raise AddressRefused(
            f"{name[:40]!r} is no name for a queue or topic of RabbitMQ: 1 to 255 bytes of UTF-8, without line ends"
        )
    if name.startswith(DIRECT_REPLY) and not _is_token(name.removeprefix(f"{DIRECT_REPLY}.")):
        # what it cannot read there ends the broker's side of a channel, and the connection with it
        raise AddressRefused(
            f"{name[:80]!r} is an invalid direct reply-to address: RabbitMQ did not make it; use a temporary queue"
        )


def check_new(name: str) -> None:
    """The same, for a queue that is made here."""
    check(name)
    if name.startswith("amq."):
        raise AddressRefused(
            f"{name[:40]!r}: RabbitMQ alone makes queues whose names begin with amq.; take another name"
        )


def check_arguments(arguments: dict[str, Any]) -> None:
    """The same for the names in a question to the broker."""
    for each in ("queue", "exchange", "source", "destination"):
        if each in arguments:
            check(arguments[each])
    if arguments.get("routing_key"):
        check(arguments["routing_key"])


def _is_token(text: str) -> bool:
    """Whether it is an Erlang process as the broker writes it, and a key."""
    process, dot, key = text.partition(".")
    if not dot or not key or "." in key:
        return False
    try:
        data = base64.b64decode(process, validate=True)
    except (binascii.Error, ValueError):
        return False
    if len(data) < 4 or data[0] != 131 or data[1] not in (88, 103) or data[2] not in _ATOMS:
        return False
    start = 3 + _ATOMS[data[2]]
    node = int.from_bytes(data[3:start], "big")
    return len(data) == start + node + (12 if data[1] == 88 else 9)


def client_queue(client_id: str) -> str:
    """The queue that shows that a client id is in use."""
    return f"jms-client-{client_id}"


def check_client_id(client_id: str) -> None:
    """ClientIdRefused where it can be no client id."""
    try:
        check(client_queue(client_id))
    except AddressRefused as error:
        raise ClientIdRefused(
            f"{client_id[:40]!r} can be no client id on RabbitMQ: 244 bytes of UTF-8 at most, without line ends"
        ) from error

"""Checks of names that RabbitMQ would refuse or change, or for which it would close the connection. Pure."""

import base64
import binascii
from typing import Any, Final

from jmsbridge.spi import AddressRefused, ClientIdRefused

__all__ = ["DIRECT_REPLY", "check", "check_arguments", "check_client_id", "check_new", "client_queue"]

DIRECT_REPLY: Final = "amq.rabbitmq.reply-to"
"""The reply-to name for answers without a queue; the broker replaces it by a name with a token."""

_ATOMS: Final = {118: 2, 119: 1, 100: 2, 115: 1}  # the tags of Erlang atoms, and the octets of their lengths


def check(name: str) -> None:
    """AddressRefused if this cannot be the name of a queue, exchange or topic."""
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        size = 0
    if not 0 < size <= 255 or "\n" in name or "\r" in name:  # the broker removes line ends, which gives another name
        raise AddressRefused(
            f"{name[:40]!r} is not a name for a queue or topic of RabbitMQ: 1 to 255 bytes of UTF-8, without line ends"
        )
    if name.startswith(DIRECT_REPLY) and not _is_token(name.removeprefix(f"{DIRECT_REPLY}.")):
        # an invalid token crashes the channel in the broker, which closes the connection
        raise AddressRefused(
            f"{name[:80]!r} is an invalid direct reply-to address: RabbitMQ did not make it; use a temporary queue"
        )


def check_new(name: str) -> None:
    """``check`` for a queue that is to be created."""
    check(name)
    if name.startswith("amq."):
        raise AddressRefused(f"{name[:40]!r}: names that begin with amq. are reserved for RabbitMQ; use another name")


def check_arguments(arguments: dict[str, Any]) -> None:
    """``check`` for the names in the arguments of a request."""
    for each in ("queue", "exchange", "source", "destination"):
        if each in arguments:
            check(arguments[each])
    if arguments.get("routing_key"):
        check(arguments["routing_key"])


def _is_token(text: str) -> bool:
    """Whether this is a token of the broker: an encoded Erlang process id and a key."""
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
    """The exclusive queue that reserves a client id."""
    return f"jms-client-{client_id}"


def check_client_id(client_id: str) -> None:
    """ClientIdRefused if RabbitMQ cannot have a queue for this client id."""
    try:
        check(client_queue(client_id))
    except AddressRefused as error:
        raise ClientIdRefused(
            f"{client_id[:40]!r} cannot be a client id on RabbitMQ: at most 244 bytes of UTF-8, without line ends"
        ) from error

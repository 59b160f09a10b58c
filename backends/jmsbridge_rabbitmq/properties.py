"""The property list of AMQP 0-9-1's content header, both ways, on bytes."""

import msgspec

__all__ = ["Properties", "copy_for", "decode", "encode"]


class Properties(msgspec.Struct):
    """The fourteen basic properties; ``headers`` is the raw field table with its length, None where absent."""

    content_type: str | None = None
    content_encoding: str | None = None
    headers: bytes | None = None
    delivery_mode: int | None = None
    priority: int | None = None
    correlation_id: bytes | None = None  # bytes: what is no UTF-8 must survive
    reply_to: str | None = None
    expiration: str | None = None
    message_id: str | None = None
    timestamp: int | None = None
    type: str | None = None
    user_id: str | None = None
    app_id: str | None = None
    cluster_id: str | None = None


def decode(data: bytes) -> Properties:
    """The properties in ``Content.properties``; Malformed."""


def encode(properties: Properties) -> bytes:
    """The raw property list (two or more bytes of flags, then the values); Unencodable."""


def copy_for(data: bytes, message_id: str | None = None) -> bytes:
    """The raw list for sending the same message once more, to a dead-letter queue, say.

    Without what would change its way or get it refused there: expiration, user id, the CC and BCC headers.
    ``message_id`` is set where the message has none (to match a return). Malformed lists come back as a new, empty one.
    """

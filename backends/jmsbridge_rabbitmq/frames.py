"""AMQP 0-9-1 frames on bytes: publishes and settlements on the way out, deliveries and confirmations on the way in.

Pure: no socket, no pika. What this module does not know is handed on as it came (``Raw``).
"""

import msgspec

__all__ = ["Confirm", "Content", "Event", "FrameReader", "Publisher", "Raw", "ack", "nack", "reject"]


class Content(msgspec.Struct, frozen=True, gc=False):
    """A message with the method that brought it: ``method`` is DELIVER, GET_OK or RETURN.

    ``properties`` is the raw property list (flags and values) as ``properties.decode`` and ``wire.decode`` take it.
    """

    method: int  # frames.DELIVER 60, frames.GET_OK 71, frames.RETURN 50
    channel: int
    consumer_tag: str  # DELIVER only, else ""
    delivery_tag: int  # DELIVER and GET_OK, else 0
    redelivered: bool
    exchange: str
    routing_key: str
    reply_code: int  # RETURN only, else 0
    reply_text: str
    properties: bytes
    body: bytes


class Confirm(msgspec.Struct, frozen=True, gc=False):
    """The broker's basic.ack (``accepted``) or basic.nack of publishes."""

    channel: int
    tag: int
    multiple: bool
    accepted: bool


class Raw(msgspec.Struct, frozen=True, gc=False):
    """One complete frame, end octet included, for pika."""

    frame: bytes


Event = Content | Confirm | Raw


class Publisher:
    """Builds the frames of basic.publish on one channel; the constant part of each destination is kept (bounded)."""

    def __init__(self, channel: int, frame_max: int) -> None: ...

    def frames(self, exchange: str, routing_key: str, mandatory: bool, properties: bytes, body: bytes) -> bytes:
        """Method, header and body frames of one message, joined; Unencodable where the header exceeds a frame."""


def ack(channel: int, tag: int, multiple: bool = False) -> bytes:
    """A basic.ack frame."""


def nack(channel: int, tag: int, multiple: bool = False, requeue: bool = True) -> bytes:
    """A basic.nack frame."""


def reject(channel: int, tag: int, requeue: bool) -> bytes:
    """A basic.reject frame."""


class FrameReader:
    """Cuts what the socket gives into events; feed it everything after the protocol header has been answered.

    It may be fed from the first byte that the broker sends: the handshake comes out as ``Raw``.
    """

    def __init__(self, frame_max: int = 131072, max_body: int = 512 * 1024 * 1024) -> None: ...

    def feed(self, data: bytes) -> list[Event]:
        """The events completed by these bytes, in wire order; Malformed ends the connection: feed no more."""

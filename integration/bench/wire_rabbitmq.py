"""CPU time of RabbitMQ's codecs per message: `python -m integration.bench.wire_rabbitmq`; no broker is needed.

The message is that of the other rows: 256 characters of text, five properties, persistent. Each figure is the best of
many short runs, which on a shared machine is the least disturbed one.
"""

import timeit
from collections.abc import Callable
from functools import partial

from jmsbridge.spi import Address, BodyKind, Envelope, Long
from jmsbridge_rabbitmq.messages.wire import Dialect, Encoder, decode
from jmsbridge_rabbitmq.protocol.frames import FrameReader, PublishFrames

__all__ = ["BARS", "main"]

BARS = {"amqp encode": 4.0, "amqp decode": 5.0, "publish frames": 2.5}
"""Limits in microseconds."""

_ORDERS = Address("orders")
_PROPERTIES = {"region": "EU", "qty": 5, "price": 1.5, "serial": Long(7), "paid": True}
_MESSAGE = Envelope(
    _ORDERS, BodyKind.TEXT, "x" * 256, _PROPERTIES, "ID:0a0b0c0d-1111-2222-3333-444455556666", 1_770_000_000_123
)
_RUNS, _TIMES = 2000, 50


def _best(call: Callable[[], object], each: int = 1) -> float:
    return min(timeit.repeat(call, number=_TIMES, repeat=_RUNS)) / _TIMES / each * 1e6


def _delivered(frames: bytes) -> bytes:
    """The frames of a publish as the broker would deliver them."""
    method = b"\0\x3c\0\x3c\x05ctag1\0\0\0\0\0\0\0\7\0\0\x06orders"
    header = frames.index(b"\xce\2\0\1") + 1
    return b"\1\0\1" + len(method).to_bytes(4, "big") + method + b"\xce" + frames[header:]


def main() -> None:
    """Measure and print, with the limit if there is one."""
    figures: dict[str, float] = {}
    dialects: tuple[Dialect, ...] = ("amqp", "jms")
    for dialect in dialects:
        encoder = Encoder(dialect)
        sent = encoder.encode(_MESSAGE, 0)
        assert decode(_ORDERS, sent.properties, sent.body).envelope == _MESSAGE
        figures[f"{dialect} encode"] = _best(partial(encoder.encode, _MESSAGE, 0))
        figures[f"{dialect} decode"] = _best(partial(decode, _ORDERS, sent.properties, sent.body))
    publisher, reader = PublishFrames(1, 131072), FrameReader()
    sent = Encoder().encode(_MESSAGE, 0)
    figures["publish frames"] = _best(lambda: publisher.frames("", "orders", True, sent.properties, sent.body))
    hundred = _delivered(publisher.frames("", "orders", True, sent.properties, sent.body)) * 100
    assert len(reader.feed(hundred)) == 100
    figures["deliver frames"] = _best(lambda: reader.feed(hundred), 100)
    for name, took in figures.items():
        bar = BARS.get(name)
        print(f"{name:15} {took:6.2f} µs" + ("" if bar is None else f"   bar {bar:.1f}"))


if __name__ == "__main__":
    main()

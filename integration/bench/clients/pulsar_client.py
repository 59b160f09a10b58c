"""pulsar-client as it is shipped: the same properties as jmsbridge writes, and a Python callback for each send."""

import importlib
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

from integration.bench.clients.protocol import BODY, WINDOW, Arguments, arguments, check, headers, serve
from jmsbridge.spi import Address, BodyKind, Envelope, Long
from jmsbridge_pulsar.messages.conventions import ID
from jmsbridge_pulsar.messages.encoding import encode
from jmsbridge_pulsar.messages.names import Names

_pulsar: Any = importlib.import_module("pulsar")  # it has no types

__all__ = ["main"]

_SUBSCRIPTION = "jms-queue"
_QUEUE_SIZE = 1000  # the library's default
_PATIENCE = 60.0
_BATCHED = {"batched": True, "unbatched": False, "sync": False, "bound": True}


def _properties() -> dict[str, str]:
    """What a message of the other rows has on the wire, but for its id, which differs in each."""
    given = headers(9.75) | {"sequence": Long(1 << 40)}
    message = Envelope(Address("bench"), BodyKind.TEXT, BODY, given, f"ID:{uuid.uuid4()}", 0)
    return encode(message, Names(), str(uuid.uuid4())).properties


class _Sender:
    """A producer; ``each``, ``window`` and ``bound`` send so many messages."""

    def __init__(self, client: Any, topic: str, *, batching: bool) -> None:
        self._producer = client.create_producer(
            topic, batching_enabled=batching, block_if_queue_full=True, max_pending_messages=WINDOW
        )
        self._properties = _properties()
        self._number = 0
        self._left = 0
        self._failed: Any = None
        self._done = threading.Event()

    def _next(self) -> tuple[bytes, dict[str, str], int]:
        """A new message: body, properties, time."""
        self._number += 1
        properties = {**self._properties, ID: f"{self._properties[ID]}-{self._number}"}
        return BODY.encode(), properties, time.time_ns() // 1_000_000

    def each(self, count: int) -> None:
        for _ in range(count):
            body, properties, now = self._next()
            self._producer.send(body, properties, event_timestamp=now)

    def window(self, count: int) -> None:
        self._left = count
        self._done.clear()
        for _ in range(count):
            body, properties, now = self._next()
            self._producer.send_async(body, self._answered, properties, event_timestamp=now)
        if not self._done.wait(_PATIENCE) or self._failed is not None:
            raise RuntimeError(f"not sent: {self._failed}")

    def bound(self, count: int) -> None:
        """As fast as the library's binding can be used: no outcome but that of all, and nothing between."""
        builder, send = importlib.import_module("_pulsar").MessageBuilder, self._producer._producer.send_async
        for start in range(0, count, WINDOW):
            for _ in range(min(WINDOW, count - start)):
                body, properties, now = self._next()
                made = builder()
                made.content(body)
                made.properties(properties)
                made.event_timestamp(now)
                send(made.build(), None)
            self._producer.flush()

    def _answered(self, result: Any, message_id: Any) -> None:
        if result != _pulsar.Result.Ok:
            self._failed = result
        self._left -= 1
        if not self._left:
            self._done.set()


class _Receiver:
    """Consumers of a queue, one for each window."""

    def __init__(self, client: Any, topic: str) -> None:
        self._client = client
        self._topic = topic

    def _consumer(self, listener: Callable[[Any, Any], None] | None = None) -> Any:
        return self._client.subscribe(
            self._topic,
            _SUBSCRIPTION,
            consumer_type=_pulsar.ConsumerType.Shared,
            initial_position=_pulsar.InitialPosition.Earliest,
            receiver_queue_size=_QUEUE_SIZE,
            batch_index_ack_enabled=True,
            message_listener=listener,
        )

    def receive(self, count: int) -> None:
        consumer = self._consumer()
        for _ in range(count):
            message = consumer.receive(int(_PATIENCE * 1000))
            _check(message)
            consumer.acknowledge(message)
        consumer.close()

    def listener(self, count: int) -> None:
        left = count
        done = threading.Event()

        def got(consumer: Any, message: Any) -> None:
            nonlocal left
            if not left:
                return
            _check(message)
            consumer.acknowledge(message)
            left -= 1
            if not left:
                done.set()

        consumer = self._consumer(got)
        if not done.wait(_PATIENCE):
            raise RuntimeError(f"{left} messages have not come")
        consumer.close()


def _check(message: Any) -> None:
    check(len(message.data().decode()), int(message.properties()["number"]))


def main(wanted: Arguments) -> None:
    """Roles ``batched``, ``unbatched``, ``sync``, ``bound``, ``listener``, ``receive``."""
    logger = _pulsar.FileLogger(_pulsar.LoggerLevel.Error, "/dev/null")  # it writes to the standard output otherwise
    client = _pulsar.Client(wanted.url.partition("?")[0], logger=logger)
    topic = f"persistent://public/default/{wanted.queue}"
    if wanted.role in _BATCHED:
        sender = _Sender(client, topic, batching=_BATCHED[wanted.role])
        serve({"sync": sender.each, "bound": sender.bound}.get(wanted.role, sender.window))
    else:
        serve(getattr(_Receiver(client, topic), wanted.role))
    client.close()


if __name__ == "__main__":
    main(arguments())

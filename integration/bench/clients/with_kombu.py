"""kombu over py-amqp: each publish confirmed, each message acknowledged."""

import importlib
from typing import Any

from integration.bench.clients.protocol import BODY, PREFETCH, Arguments, arguments, check, headers, serve

__all__ = ["main"]

_kombu: Any = importlib.import_module("kombu")  # it has no types


def _send(producer: Any, queue: str, count: int) -> None:
    for _ in range(count):
        producer.publish(
            BODY,
            exchange="",
            routing_key=queue,
            serializer="raw",
            content_type="text/plain",
            content_encoding="utf-8",
            headers=headers(9.75),
            delivery_mode=2,
            mandatory=True,
        )


def _receive(connection: Any, queue: Any, count: int) -> None:
    left = count

    def got(message: Any) -> None:
        nonlocal left
        check(len(message.body), message.headers["number"])
        message.ack()
        left -= 1

    with connection.channel() as channel:
        consumer = _kombu.Consumer(channel, [queue], on_message=got, prefetch_count=PREFETCH)
        with consumer:
            while left:
                connection.drain_events(timeout=30)


def main(wanted: Arguments) -> None:
    """Roles ``send`` and ``receive``."""
    with _kombu.Connection(wanted.url, transport_options={"confirm_publish": True}) as connection:
        queue = _kombu.Queue(wanted.queue, no_declare=True)
        if wanted.role == "send":
            producer = connection.Producer(auto_declare=False)
            serve(lambda count: _send(producer, wanted.queue, count))
        else:
            serve(lambda count: _receive(connection, queue, count))


if __name__ == "__main__":
    main(arguments())

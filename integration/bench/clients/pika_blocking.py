"""pika's BlockingConnection: one confirmed publish after another."""

import pika
from pika.adapters.blocking_connection import BlockingChannel

from integration.bench.clients.protocol import BODY, Arguments, arguments, headers, serve

__all__ = ["main"]


def main(wanted: Arguments) -> None:
    """Role ``send``."""
    connection = pika.BlockingConnection(pika.URLParameters(wanted.url))
    channel = connection.channel()
    channel.confirm_delivery()
    serve(lambda count: _send(channel, wanted.queue, count))
    connection.close()


def _send(channel: BlockingChannel, queue: str, count: int) -> None:
    for _ in range(count):
        properties = pika.BasicProperties(content_type="text/plain", delivery_mode=2, headers=headers())
        channel.basic_publish("", queue, BODY.encode(), properties, mandatory=True)


if __name__ == "__main__":
    main(arguments())

"""FastStream over aio-pika: each publish awaited, a subscriber that acknowledges after handling."""

import asyncio
from typing import Any

from faststream.rabbit import Channel, RabbitBroker, RabbitMessage, RabbitQueue

from integration.bench.clients.protocol import BODY, PREFETCH, Arguments, arguments, check, headers, serve

__all__ = ["main"]


async def _send(broker: Any, queue: str, count: int) -> None:
    for _ in range(count):
        await broker.publish(BODY, queue, persist=True, headers=headers(9.75), content_type="text/plain")


async def _receive(broker: Any, name: str, count: int) -> None:
    left = count
    done = asyncio.get_running_loop().create_future()
    subscriber = broker.subscriber(RabbitQueue(name, declare=False), channel=Channel(prefetch_count=PREFETCH))

    async def got(body: str, message: RabbitMessage) -> None:
        nonlocal left
        check(len(body), message.headers["number"])
        left -= 1
        if not left:
            done.set_result(None)

    subscriber(got)
    await subscriber.start()
    await done
    await subscriber.stop()


def main(wanted: Arguments) -> None:
    """Roles ``send`` and ``receive``."""
    loop = asyncio.new_event_loop()
    broker = RabbitBroker(wanted.url, logger=None)
    loop.run_until_complete(broker.start())
    if wanted.role == "send":
        serve(lambda count: loop.run_until_complete(_send(broker, wanted.queue, count)))
    else:
        serve(lambda count: loop.run_until_complete(_receive(broker, wanted.queue, count)))
    loop.run_until_complete(broker.stop())
    loop.close()


if __name__ == "__main__":
    main(arguments())

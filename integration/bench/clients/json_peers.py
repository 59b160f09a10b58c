"""aio-pika and FastStream with objects of 256 bytes as JSON, as their documentation shows it."""

import asyncio
import json
from dataclasses import asdict
from typing import Any

import aio_pika
from faststream.rabbit import Channel, RabbitBroker, RabbitQueue

from integration.bench.clients.protocol import (
    LARGE_PREFETCH,
    ORDER,
    WINDOW,
    Arguments,
    Order,
    arguments,
    check_order,
    serve,
)

__all__ = ["main"]


async def _send(channel: Any, queue: str, count: int) -> None:
    for start in range(0, count, WINDOW):
        await asyncio.gather(
            *(
                channel.default_exchange.publish(
                    aio_pika.Message(
                        json.dumps(asdict(ORDER)).encode(),
                        content_type="application/json",
                        delivery_mode=aio_pika.DeliveryMode.PERSISTENT,
                    ),
                    routing_key=queue,
                )
                for _ in range(min(WINDOW, count - start))
            )
        )


async def _iterate(channel: Any, name: str, count: int) -> None:
    left = count
    queue = await channel.get_queue(name)
    async with queue.iterator() as messages:
        async for message in messages:
            async with message.process():
                check_order(Order(**json.loads(message.body)))
            left -= 1
            if not left:
                return


async def _subscribe(broker: Any, name: str, count: int) -> None:
    left = count
    done = asyncio.get_running_loop().create_future()
    subscriber = broker.subscriber(RabbitQueue(name, declare=False), channel=Channel(prefetch_count=LARGE_PREFETCH))

    async def on_order(order: Order) -> None:
        nonlocal left
        check_order(order)
        left -= 1
        if not left:
            done.set_result(None)

    subscriber(on_order)
    await subscriber.start()
    await done
    await subscriber.stop()


def main(wanted: Arguments) -> None:
    """Roles ``send`` and ``receive`` of aio-pika, ``subscribe`` of FastStream."""
    loop = asyncio.new_event_loop()

    async def connect() -> Any:
        connection = await aio_pika.connect(wanted.url)
        channel = await connection.channel(publisher_confirms=True)
        await channel.set_qos(prefetch_count=LARGE_PREFETCH)
        return connection, channel

    if wanted.role == "subscribe":
        broker = RabbitBroker(wanted.url, logger=None)
        loop.run_until_complete(broker.start())
        serve(lambda count: loop.run_until_complete(_subscribe(broker, wanted.queue, count)))
        loop.run_until_complete(broker.stop())
    else:
        connection, channel = loop.run_until_complete(connect())
        work = _send if wanted.role == "send" else _iterate
        serve(lambda count: loop.run_until_complete(work(channel, wanted.queue, count)))
        loop.run_until_complete(connection.close())
    loop.close()


if __name__ == "__main__":
    main(arguments())

"""aio-pika: a thousand confirms gathered at a time, and the consumer of a queue."""

import asyncio
from typing import Any

import aio_pika

from integration.bench.clients.protocol import BODY, PREFETCH, WINDOW, Arguments, arguments, check, headers, serve

__all__ = ["main"]


async def _send(channel: Any, queue: str, count: int) -> None:
    for start in range(0, count, WINDOW):
        await asyncio.gather(
            *(
                channel.default_exchange.publish(
                    aio_pika.Message(
                        BODY.encode(),
                        content_type="text/plain",
                        headers=headers(9.75),
                        delivery_mode=aio_pika.DeliveryMode.PERSISTENT,
                    ),
                    routing_key=queue,
                )
                for _ in range(min(WINDOW, count - start))
            )
        )


async def _receive(queue: Any, count: int) -> None:
    left = count
    done = asyncio.get_running_loop().create_future()

    async def got(message: Any) -> None:
        nonlocal left
        check(len(message.body.decode()), message.headers["number"])
        await message.ack()
        left -= 1
        if not left:
            done.set_result(None)

    tag = await queue.consume(got)
    await done
    await queue.cancel(tag)


def main(wanted: Arguments) -> None:
    """Roles ``send`` and ``receive``."""
    loop = asyncio.new_event_loop()

    async def prepare() -> Any:
        connection = await aio_pika.connect(wanted.url)
        channel = await connection.channel(publisher_confirms=True)
        await channel.set_qos(prefetch_count=PREFETCH)
        return connection, channel, await channel.get_queue(wanted.queue)

    connection, channel, queue = loop.run_until_complete(prepare())
    if wanted.role == "send":
        serve(lambda count: loop.run_until_complete(_send(channel, wanted.queue, count)))
    else:
        serve(lambda count: loop.run_until_complete(_receive(queue, count)))
    loop.run_until_complete(connection.close())
    loop.close()


if __name__ == "__main__":
    main(arguments())

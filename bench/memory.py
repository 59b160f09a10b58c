"""Whether memory stays constant while messages are sent and received."""

import gc

import jmsbridge
from bench.measuring import Figure, message, resident

__all__ = ["flatness"]

_STEPS = 10
_BAR = 10.0  # MiB


def flatness(total: int) -> Figure:
    """Growth of the process in MiB from the first tenth of the messages to the last, sent and received in turn."""
    with jmsbridge.connect("embedded:?broker=memory") as connection:
        connection.start()
        session = connection.create_session()
        queue = session.create_queue("memory")
        producer, consumer = session.create_producer(queue), session.create_consumer(queue)
        sizes = []
        for _ in range(_STEPS):
            for _ in range(total // _STEPS // 100):
                for _ in range(100):
                    producer.send(message(session))
                for _ in range(100):
                    if consumer.receive(timeout=60) is None:
                        raise RuntimeError("a message did not come")
            gc.collect()
            sizes.append(resident())
    growth = [size - sizes[0] for size in sizes[1:]]
    name = f"memory growth over {total:,} messages"
    return Figure(name, "MiB", growth[-1], min(growth), max(growth), _BAR, more_is_better=False)

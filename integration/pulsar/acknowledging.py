"""Acknowledges many messages while its connections break: ``python -m integration.pulsar.acknowledging URL``.

Run by a test, since a mistake in the use of the client library is a process that hangs, freezes or aborts.
"""

import sys
import threading
import time

import jmsbridge
from jmsbridge.testing.proxy import FaultProxy

__all__: list[str] = []

_MESSAGES = 2000
_ROUNDS = 25
_FROZEN = 5.0  # seconds


class _Ignoring:
    def on_completion(self, message: jmsbridge.Message) -> None:
        """It is sent."""

    def on_exception(self, message: jmsbridge.Message, error: Exception) -> None:
        """It is not."""


def _once(proxy: FaultProxy, url: str, name: str) -> None:
    with jmsbridge.connect(url, prefetch=_MESSAGES) as connection:
        connection.start()
        session = connection.create_session(jmsbridge.CLIENT_ACKNOWLEDGE)
        queue = session.create_queue(name)
        consumer, producer = session.create_consumer(queue), session.create_producer(queue)
        for _ in range(_MESSAGES):
            producer.send(session.create_text_message("x"), completion_listener=_Ignoring())
        last = None
        for _ in range(_MESSAGES):
            last = consumer.receive(timeout=10)
        assert last is not None
        cutting = threading.Thread(target=proxy.cut)
        cutting.start()
        try:
            last.acknowledge()
        except jmsbridge.JMSException as error:
            print(error)
        cutting.join()


def _watch() -> None:
    """Say it when no thread of Python could run for some seconds."""
    while True:
        before = time.monotonic()
        time.sleep(0.05)  # sleep: it looks whether it wakes in time
        if time.monotonic() - before > _FROZEN:
            print("frozen")


if __name__ == "__main__":
    threading.Thread(target=_watch, name="watch", daemon=True).start()
    with FaultProxy.to(sys.argv[1]) as between:
        for number in range(_ROUNDS):
            _once(between, between.through(sys.argv[1]), f"acknowledging-{number}")
    print("done")

"""What the tests of applications share."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jmsbridge
from jmsbridge import Message, Queue, TextMessage, Topic
from jmsbridge.testing.broker import JMSBroker

__all__ = ["Heard", "Order", "Receipt", "eventually", "request", "texts"]


@dataclass
class Order:
    number: int
    rush: bool = False


@dataclass
class Receipt:
    number: int
    text: str = "thank you"


class Heard(list[Any]):
    """What listeners got; ``wait`` waits until there is so much of it."""

    def __init__(self) -> None:
        super().__init__()
        self._more = threading.Condition()

    def append(self, value: Any) -> None:
        with self._more:
            super().append(value)
            self._more.notify_all()

    def wait(self, count: int, timeout: float = 10) -> "Heard":
        with self._more:
            assert self._more.wait_for(lambda: len(self) >= count, timeout), list(self)
        return self


def eventually(condition: Callable[[], Any], timeout: float = 10) -> Any:
    """Wait until the condition holds, and return what it gave."""
    deadline = time.monotonic() + timeout
    while not (found := condition()):
        assert time.monotonic() < deadline, "in vain"
        time.sleep(0.01)  # sleep: the condition has no event
    return found


def texts(broker: JMSBroker, queue: str) -> list[str | None]:
    return [each.text for each in broker.messages(queue) if isinstance(each, TextMessage)]


def request(broker: JMSBroker, where: Queue | Topic, message: Any, **headers: Any) -> Message | None:
    """Send a message with a JMSReplyTo, and return the reply."""
    with jmsbridge.context(broker.url) as context:
        replies = context.create_temporary_queue()
        producer = context.create_producer().set_jms_reply_to(replies)
        for name, value in headers.items():
            producer.set_property(name, value)
        producer.send(where, message)
        return context.create_consumer(replies).receive(timeout=10)

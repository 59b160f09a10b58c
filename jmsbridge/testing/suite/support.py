"""Helpers of the cases: sending and receiving several messages, recording listeners, waits with time-outs."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from itertools import islice
from typing import Any, TypeVar

from jmsbridge import Destination, JMSConsumer, JMSException, Message, MessageConsumer, Session, TextMessage, Topic
from jmsbridge.spi.native import Native
from jmsbridge.testing.harness import Harness

__all__ = [
    "LONG",
    "SHORT",
    "Collector",
    "Completions",
    "assert_empty",
    "eventually",
    "grouping",
    "options",
    "receive_at_once",
    "receive_texts",
    "run_thread",
    "send_coloured",
    "send_surely",
    "send_texts",
    "text_of",
]

SHORT = 0.2
"""Seconds without a message after which a case concludes that none will come."""
LONG = 5.0
"""Seconds within which an expected message or event must come."""

T = TypeVar("T")


def send_texts(session: Session, destination: Destination, *texts: str, **send_options: Any) -> list[TextMessage]:
    """Send one text message per text, in this order, and return the messages."""
    messages = [session.create_text_message(text) for text in texts]
    with session.create_producer(destination) as producer:
        for message in messages:
            producer.send(message, **send_options)
    return messages


def send_coloured(session: Session, topic: Topic, *colours: str) -> None:
    """One message per colour, which is its text and its property ``colour``."""
    with session.create_producer(topic) as producer:
        for colour in colours:
            message = session.create_text_message(colour)
            message.set_string_property("colour", colour)
            producer.send(message)


def send_surely(session: Session, destination: Destination, text: str, timeout: float = LONG) -> None:
    """Send until it is confirmed: right after a cut a send may be in doubt, and the message may then come twice."""

    def sent() -> bool:
        try:
            send_texts(session, destination, text)
        except JMSException:
            return False
        return True

    eventually(sent, timeout)


def receive_texts(consumer: MessageConsumer | JMSConsumer, count: int, timeout: float = LONG) -> list[str]:
    """The texts of the next ``count`` messages; each must come within ``timeout``."""
    texts: list[str] = []
    for number in range(count):
        message = consumer.receive(timeout=timeout)
        assert message is not None, f"message {number + 1} of {count} did not come within {timeout} s; got {texts}"
        texts.append(text_of(message))
    return texts


def receive_at_once(harness: Harness, consumer: MessageConsumer, count: int) -> list[Message]:
    """The messages that so many calls of ``receive_no_wait`` return.

    Without a native drain each call waits only a little, and a slow broker may need longer: then there are more calls.
    """
    calls = count if Native.DRAIN in harness.native else 100
    answers = (consumer.receive_no_wait() for _ in range(calls))
    return list(islice((message for message in answers if message is not None), count))


def assert_empty(consumer: MessageConsumer | JMSConsumer, timeout: float = SHORT) -> None:
    """Check that no message comes within ``timeout``."""
    message = consumer.receive(timeout=timeout)
    assert message is None, f"unexpected message {message!r}"


def grouping(harness: Harness) -> Session:
    """A session that may send the group properties even if the broker does not support groups."""
    return harness.connect(**harness.allowing("message_groups")).create_session()


def text_of(message: Message | None) -> str:
    """The text of a received message, which must have one."""
    assert isinstance(message, TextMessage), message
    assert message.text is not None
    return message.text


class Collector:
    """A message listener that records its messages; ``on`` is called for each message, after it was recorded."""

    def __init__(self, on: Callable[[Message], object] | None = None) -> None:
        self.messages: list[Message] = []
        self.on = on
        self._more = threading.Condition()

    def __call__(self, message: Message) -> None:
        with self._more:
            self.messages.append(message)
            self._more.notify_all()
        if self.on is not None:
            self.on(message)

    @property
    def texts(self) -> list[str | None]:
        """The texts so far, in delivery order."""
        return [message.text for message in list(self.messages) if isinstance(message, TextMessage)]

    def wait(self, count: int, timeout: float = LONG) -> list[Message]:
        """Wait until there are ``count`` messages, and return all so far; AssertionError after ``timeout``."""
        with self._more:
            arrived = self._more.wait_for(lambda: len(self.messages) >= count, timeout)
            assert arrived, f"{len(self.messages)} of {count} messages came within {timeout} s"
            return list(self.messages)


class Completions:
    """A completion listener that records its events; ``on`` is called for each message, after it was recorded.

    ``events`` holds ``("completed", message)`` and ``("failed", message, error)`` in callback order.
    """

    def __init__(self, on: Callable[[Message], None] | None = None) -> None:
        self.events: list[tuple[Any, ...]] = []
        self.threads: list[threading.Thread] = []
        self.on = on
        self._more = threading.Condition()

    def on_completion(self, message: Message) -> None:
        """The broker has it."""
        self._keep(("completed", message), message)

    def on_exception(self, message: Message, error: Exception) -> None:
        """The broker does not have it, or it is in doubt."""
        self._keep(("failed", message, error), message)

    def _keep(self, event: tuple[Any, ...], message: Message) -> None:
        with self._more:
            self.events.append(event)
            self.threads.append(threading.current_thread())
            self._more.notify_all()
        if self.on is not None:
            self.on(message)

    @property
    def messages(self) -> list[Message]:
        """The messages in callback order, completed or failed."""
        return [event[1] for event in list(self.events)]

    def wait(self, count: int, timeout: float = LONG) -> list[tuple[Any, ...]]:
        """Wait until there are ``count`` events, and return all so far; AssertionError after ``timeout``."""
        with self._more:
            arrived = self._more.wait_for(lambda: len(self.events) >= count, timeout)
            assert arrived, f"{len(self.events)} of {count} completions came within {timeout} s"
            return list(self.events)


def run_thread(work: Callable[[], T]) -> Future[T]:
    """Run ``work`` in a daemon thread; its result or exception is in the future."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # raised by the future's result
            future.set_exception(error)

    threading.Thread(target=run, name=f"suite-{getattr(work, '__name__', 'work')}", daemon=True).start()
    return future


def eventually(predicate: Callable[[], object], timeout: float = LONG) -> None:
    """Wait until ``predicate`` is true; AssertionError if it does not become true in time."""
    pause = threading.Event()
    deadline = time.monotonic() + timeout
    while not predicate():
        assert time.monotonic() < deadline, f"did not become true within {timeout} s"
        pause.wait(0.005)


def options(harness: Harness) -> dict[str, Any]:
    """The options that the harness gives to each of its connections."""
    emulation = {} if harness.emulation == "default" else {"emulation": harness.emulation}
    return {**harness.facade_options, **emulation}

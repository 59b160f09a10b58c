"""An embedded broker behind a mask, and short forms of what the tests of emulations do with it."""

import itertools
import warnings
from typing import Any

import jmsbridge
import jmsbridge_embedded
from jmsbridge import Connection, EmulationWarning, MessageConsumer, Queue, Session, TextMessage
from jmsbridge.spi import Native, registry
from jmsbridge_rabbitmq.broker.capabilities import NATIVE
from tests.suites.masked.masked import MaskedBackend

__all__ = ["QUEUE", "Broker", "select", "send", "texts"]

QUEUE = Queue("orders")

_numbers = itertools.count(1)


class Broker:
    """A new broker; a context manager. ``backend`` may be changed before a connection is made."""

    def __init__(self) -> None:
        self.name = f"emulate-{next(_numbers)}"
        self.backend = MaskedBackend(self.name, NATIVE)
        self._opened: list[Connection] = []

    def __enter__(self) -> "Broker":
        registry.register(self.name, self.backend)
        return self

    def __exit__(self, *_: object) -> None:
        for connection in self._opened:
            connection.close()
        registry.unregister(self.name)
        jmsbridge_embedded.discard(self.name)

    def connect(self, **options: Any) -> Connection:
        """A started connection; warnings about emulation are suppressed."""
        options = {"reconnect_delay": 0.001, "reconnect_delay_max": 0.005, **options}
        connection = jmsbridge.connect(f"{self.name}:?broker={self.name}", **options)
        self._opened.append(connection)
        connection.start()
        return connection

    def session(self, *arguments: Any, **options: Any) -> Session:
        """A session of a new connection."""
        return self.connect(**options).create_session(*arguments)

    def cut(self, *connections: Connection) -> None:
        """Cut all links; with connections, return when these have their next link."""
        jmsbridge_embedded.cut(self.name)
        for connection in connections:
            connection.create_session().close()

    def lower(self, features: Native) -> None:
        """Later links lack these features."""
        self.backend.native &= ~features


def send(session: Session, *texts: str, colour: str = "grey") -> None:
    """Text messages of one colour."""
    with session.create_producer(QUEUE) as producer:
        for text in texts:
            message = session.create_text_message(text)
            message.set_string_property("colour", colour)
            producer.send(message)


def select(session: Session, colour: str, **options: Any) -> MessageConsumer:
    """A consumer of one colour; the warning about its price is suppressed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmulationWarning)
        return session.create_consumer(QUEUE, f"colour = '{colour}'", **options)


def texts(consumer: MessageConsumer, count: int, timeout: float = 5.0) -> list[str]:
    """The texts of the next messages, which must come in time."""
    found: list[str] = []
    for _ in range(count):
        message = consumer.receive(timeout=timeout)
        assert isinstance(message, TextMessage), f"{len(found)} of {count} messages: {found}"
        found.append(message.text or "")
    return found

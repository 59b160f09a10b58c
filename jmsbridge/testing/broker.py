"""The pytest fixture ``jms_broker``: a real broker for the tests of an application, without a server.

Enable it by ``pytest_plugins = ["jmsbridge.testing.broker"]`` in a ``conftest.py``. Each test that uses it gets its own
empty embedded broker, in the memory of the test's process, with real queues, topics, transactions, redelivery and
selectors. The broker is removed when the test ends.
"""

import contextlib
import importlib
import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import jmsbridge
from jmsbridge import Connection, JMSContext, Message, Queue, Topic
from jmsbridge.config import Target
from jmsbridge.config.writing import write_profile
from jmsbridge.core.modes import AUTO_ACKNOWLEDGE
from jmsbridge.core.runtime import clock
from jmsbridge.spi import Backend, registry

__all__ = ["SCHEME", "JMSBroker", "jms_broker"]

SCHEME = "embedded"
_numbers = itertools.count(1)


class JMSBroker:
    """The embedded broker of one test; created by the fixture ``jms_broker``.

    ``url`` is its URL. During the test ``JMSBRIDGE_URL`` has the same value, so that an application that connects to
    its default target reaches this broker.
    """

    def __init__(self, name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.url = f"{SCHEME}:?broker={name}"
        self._name = name
        self._folder = folder
        self._monkeypatch = monkeypatch
        self._made: list[Connection] = []
        self._names = itertools.count(1)
        self._ahead = 0.0
        self._watch()
        self._module: Any = importlib.import_module(type(registry.load(SCHEME)).__module__)

    def connect(self, **options: Any) -> Connection:
        """A started connection, closed when the test ends; the options are those of ``jmsbridge.connect``."""
        connection = jmsbridge.connect(self.url, **options)
        connection.start()
        return connection

    def context(self, session_mode: int = AUTO_ACKNOWLEDGE, **options: Any) -> JMSContext:
        """A context, closed when the test ends."""
        return jmsbridge.context(self.url, session_mode=session_mode, **options)

    def queue(self, name: str = "queue") -> Queue:
        """A queue with a new name."""
        return Queue(f"{name}-{next(self._names)}")

    def topic(self, name: str = "topic") -> Topic:
        """A topic with a new name."""
        return Topic(f"{name}-{next(self._names)}")

    def profile(self, name: str, **options: Any) -> None:
        """Make the broker the target of a profile, for an application that uses one: ``jmsbridge.connect("orders")``.

        Other configuration files are ignored until the test ends.
        """
        path = self._folder / "jmsbridge.toml"
        write_profile(path, name, {"url": self.url, **options}, force=True)
        self._monkeypatch.setenv("JMSBRIDGE_CONFIG", str(path))

    def send(self, destination: Queue | Topic | str, *bodies: Any) -> None:
        """Send messages with these bodies; a str is the name of a queue."""
        with self._session() as session:
            producer = session.create_producer(_where(destination))
            for body in bodies:
                producer.send(body)

    def messages(self, queue: Queue | str) -> list[Message]:
        """The messages in a queue; they stay there."""
        where = _where(queue)
        assert isinstance(where, Queue), "a topic does not store messages"
        with self._session() as session:
            return list(session.create_browser(where))

    def cut(self) -> None:
        """Cut every connection, like a broken network; messages are kept, and connections reconnect by themselves."""
        self._module.cut(self._name)

    def advance(self, seconds: float) -> None:
        """Let this much time pass at once, for redeliveries, delivery delays and times to live.

        For this broker and for every connection of the process, until the test ends; waits of Python itself, such as
        ``Event.wait``, do not notice.
        """
        if not self._ahead:
            now_ms, monotonic = clock.system.now_ms, clock.system.monotonic
            self._monkeypatch.setattr(clock.system, "now_ms", lambda: now_ms() + int(self._ahead * 1000))
            self._monkeypatch.setattr(clock.system, "monotonic", lambda: monotonic() + self._ahead)
        self._ahead += seconds
        broker = self._module.memory.named(self._name)
        broker.state.clock = clock.system.now_ms
        broker.tick()
        clock.system.call_later(-1e9, lambda: None)  # before all others: the clock's thread looks again what is due

    def close(self) -> None:
        """Close all open connections to the broker, and remove the broker with its messages. Idempotent."""
        made, self._made = self._made, []
        try:
            with contextlib.ExitStack() as closing:
                for each in made:
                    closing.callback(each.close)
        finally:
            self._module.discard(self._name)

    def _watch(self) -> None:
        """Record every connection to this broker, also those that the application opens and does not close.

        Such a connection would reconnect after the end of the test and so create the broker again.
        """
        initialise = Connection.__init__

        def remember(connection: Connection, target: Target, backend: Backend) -> None:
            initialise(connection, target, backend)
            if getattr(target.backend_options, "broker", None) == self._name:
                self._made.append(connection)

        self._monkeypatch.setattr(Connection, "__init__", remember)

    @contextlib.contextmanager
    def _session(self) -> Iterator[jmsbridge.Session]:
        with jmsbridge.connect(self.url) as connection:
            connection.start()
            yield connection.create_session()

    def __repr__(self) -> str:
        return f"<JMSBroker {self.url}>"


def _where(destination: Queue | Topic | str) -> Queue | Topic:
    return Queue(destination) if isinstance(destination, str) else destination


@pytest.fixture
def jms_broker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[JMSBroker]:
    """An empty JMS broker for this test only; see ``JMSBroker``."""
    broker = JMSBroker(f"test-{os.getpid()}-{next(_numbers)}", tmp_path, monkeypatch)
    monkeypatch.setenv("JMSBRIDGE_URL", broker.url)
    try:
        yield broker
    finally:
        broker.close()

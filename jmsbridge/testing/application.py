"""The pytest fixture ``jms_app``: runs an application's listeners in the test's process, on the broker of the test.

Enable it by ``pytest_plugins = ["jmsbridge.testing.broker", "jmsbridge.testing.application"]`` in a ``conftest.py``.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from typing import Any, NamedTuple

import pytest

import jmsbridge
from jmsbridge import Destination, Message, Queue, Topic
from jmsbridge.app import App
from jmsbridge.app.listeners import Listener, where
from jmsbridge.config import Options
from jmsbridge.spi import OtherVersion, registry
from jmsbridge.testing.broker import SCHEME, JMSBroker

__all__ = ["Call", "JMSApp", "jms_app"]

_LOOK = 0.01  # seconds between two looks whether it is quiet


class Call(NamedTuple):
    """One call of a listener: its name, what it got, and what it raised, or None."""

    listener: str
    message: Message
    error: BaseException | None


class JMSApp:
    """A running application, made by the fixture ``jms_app``. ``calls`` are the calls of its listeners so far."""

    def __init__(self, app: App, broker: JMSBroker, topics: Iterable[Topic | str]) -> None:
        self.app = app
        self.broker = broker
        self.calls: list[Call] = []
        self._topics: dict[Destination, list[Message]] = {}
        self._context = broker.context()
        for topic in topics:
            self._watch(where(topic))
        app.observe(self._called)
        app._start(broker.url, _without_options_of_others(app._connect_options()))

    def _called(self, listener: Listener, message: Message, error: BaseException | None) -> None:
        self.calls.append(Call(listener.name, message, error))

    def _watch(self, topic: Destination) -> None:
        self._topics[topic] = []
        listening = self._context.create_context(jmsbridge.AUTO_ACKNOWLEDGE)
        listening.create_consumer(topic).message_listener = self._topics[topic].append

    # ---- sending

    def send(self, destination: Destination | str, *values: Any, **properties: Any) -> None:
        """Send objects, each as the application's converter writes it, with these properties."""
        for value in values:
            producer = self._context.create_producer()
            for name, each in properties.items():
                producer.set_property(name, each)
            producer.send(where(destination), self.app.converter.to_message(self._context, value))

    def request(self, destination: Destination | str, value: Any, *, timeout: float = 5) -> Any:
        """Send an object with a JMSReplyTo, and return the object of the reply; TimeoutError without a reply."""
        replies = self._context.create_temporary_queue()
        message = self.app.converter.to_message(self._context, value)
        message.jms_reply_to = replies
        self._context.create_producer().send(where(destination), message)
        with self._context.create_context(jmsbridge.AUTO_ACKNOWLEDGE) as other:
            reply = other.create_consumer(replies).receive(timeout=timeout)
        if reply is None:
            raise TimeoutError(f"no reply within {timeout:g} s; {self._words()}")
        return self.app.converter.from_message(reply)

    # ---- waiting

    def wait_until_quiet(self, *, timeout: float = 10, skip: float = 0) -> None:
        """Wait until no listener is running and none can be called now; TimeoutError says what it waits for.

        Messages that are to be redelivered or delivered later may be left: with ``skip``, up to so many seconds are
        skipped, in growing steps, until none is left.
        """
        deadline, step, left = time.monotonic() + timeout, 1.0, skip
        while True:
            self._wait_quiet(deadline, timeout)
            if left <= 0 or not any(self._depths().values()):
                return
            step = min(step, left)
            self.advance(step)
            left, step = left - step, step * 2

    def advance(self, seconds: float) -> None:
        """Let this much time pass at once: ``JMSBroker.advance``."""
        self.broker.advance(seconds)

    def _wait_quiet(self, deadline: float, timeout: float) -> None:
        before = None
        while True:
            # A message may be on its way from one destination to another: two looks between which nothing was handled.
            now = None if self.app.is_busy or self._has_deliverable() or self.app.is_busy else len(self.calls)
            if now is not None and now == before:
                return
            before = now
            if time.monotonic() > deadline:
                raise TimeoutError(f"the application is not quiet after {timeout:g} s: {self._words()}")
            time.sleep(_LOOK)  # sleep: there is no event for "nothing will happen"

    def _has_deliverable(self) -> bool:
        queues = {(each.destination, each.selector) for each in self.app.listeners}
        for queue, selector in queues:
            if isinstance(queue, Queue):
                with self._context.create_browser(queue, selector) as browser:
                    if next(iter(browser), None) is not None:
                        return True
        return False

    def _depths(self) -> dict[str, int]:
        return {each.destination: each.depth or 0 for each in self.app.status(depths=True).listeners}

    def _words(self) -> str:
        told = [
            f"{each.name}: {each.running} running, {each.handled} handled, {each.depth} left in {each.destination}"
            for each in self.app.status(depths=True).listeners
        ]
        failed = [call for call in self.calls if call.error is not None]
        told += [f"the last error, of {call.listener}: {call.error!r}" for call in failed[-1:]]
        return "; ".join(told)

    # ---- what was sent where

    def messages(self, destination: Destination | str) -> list[Message]:
        """The messages that wait in a queue, or that were sent to a topic which was given to ``jms_app``."""
        wanted = where(destination)
        if isinstance(wanted, Queue):
            return self.broker.messages(wanted)
        if wanted not in self._topics:
            raise LookupError(f"{wanted} is not watched: write jms_app(app, topics=[{str(wanted.address)!r}])")
        return list(self._topics[wanted])

    def sent(self, destination: Destination | str) -> list[Any]:
        """The same as objects, as the application's converter reads them."""
        return [self.app.converter.from_message(message) for message in self.messages(destination)]

    def queues(self) -> dict[str, list[Message]]:
        """Every queue in which messages can be received now, with these messages."""
        with jmsbridge.connect(self.broker.url) as connection:
            found = [each.destination for each in connection.admin.list() if each.subscription is None and each.depth]
        there = {str(each): self.broker.messages(each) for each in found if isinstance(each, Queue)}
        return {name: messages for name, messages in there.items() if messages}

    def close(self) -> None:
        """Stop the application."""
        self.app.stop()
        self.app.observe(None)


def _without_options_of_others(options: dict[str, Any]) -> dict[str, Any]:
    """Without those that only the broker of production has; one that none has is left, and refused as usual."""
    here, others = {*Options.__struct_fields__, *_fields(SCHEME)}, set[str]()
    if not here.issuperset(options):
        others.update(*map(_fields, registry.names()))
    return {name: value for name, value in options.items() if name in here or name not in others}


def _fields(scheme: str) -> Iterable[str]:
    try:
        return registry.load(scheme).options.__struct_fields__
    except (ImportError, OtherVersion):
        return ()


@pytest.fixture
def jms_app(jms_broker: JMSBroker) -> Iterator[Callable[..., JMSApp]]:
    """``jms_app(app)`` starts an application on the broker of the test, and returns a ``JMSApp``; see there.

    It is stopped when the test ends. ``topics`` are those whose messages the test wants to see.
    """
    with ExitStack() as running:

        def start(app: App, *, topics: Iterable[Topic | str] = ()) -> JMSApp:
            made = JMSApp(app, jms_broker, topics)
            running.callback(made.close)
            return made

        yield start

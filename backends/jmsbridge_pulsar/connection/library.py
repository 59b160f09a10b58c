"""The client library, used only by calls that return at once; their answers are passed to the I/O thread."""

import contextlib
import ctypes
import logging
import os
import threading
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

import _pulsar

from jmsbridge.transport.network.forking import abandoned_at_fork
from jmsbridge.transport.network.link_life import LinkLife
from jmsbridge_pulsar.connection.errors import Result, Words, result_of

__all__ = ["Answered", "Library", "Result"]

Answered = Callable[["_pulsar.Result", Any], None]
"""Gets the result and what was made or found; on the I/O thread."""

log = logging.getLogger("jmsbridge.pulsar")

_OPERATION = 30  # seconds after which the library gives a request up
_LONGER = 5  # seconds for which it waits for a connection after the relay has given that up, and says why
_ENDING = 5.0  # seconds for its threads to end; they need milliseconds
_RELEASING = 0.5  # seconds for the last of them to release our callbacks; it needs milliseconds, or never does


class Library:
    """One client of the library, which belongs to one link."""

    def __init__(self, life: LinkLife, words: Words) -> None:
        self.words = words
        """What the brokers said when they refused messages."""
        self._life = life
        self._mailbox = _Mailbox(life)
        self._client: Any = None
        self.unanswered = 0
        """How many calls have no answer yet."""

    def open(self, url: str, secret: str) -> None:
        """Make the client; it connects with the first call."""
        settings = _pulsar.ClientConfiguration()
        settings.authentication(_pulsar.AuthenticationToken.create(secret))
        settings.operation_timeout_seconds(_OPERATION)
        settings.connection_timeout(int(1000 * (self._life.endpoint.connect_timeout + _LONGER)))
        settings.stats_interval_in_seconds(0)
        settings.set_file_logger(_pulsar.LoggerLevel.Error, os.devnull)  # by default it writes to standard output
        self._client = _pulsar.Client(url, settings)
        _clients.add(self)

    def ask(self, call: Callable[..., Any], *given: Any, done: Answered) -> None:
        """Call a method that takes a callback last, which gets a result and perhaps a value, or an error or a value.

        What it makes keeps the callback, and must not be kept by it: Python finds no circles through the library.
        """
        mailbox = self._mailbox
        once = [partial(self._take, done)]

        def answered(*values: Any) -> None:  # on a thread of the library, which must do nothing else
            mailbox.post(partial(once.pop(), values))

        self.unanswered += 1
        try:
            call(*given, answered)
        except Exception as error:  # raised instead of an answer
            answered(result_of(error))

    def _take(self, done: Answered, values: tuple[Any, ...]) -> None:
        self.unanswered -= 1
        first = values[0]
        if isinstance(first, _pulsar.Error):
            done(first.error, None)
        elif isinstance(first, Result):
            done(first, values[1] if len(values) > 1 else None)
        else:
            done(Result.Ok, first)

    def partitions(self, topic: str, done: Answered) -> None:
        """Ask for the partitions of a topic."""
        self.ask(self._client.get_topic_partitions_async, topic, done=done)

    def producer(self, topic: str, settings: Any, done: Answered) -> None:
        """Make a producer."""
        self.ask(self._client.create_producer_async_v2, topic, settings, done=done)

    def consumer(self, topic: str, subscription: str, settings: Any, done: Answered) -> None:
        """Make a consumer."""
        self.ask(self._client.subscribe_async_v2, topic, subscription, settings, done=done)

    def reader(self, topic: str, start: Any, settings: Any, done: Answered) -> None:
        """Make a reader."""
        self.ask(self._client.create_reader_async_v2, topic, start, settings, done=done)

    def shut_down(self) -> None:
        """End; its threads have ended then. Its connections are closed already, so that it does not wait for brokers.

        Not by ``shutdown``, which keeps the GIL while it waits for a thread that may need the GIL to call us: the
        process then stands still for 20 seconds. Not by ``close_async``, which calls us on one more thread. ``close``
        waits without a limit, so it has a thread of its own, which is left behind if it does not return; and it returns
        while a last thread releases our callbacks. If that is still there when Python ends, it aborts the process.
        """
        client, self._client = self._client, _Gone()
        if client is not None and not isinstance(client, _Gone):
            released = threading.Event()
            last = weakref.ref(self._mailbox, lambda _: released.set())
            self._mailbox = _Mailbox(self._life)
            ending = threading.Thread(target=_close, args=(client,), name="jmsbridge-pulsar-end-io", daemon=True)
            try:
                ending.start()
            except RuntimeError:  # Python ends, or there are too many threads
                _close(client)
            else:
                ending.join(_ENDING)
                if ending.is_alive():
                    log.warning("%s: pulsar-client has not ended within %g s", self._life.endpoint, _ENDING)
            del client
            if last() is not None:
                released.wait(_RELEASING)
        _clients.discard(self)

    def abandon(self) -> None:
        """In a child process: keep the client for ever, since its threads are not there to end it."""
        if self._client is not None:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._client))


def _close(client: Any) -> None:
    with contextlib.suppress(_pulsar.PulsarException):
        client.close()


class _Mailbox:
    """What every callback that the library was given refers to, so that it is freed after the last of them."""

    def __init__(self, life: LinkLife) -> None:
        self.post = life.thread.post


class _Gone:
    """In place of a client that was shut down."""

    def __getattr__(self, name: str) -> Any:
        def refuse(*given: Any) -> None:
            given[-1](Result.AlreadyClosed)

        return refuse


_clients = abandoned_at_fork(Library)

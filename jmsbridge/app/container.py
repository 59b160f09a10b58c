"""A running application: its connection, its consumers, the thread that watches them, and how it ends."""

import logging
import threading
from collections.abc import Sequence
from typing import Any

from jmsbridge.app.converters import Converter
from jmsbridge.app.groups import Depths, Group
from jmsbridge.app.listeners import Listener
from jmsbridge.app.loop import EventLoop
from jmsbridge.app.status import Status
from jmsbridge.app.workers import Observer
from jmsbridge.config import policy_for
from jmsbridge.connection import Connection
from jmsbridge.core.runtime.threads import start_thread
from jmsbridge.destinations import Queue
from jmsbridge.errors import ConfigurationError, JMSException, UnsupportedFeature
from jmsbridge.factory import connect

__all__ = ["Container"]

log = logging.getLogger("jmsbridge.app")

_TICK = 1.0
_BLOCKED = 5.0  # seconds after which a blocked event loop is reported
_CANCELLING = 2.0  # seconds for cancelled listeners to end


class Container:
    """One life of an application, from ``start`` to ``stop``."""

    def __init__(self, listeners: Sequence[Listener], converter: Converter) -> None:
        self.converter = converter
        self.observer: Observer | None = None
        self.connection: Connection | None = None
        self.groups = tuple(Group(listener, self) for listener in listeners)
        self._loop: EventLoop | None = None
        self._making_loop = threading.Lock()
        self._letters: dict[str, Queue | None] = {}
        self._stopping = threading.Event()
        self._quiet = threading.Event()  # no listener is running, and none will be called
        self._closed = threading.Event()
        self._loop_reported = False

    # ---- what workers share

    def event_loop(self) -> EventLoop:
        """The loop of the ``async`` listeners."""
        with self._making_loop:
            if self._loop is None:  # a plain function has returned what must be awaited
                self._loop = EventLoop()
            return self._loop

    def is_in_loop(self) -> bool:
        """Whether the caller runs in that loop."""
        return self._loop is not None and self._loop.is_current()

    def dead_letter_queue(self, listener: Listener) -> Queue | None:
        """The queue of the listener's redelivery policy, or the broker's own; None if its name is not known."""
        if listener.pattern not in self._letters:
            self._letters[listener.pattern] = self._find_letters(listener)
        return self._letters[listener.pattern]

    def _find_letters(self, listener: Listener) -> Queue | None:
        assert self.connection is not None
        address = listener.destination.address
        named = policy_for(self.connection._core.options, address.name, address.topic).dead_letter_queue
        if named is not None:
            return Queue(named, literal=True)
        try:
            return self.connection.admin.dead_letters
        except UnsupportedFeature:
            return None

    # ---- begin

    def start(self, target: Any, options: dict[str, Any]) -> None:
        """Connect and begin to listen; raises what connecting and subscribing raise, with nothing left open."""
        connection = connect(target, **options)
        try:
            connection.exception_listener = self._on_problem
            self.connection = connection
            self._check(connection)
            if any(group.listener.call.is_async for group in self.groups):
                self._loop = EventLoop()
            for group in self.groups:
                group.open(connection)
                if isinstance(group.listener.destination, Queue):  # the broker is not asked for topics
                    self._look_for_circle(group.listener)
            connection.start()
            start_thread("jmsbridge-app-watch", self._watch)
        except BaseException:
            connection.close()
            self._end_loop()
            raise

    def _check(self, connection: Connection) -> None:
        for group in self.groups:
            listener = group.listener
            is_owned = listener.subscription is not None and listener.durable and not listener.shared
            if is_owned and connection.client_id is None:
                raise ConfigurationError(
                    f"listener {listener.name}: a durable subscription that is not shared belongs to a client id: "
                    "set the option client_id"
                )

    def _look_for_circle(self, listener: Listener) -> None:
        try:
            is_circle = self.dead_letter_queue(listener) == listener.destination
        except JMSException as error:
            log.debug("no dead-letter queue of %s: %s", listener.pattern, error)
            return
        if is_circle:
            log.warning(
                "listener %s is on its own dead-letter queue, %s: a message on which it fails is redelivered without "
                "end; name another one in redelivery={'dead_letter_queue': …}",
                listener.name,
                listener.destination,
            )

    def _on_problem(self, error: JMSException) -> None:
        log.warning("a problem of the connection: %s", error)

    # ---- watching

    def _watch(self) -> None:
        while not self._stopping.wait(_TICK):
            try:
                self._look()
            except Exception:
                log.exception("the application cannot be watched")

    def _look(self) -> None:
        connection = self.connection
        assert connection is not None
        if connection.state == "connected":
            depths = Depths(connection)
            for group in self.groups:
                group.look(connection, depths)
        if self._loop is not None:
            blocked = self._loop.blocked_for() > _BLOCKED
            if blocked and not self._loop_reported:
                log.warning("a listener blocks the event loop:\n%s", self._loop.place())
            self._loop_reported = blocked

    def status(self, *, depths: bool = False) -> Status:
        """How it is doing; with ``depths`` it asks the broker, otherwise it shows the last answer."""
        connection, loop = self.connection, self._loop
        if depths and connection is not None:
            asked = Depths(connection)
            for group in self.groups:
                group.depth = asked.depth(group.listener)
        state: Any = "connecting" if connection is None else connection.state
        blocked = 0.0 if loop is None else loop.blocked_for()
        return Status(
            state=state,
            listeners=[group.status() for group in self.groups],
            loop_blocked=round(blocked, 1) if blocked > _BLOCKED else 0.0,
        )

    # ---- end

    def is_in_listener(self) -> bool:
        """Whether the caller is a listener of this application."""
        return self.is_in_loop() or any(worker.is_current for group in self.groups for worker in group.workers)

    def stop(self, timeout: float) -> tuple[str, ...]:
        """End in order; returns the names of the listeners that had not ended in time.

        Delivery pauses at once; running listeners have ``timeout`` seconds. Then ``async`` ones are cancelled, and what
        the other consumers had fetched goes back to the broker. The messages of listeners that still run go back when
        they return, or with the end of the process.
        """
        self._stopping.set()
        start_thread("jmsbridge-app-stop", self._end)
        late: tuple[str, ...] = ()
        if not self._quiet.wait(timeout):
            late = tuple(group.listener.name for group in self.groups for one in group.workers if one.began is not None)
            log.warning("not ended within %g s: %s", timeout, ", ".join(late) or "the connection")
            if self._loop is not None:
                self._loop.cancel()
            self._quiet.wait(_CANCELLING)
        if self._quiet.is_set():
            self._closed.wait(self._patience())
            return late
        start_thread("jmsbridge-app-release", self._release)
        self._closed.wait(min(_CANCELLING, self._patience()))
        return late or ("the connection",)

    def _patience(self) -> float:
        assert self.connection is not None
        return float(self.connection._core.options.close_timeout) + _CANCELLING

    def _end(self) -> None:
        """Pause, and wait for the listeners that are running; then close. On a thread of its own: it may take long."""
        assert self.connection is not None
        try:
            self.connection.stop()
            self._quiet.set()
            self.connection.close()
        except JMSException as error:
            log.warning("closing the connection: %s", error)
        finally:
            self._quiet.set()
            self._end_loop()
            self._closed.set()

    def _release(self) -> None:
        """Give the broker what the consumers without a running listener have fetched."""
        for group in self.groups:
            for worker in group.workers:
                if worker.began is None:
                    try:
                        worker.close()
                    except JMSException as error:
                        log.warning("closing a consumer of listener %s: %s", group.listener.name, error)

    def _end_loop(self) -> None:
        if self._loop is not None and not self._loop.wait_closed(_CANCELLING):
            log.warning("a listener still blocks the event loop:\n%s", self._loop.place())

    def has_failed(self) -> bool:
        """Whether the connection is lost for good."""
        return self.connection is not None and self.connection.state == "failed"

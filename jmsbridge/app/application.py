"""``App``: the functions of an application that get messages, and where the messages are."""

import logging
import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from types import TracebackType
from typing import Any, Self, TypeVar

from jmsbridge.app import running
from jmsbridge.app.container import Container
from jmsbridge.app.converters import Converter, converter_of
from jmsbridge.app.listeners import AnyErrorHandler, AnyPolicy, Listener, concurrency_of, mode_of, where
from jmsbridge.app.parameters import call_of
from jmsbridge.app.status import Status
from jmsbridge.app.workers import Observer
from jmsbridge.core import arguments
from jmsbridge.destinations import Destination
from jmsbridge.errors import ConfigurationError, IllegalStateException

__all__ = ["App"]

log = logging.getLogger("jmsbridge.app")

F = TypeVar("F")


class App:
    """Functions that get messages, each with its consumers and sessions, on one connection. Thread-safe.

    ``target`` and ``options`` are those of ``jmsbridge.connect``, and used at ``start``: nothing is connected or
    started before. ``stop_timeout`` is how long running listeners have to end. A context manager, which starts and
    stops it.
    """

    def __init__(
        self,
        target: str | Sequence[str] | None = None,
        *,
        converter: Converter | None = None,
        stop_timeout: float | timedelta = 30.0,
        **options: Any,
    ) -> None:
        self._target = target
        self._converter = converter_of(converter)
        self._options = options
        self._listeners: list[Listener] = []
        self._lock = threading.Lock()  # guards _container
        self._container: Container | None = None
        self._observer: Observer | None = None
        self._requests: running.StopRequests = queue.SimpleQueue()
        self.has_asked_to_stop = False
        """Whether ``request_stop`` was called."""
        self.stop_timeout = arguments.seconds(stop_timeout)

    def listener(  # size: one parameter per setting
        self,
        destination: Destination | str,
        *,
        name: str | None = None,
        concurrency: int | tuple[int, int] = 1,
        selector: str | None = None,
        subscription: str | None = None,
        durable: bool = True,
        shared: bool = True,
        transacted: bool | None = None,
        acknowledge: int | None = None,
        prefetch: int | None = None,
        send_to: Destination | str | None = None,
        redelivery: AnyPolicy | None = None,
        on_error: AnyErrorHandler | None = None,
        deadline: float | timedelta | None = None,
    ) -> Callable[[F], F]:
        """Decorate a plain or ``async`` function that gets the messages of a destination; the function stays as it is.

        ``destination`` and ``send_to`` may be text: ``"orders"`` is a queue, ``"topic:news"`` a topic, of which
        ``subscription`` names a subscription (``durable`` and ``shared`` unless said otherwise). ``concurrency`` is the
        number of consumers, or ``(from, to)`` by backlog. Without ``transacted`` and ``acknowledge``, a function that
        may send (it returns something or takes the session) has a transaction for each message, any other acknowledges
        when it returns. The result goes to the message's JMSReplyTo, else to ``send_to``. ``redelivery`` is the policy
        of this destination, ``on_error(error, message)`` is called when the function raises and may return a
        ``Decision``. A call that takes longer than ``deadline`` is reported as stuck. ConfigurationError if the
        settings or the function's parameters do not fit.
        """
        if callable(destination):
            raise ConfigurationError("a listener needs a destination: write @app.listener('orders')")
        source, target = where(destination), None if send_to is None else where(send_to)

        def add(function: F) -> F:
            if self._container is not None:
                raise IllegalStateException("the application is running: define all listeners before its start")
            called = name or str(getattr(function, "__qualname__", type(function).__qualname__))
            call = call_of(function, self._converter, called)
            least, most = concurrency_of(concurrency, called)
            made = Listener(
                name=called,
                call=call,
                destination=source,
                mode=mode_of(call, transacted, acknowledge, called),
                least=least,
                most=most,
                selector=selector,
                subscription=subscription,
                durable=durable,
                shared=shared,
                # Consumers that are added later get nothing of what the first has fetched.
                prefetch=1 if prefetch is None and most > least else prefetch,
                send_to=target,
                redelivery=redelivery,
                on_error=on_error,
                deadline=None if deadline is None else arguments.seconds(deadline),
            )
            made.check()
            self._listeners.append(made)
            return function

        return add

    @property
    def listeners(self) -> tuple[Listener, ...]:
        """All listeners, in the order of their definition."""
        return tuple(self._listeners)

    @property
    def converter(self) -> Converter:
        """What turns messages into objects and objects into messages."""
        return self._converter

    def observe(self, observer: Observer | None) -> None:
        """Call this after each call of a listener, with listener, message and error or None; for tests.

        It is called on the listener's thread, before the message is known to be settled; takes effect at ``start``.
        """
        self._observer = observer

    @property
    def is_busy(self) -> bool:
        """Whether a listener is running, or will be called with a message that is already here."""
        container = self._container
        return container is not None and any(one.has_work for group in container.groups for one in group.workers)

    # ---- life

    @property
    def is_connecting(self) -> bool:
        """Whether it is being started, and has no connection yet."""
        container = self._container
        return container is not None and container.connection is None

    def start(self, target: str | Sequence[str] | None = None, **options: Any) -> None:
        """Connect, and begin to call the listeners; returns when all consumers exist.

        ``target`` and ``options`` go before the application's own. Raises what ``jmsbridge.connect`` and the
        creation of consumers raise, and then nothing is open. IllegalState if it is running.
        """
        self._start(self._target if target is None else target, {**self._connect_options(), **options})

    def _start(self, target: str | Sequence[str] | None, options: dict[str, Any]) -> None:
        if not self._listeners:
            raise ConfigurationError("the application has no listeners: decorate functions with @app.listener(…)")
        container = Container(self._listeners, self._converter)
        container.observer = self._observer
        with self._lock:
            if self._container is not None:
                raise IllegalStateException("the application is running")
            self._container = container
        try:
            container.start(target, options)
        except BaseException:
            self._forget(container)
            raise
        log.info("listening: %s", ", ".join(each.name for each in self._listeners))

    def _connect_options(self) -> dict[str, Any]:
        policies = self._options.get("redelivery") or {}
        if not isinstance(policies, Mapping):
            return self._options  # connecting says what it must be
        own: dict[str, Any] = {}
        for each in self._listeners:
            if each.redelivery is None:
                continue
            if own.setdefault(each.pattern, each.redelivery) != each.redelivery:
                raise ConfigurationError(f"two listeners of {each.pattern} have different redelivery policies")
        return {**self._options, "redelivery": {**policies, **own}} if own else self._options

    def stop(self, timeout: float | timedelta | None = None) -> tuple[str, ...]:
        """Stop in order: no further calls, running listeners end, the rest goes back to the broker.

        Waits at most ``timeout`` (``stop_timeout``) seconds for running listeners; ``async`` ones are then cancelled.
        Returns the names of those that had not ended: their messages are delivered again. IllegalState from a listener,
        which may call ``request_stop``. No effect if it is not running.
        """
        container = self._container
        if container is None or container.connection is None:
            return ()
        if container.is_in_listener():
            raise IllegalStateException("stop would wait for its own listener; call request_stop there")
        late = container.stop(self.stop_timeout if timeout is None else arguments.seconds(timeout))
        self._forget(container)
        return late

    def _forget(self, container: Container) -> None:
        """It has ended; another thread may have begun the next one already."""
        with self._lock:
            if self._container is container:
                self._container = None

    def request_stop(self) -> None:
        """Make ``run`` stop the application, as SIGTERM does; from any thread, listeners included."""
        self.has_asked_to_stop = True
        self._requests.put("request_stop")

    def run(self, target: str | Sequence[str] | None = None, **options: Any) -> int:
        """Start, and serve until SIGTERM, SIGINT or ``request_stop``; then stop in order. Returns the exit code.

        0: all listeners have ended; 1: the connection is lost for good, or was refused; 4: listeners had not ended in
        time, and their messages are delivered again. If the broker is away at the start, it tries again after growing
        pauses. A second signal ends the process at once, with 128 and the number of the signal; messages that were not
        settled are then delivered again, too.
        """
        if self._container is not None:
            raise IllegalStateException("the application is running")
        return running.run(self, lambda: self.start(target, **options), self._requests)

    def status(self, *, depths: bool = False) -> Status:
        """How it is doing; with ``depths`` it asks the broker how many messages wait, which may take a while.

        Without, it shows the broker's last answer.
        """
        container = self._container
        return Status(state="closed") if container is None else container.status(depths=depths)

    @property
    def close_timeout(self) -> float:
        """How long closing its connection may take; 30 s before it is connected."""
        container = self._container
        if container is None or container.connection is None:
            return 30.0
        return float(container.connection._core.options.close_timeout)

    @property
    def has_failed(self) -> bool:
        """Whether its connection is lost for good."""
        container = self._container
        return container is not None and container.has_failed()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<App with {len(self._listeners)} listeners, {self.status().state}>"

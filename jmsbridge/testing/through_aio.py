"""The compliance suite through ``jmsbridge.aio``: its synchronous cases, on objects that call it in an event loop.

``class AioHarness(ThroughAio, MyHarness)`` is a harness whose connections come from ``aio.connect``. Each call of a
case becomes a task of one event loop, on a thread of its own; the case's thread waits for it. Listeners run on threads,
as a case expects, while the loop awaits them. ``why_not`` says which cases do not apply, and why.
"""

import asyncio
import contextvars
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from inspect import isawaitable
from typing import Any, cast

from jmsbridge import Connection, Message, aio
from jmsbridge.core import arguments
from jmsbridge.listeners import as_completion, as_function
from jmsbridge.sending import own_message
from jmsbridge.testing.harness import Harness

__all__ = ["INDIFFERENT", "ThroughAio", "why_not"]

INDIFFERENT = ("messages", "selectors")
"""The subjects that say little about tasks."""

_LISTENERS = "no completion listeners: a send is awaited instead, on its message, which stays the task's own"
_HANDLER = "no send_acknowledgement_handler: an awaited send is its own acknowledgement"
_DOMAIN = "the classes and methods of JMS 1.x are not offered"
_OTHER = "administration, positions and facilities of application servers are not offered"
_OTHER_WAY = "does not connect by the harness"
_SUBJECTS = {
    "contract": _OTHER_WAY,
    "connecting.domain": _OTHER_WAY,
    "closing.closing_domain": _OTHER_WAY,
    "sending.completions": _LISTENERS,
    "sending.completion_threads": _LISTENERS,
    "closing.closing_completions": _LISTENERS,
    "receiving.positions": _OTHER,
}
_CASES = {
    "test_closed_parent_closes_every_call[Session-connection]": _DOMAIN,
    "test_close_inside_a_completion_listener_does_not_bind_other_threads": _LISTENERS,
    "test_dur_needs_a_client_id[subscriber": _DOMAIN,
    "test_dur_subscriber_and_consumer_are_one_space": _DOMAIN,
    "test_selerr_missing_destination_comes_first": _DOMAIN,
    "test_selerr_checked_at_creation[durable-subscriber": _DOMAIN,
    "test_closed_object_refuses[Connection.admin": _OTHER,
    "test_closed_object_refuses[Connection.positions": _OTHER,
    "test_closed_object_refuses[Connection.create_": _OTHER,
    "test_closed_object_refuses[Session.message_listener": _OTHER,
    "test_closed_object_refuses[Session.run": _OTHER,
    "test_closed_object_refuses[Session.send_acknowledgement_handler": _HANDLER,
    "test_closed_object_refuses[Session.create_durable_subscriber": _DOMAIN,
    "test_modes_send_acknowledgement_handler": _HANDLER,
    "test_modes_confirmation_window_counts_bytes": _LISTENERS,
    "test_order_of_futures": _LISTENERS,
}


def why_not(subject: str, case: str) -> str | None:
    """Why this case does not apply, by its module's and its own name; None if it does."""
    by_subject = (reason for name, reason in _SUBJECTS.items() if f".suite.{name}" in subject)
    return next(by_subject, None) or next((reason for name, reason in _CASES.items() if case.startswith(name)), None)


class ThroughAio(Harness):
    """A mixin for a harness: ``connect`` gives connections of ``jmsbridge.aio`` behind synchronous methods."""

    connected = 0
    """How many connections were made."""

    def connect(self, *, start: bool = True, **options: Any) -> Connection:
        """A connection with these facade options, started unless ``start`` is false."""
        self.connected += 1
        made = _Connection(_on_loop(lambda: aio.connect(self.url, **self._options(options))))
        self.closing(made.close)
        if start:
            made.start()
        return cast(Connection, made)


@cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="jmsbridge-testing-loop", daemon=True).start()
    return loop


def _on_loop(make: Callable[[], Any]) -> Any:
    """What ``make()`` gives in the loop, awaited if it can be; in the context of the caller."""

    async def run() -> Any:
        made = make()
        return await made if isawaitable(made) else made

    return asyncio.run_coroutine_threadsafe(run(), _loop()).result()


class _Facade:
    """An object of ``jmsbridge.aio``: its attributes are used in the loop, and what it makes is wrapped likewise."""

    _own = frozenset({"_inner"})

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        _facades[inner] = self
        if isinstance(self, _Session):
            _sessions[inner._scope] = self

    def __getattr__(self, name: str) -> Any:
        value = _on_loop(lambda: _Value(getattr(self._inner, name))).value
        if callable(value):
            return lambda *args, **named: _wrapped(_on_loop(lambda: value(*args, **named)))
        return _wrapped(value)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self._own:
            object.__setattr__(self, name, value)
        else:
            _on_loop(lambda: setattr(self._inner, name, value))

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return repr(self._inner)


class _Value:
    """Keeps an awaitable from being awaited."""

    def __init__(self, value: Any) -> None:
        self.value = value


class _Connection(_Facade):
    _own = frozenset({"_inner", "_listener", "_threads"})

    def __init__(self, inner: aio.Connection) -> None:
        super().__init__(inner)
        self._listener: Any = None
        self._threads = ThreadPoolExecutor(1, "jmsbridge-testing-exceptions")

    @property
    def client_id(self) -> str | None:
        return cast(aio.Connection, self._inner).client_id

    @client_id.setter
    def client_id(self, client_id: str) -> None:
        _on_loop(lambda: self._inner.set_client_id(client_id))

    @property
    def capabilities(self) -> Any:
        return _on_loop(self._inner.capabilities)

    @property
    def exception_listener(self) -> Any:
        _on_loop(lambda: self._inner.exception_listener)
        return self._listener

    @exception_listener.setter
    def exception_listener(self, listener: Any) -> None:
        call = as_function(listener, "on_exception", "an exception listener")
        threads = self._threads
        tell = None if call is None else lambda error: threads.submit(call, error)
        _on_loop(lambda: setattr(self._inner, "exception_listener", tell))
        self._listener = listener

    def __setattr__(self, name: str, value: Any) -> None:
        _set(self, name, value)


class _Session(_Facade):
    _own = frozenset({"_inner", "_deliver", "_complete"})

    def __init__(self, inner: aio.Session) -> None:
        super().__init__(inner)
        self._deliver = ThreadPoolExecutor(1, f"jmsbridge-{inner._core.name}-deliver")
        self._complete = ThreadPoolExecutor(1, f"jmsbridge-{inner._core.name}-complete")
        acknowledge = inner._scope.acknowledge
        inner._core.acknowledger = lambda delivery: _on_loop(lambda: acknowledge(delivery))

    def create_temporary_queue(self) -> Any:
        return self._deleted(self._inner.create_temporary_queue)

    def create_temporary_topic(self) -> Any:
        return self._deleted(self._inner.create_temporary_topic)

    def _deleted(self, make: Callable[[], Any]) -> Any:
        made = _on_loop(make)
        delete = made._delete
        made._delete = lambda: _on_loop(delete)
        return made

    def commit(self) -> None:
        self._wait_callbacks(self._inner.commit)

    def rollback(self) -> None:
        self._wait_callbacks(self._inner.rollback)

    def close(self) -> None:
        self._wait_callbacks(self._inner.close)

    def _wait_callbacks(self, call: Callable[[], Any]) -> None:
        try:
            _on_loop(call)
        finally:
            if not threading.current_thread().name.startswith("jmsbridge-"):
                self._complete.submit(lambda: None).result()


class _Producer(_Facade):
    def close(self) -> None:
        _session_of(self._inner)._wait_callbacks(self._inner.close)

    def send(self, *what: Any, completion_listener: Any = None, **options: Any) -> None:
        if completion_listener is None:
            _on_loop(lambda: self._inner.send(*what, **options))
            return
        listener = as_completion(completion_listener)
        threads = _session_of(self._inner)._complete
        message, sent = self._start(what, options)
        sent.add_done_callback(lambda done: threads.submit(_complete, listener, message, done))

    def send_async(self, *what: Any, **options: Any) -> "Future[Any]":
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()
        message, sent = self._start(what, options)
        sent.add_done_callback(lambda done: _pass_on(future, message, done))
        return future

    def _start(self, what: tuple[Any, ...], options: dict[str, Any]) -> tuple[Any, "Future[Any]"]:
        """Begin a send; raises what it raises at once."""
        message = what[-1]
        if isinstance(message, str | bytes | dict):
            message = own_message(message, objects=False)[0]
            what = (*what[:-1], message)

        async def start() -> _Value:
            task = asyncio.ensure_future(self._inner.send(*what, **options))
            await asyncio.sleep(0)
            if task.done() and task.exception() is not None:
                await task
            return _Value(task)

        task = _on_loop(start).value
        sent: Future[Any] = Future()
        _on_loop(lambda: task.add_done_callback(lambda _: _pass_on(sent, message, task)))
        return message, sent


class _Consumer(_Facade):
    _own = frozenset({"_inner", "_listener"})

    def __init__(self, inner: aio.MessageConsumer) -> None:
        super().__init__(inner)
        self._listener: Any = None

    def receive(self, *wrong: Any, timeout: Any = None) -> Any:
        if wrong:
            arguments.refuse_positional_timeout("receive({})", wrong)
        seconds = None if timeout is None else arguments.seconds(timeout)
        if seconds == 0:
            return self.receive_no_wait()

        async def receive() -> Any:
            try:
                async with asyncio.timeout(seconds):
                    return await self._inner.receive()
            except TimeoutError:
                return None

        return _on_loop(receive)

    def __iter__(self) -> Iterator[Any]:
        while not self._inner._sync._closed and (message := self.receive()) is not None:
            yield message

    @property
    def message_listener(self) -> Any:
        _on_loop(lambda: self._inner.message_listener)
        return self._listener

    @message_listener.setter
    def message_listener(self, listener: Any) -> None:
        call = as_function(listener, "on_message", "a message listener")
        threads = _session_of(self._inner)._deliver

        async def on_thread(message: Any) -> None:
            assert call is not None
            await _loop().run_in_executor(threads, contextvars.copy_context().run, call, message)

        _on_loop(lambda: setattr(self._inner, "message_listener", None if call is None else on_thread))
        self._listener = listener

    def __setattr__(self, name: str, value: Any) -> None:
        _set(self, name, value)


class _Browser(_Facade):
    @property
    def enumeration(self) -> Iterator[Any]:
        shown = _on_loop(lambda: _Value(self._inner.enumeration)).value

        def iterate() -> Iterator[Any]:
            while True:
                try:
                    yield _on_loop(shown.__anext__)
                except StopAsyncIteration:
                    return

        return iterate()

    def __iter__(self) -> Iterator[Any]:
        return self.enumeration


_facades: "weakref.WeakKeyDictionary[Any, _Facade]" = weakref.WeakKeyDictionary()
_sessions: "weakref.WeakKeyDictionary[Any, _Session]" = weakref.WeakKeyDictionary()
"""By what a session shares with what it creates."""
_KINDS: dict[type, type[_Facade]] = {
    aio.Connection: _Connection,
    aio.Session: _Session,
    aio.MessageProducer: _Producer,
    aio.MessageConsumer: _Consumer,
    aio.QueueBrowser: _Browser,
}


def _wrapped(value: Any) -> Any:
    kind = _KINDS.get(type(value))
    if kind is None:
        return value
    return _facades[value] if value in _facades else kind(value)


def _session_of(inner: Any) -> _Session:
    return _sessions[inner._scope]


def _set(facade: _Facade, name: str, value: Any) -> None:
    """Set an attribute: one of the facade's own, or one in the loop."""
    if name in facade._own or isinstance(vars(type(facade)).get(name), property):
        object.__setattr__(facade, name, value)
    else:
        _Facade.__setattr__(facade, name, value)


def _pass_on(future: "Future[Any]", result: Any, done: Any) -> None:
    error = done.exception()
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)


def _complete(listener: Any, message: Any, done: "Future[Any]") -> None:
    error = done.exception()
    if error is None:
        if isinstance(message, Message):
            message._reset_for_reading()
        listener.on_completion(message)
    else:
        listener.on_exception(message, error)

"""Listeners may be callables or objects with the methods that Jakarta Messaging names."""

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

__all__ = ["as_completion", "as_exception", "as_message", "future_completion"]


class _CallableCompletion:
    """A callable ``listener(message, error)``; ``error`` is None when the send completed."""

    __slots__ = ("listener",)

    def __init__(self, listener: Callable[[Any, Any], None]) -> None:
        self.listener = listener

    def on_completion(self, message: Any) -> None:
        self.listener(message, None)

    def on_exception(self, message: Any, error: Any) -> None:
        self.listener(message, error)


class _FutureCompletion:
    """Completes a future on the completion lane."""

    __slots__ = ("future",)

    def __init__(self, future: "Future[Any]") -> None:
        self.future = future

    def on_completion(self, message: Any) -> None:
        self.future.set_result(message)

    def on_exception(self, message: Any, error: Any) -> None:
        self.future.set_exception(error)


def as_completion(listener: Any) -> Any:
    """A completion listener object for what the application gave; ValueError for None (rule AS-7)."""
    if hasattr(listener, "on_completion") and hasattr(listener, "on_exception"):
        return listener
    if listener is None:
        raise ValueError("completion_listener is None; leave it out for a synchronous send")
    if callable(listener):
        return _CallableCompletion(listener)
    raise ValueError(f"{listener!r} is no completion listener: on_completion and on_exception, or a callable")


def future_completion(future: "Future[Any]") -> Any:
    """The listener behind ``send_async``; what is on its way cannot be cancelled."""
    future.set_running_or_notify_cancel()
    return _FutureCompletion(future)


def as_message(listener: Any) -> Callable[[Any], None] | None:
    """The call that delivers a message to a MessageListener; None for none."""
    if listener is None:
        return None
    call: Callable[[Any], None] | None = getattr(listener, "on_message", listener)
    if not callable(call):
        raise ValueError(f"{listener!r} is no message listener: on_message, or a callable")
    return call


def as_exception(listener: Any) -> Callable[[Any], None] | None:
    """The call that tells an ExceptionListener; None for none."""
    if listener is None:
        return None
    call: Callable[[Any], None] | None = getattr(listener, "on_exception", listener)
    if not callable(call):
        raise ValueError(f"{listener!r} is no exception listener: on_exception, or a callable")
    return call

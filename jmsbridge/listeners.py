"""Listeners may be callables or objects with the methods that Jakarta Messaging names."""

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Protocol, TypeAlias

from jmsbridge.errors import JMSException, JMSRuntimeException
from jmsbridge.message import Message

__all__ = [
    "EXCEPTION_LISTENER_NAMES",
    "MESSAGE_LISTENER_NAMES",
    "AnyCompletionListener",
    "AnyExceptionListener",
    "AnyMessageListener",
    "AnySendAcknowledgementHandler",
    "AnySimplifiedCompletionListener",
    "CompletionListener",
    "ExceptionListener",
    "MessageListener",
    "SendAcknowledgementHandler",
    "SimplifiedCompletionListener",
    "as_completion",
    "as_function",
    "future_completion",
]


class MessageListener(Protocol):
    """Gets the messages of a consumer (section 8.7). The return values of listeners are ignored."""

    def on_message(self, message: Message, /) -> object:
        """One message."""


class ExceptionListener(Protocol):
    """Is called with the problems of a connection (section 6.1.6)."""

    def on_exception(self, error: JMSException, /) -> object:
        """One problem."""


class CompletionListener(Protocol):
    """Is called with the result of an asynchronous send (section 7.3)."""

    def on_completion(self, message: Message, /) -> object:
        """The broker has the message."""

    def on_exception(self, message: Message, error: JMSException, /) -> object:
        """The send failed, or its outcome is unknown."""


class SimplifiedCompletionListener(Protocol):
    """The same in the simplified API, whose errors are unchecked."""

    def on_completion(self, message: Message, /) -> object:
        """The broker has the message."""

    def on_exception(self, message: Message, error: JMSRuntimeException, /) -> object:
        """The send failed, or its outcome is unknown."""


class SendAcknowledgementHandler(Protocol):
    """Is called with each message that the broker has confirmed."""

    def send_acknowledged(self, message: Message, /) -> object:
        """The broker has the message."""


AnyMessageListener: TypeAlias = MessageListener | Callable[[Message], object]
AnyExceptionListener: TypeAlias = ExceptionListener | Callable[[JMSException], object]
AnyCompletionListener: TypeAlias = CompletionListener | Callable[[Message, JMSException | None], object]
AnySimplifiedCompletionListener: TypeAlias = (
    SimplifiedCompletionListener | Callable[[Message, JMSRuntimeException | None], object]
)
AnySendAcknowledgementHandler: TypeAlias = SendAcknowledgementHandler | Callable[[Message], object]

MESSAGE_LISTENER_NAMES = dict.fromkeys(
    ("on_message", "onMessage", "listener", "callback"), "write message_listener = …"
)
"""Wrong names for ``message_listener``, and the advice for each."""
EXCEPTION_LISTENER_NAMES = dict.fromkeys(("on_exception", "onException", "on_error"), "write exception_listener = …")
"""The same for ``exception_listener``."""


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
    """Completes a future, on the completion thread."""

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
    raise ValueError(
        f"{listener!r} is not a completion listener: an object with on_completion and on_exception, or a callable"
    )


def future_completion(future: "Future[Any]") -> Any:
    """The listener behind ``send_async``; its future cannot be cancelled."""
    future.set_running_or_notify_cancel()
    return _FutureCompletion(future)


def as_function(listener: Any, method: str, what: str) -> Callable[[Any], Any] | None:
    """The function to call for a listener: its ``method``, or the listener itself; None for None."""
    call: Callable[[Any], Any] | None = getattr(listener, method, listener)
    if call is not None and not callable(call):
        raise ValueError(f"{listener!r} is not {what}: an object with {method}, or a callable")
    return call

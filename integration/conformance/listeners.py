"""Java's listeners for the facade to call."""

from collections.abc import Callable
from typing import Any

import jpype

from integration.conformance.threads import Held, attached
from integration.conformance.unexpected import ListenerThrew

__all__ = ["Listeners"]


class _Listener(Held):
    """Calls a Java listener on a thread that is attached to Java for the call."""

    def __init__(self, faces: Any, java: Any) -> None:
        super().__init__(java)
        self.faces = faces

    def call(self, name: str, *arguments: Callable[[], Any]) -> None:
        """Call it; its exceptions are raised without their Java object, which this thread must not keep."""
        failure = None
        with attached():
            try:
                getattr(self.java, name)(*(make() for make in arguments))
            except jpype.JException as error:
                failure = str(error.stacktrace())
        if failure is not None:
            raise ListenerThrew(failure)


class _MessageListener(_Listener):
    def on_message(self, message: Any) -> None:
        self.call("onMessage", lambda: self.faces.of(message))


class _ExceptionListener(_Listener):
    def on_exception(self, error: BaseException) -> None:
        self.call("onException", lambda: self.faces.errors.to_listener(error))


class _CompletionListener(_Listener):
    def on_completion(self, message: Any) -> None:
        self.call("onCompletion", lambda: self.faces.converter("Message").to_java(message))

    def on_exception(self, message: Any, error: BaseException) -> None:
        self.call(
            "onException",
            lambda: self.faces.converter("Message").to_java(message),
            lambda: self.faces.errors.to_java(error),
        )


class Listeners:
    """Adapters by the name of the Java interface, and back to the listener of the application."""

    def __init__(self, faces: Any) -> None:
        self.kinds = {
            kind.__name__.lstrip("_"): _Adapt(faces, kind)
            for kind in (_MessageListener, _ExceptionListener, _CompletionListener)
        }

    def to_java(self, listener: Any) -> Any:
        """The original Java listener."""
        return None if listener is None else listener.java


class _Adapt:
    def __init__(self, faces: Any, kind: type[_Listener]) -> None:
        self._faces = faces
        self._kind = kind

    def __call__(self, java: Any) -> _Listener | None:
        return None if java is None else self._kind(self._faces, java)

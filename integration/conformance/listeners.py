"""Java's listeners for the facade to call."""

from typing import Any

from integration.conformance.threads import attached

__all__ = ["Listeners"]


class _Listener:
    """Calls a Java listener, on a thread that is attached for as long as that takes."""

    def __init__(self, faces: Any, java: Any) -> None:
        self.faces = faces
        self.java = java


class _MessageListener(_Listener):
    def on_message(self, message: Any) -> None:
        with attached():
            self.java.onMessage(self.faces.of(message))


class _ExceptionListener(_Listener):
    def on_exception(self, error: BaseException) -> None:
        with attached():
            self.java.onException(self.faces.errors.to_listener(error))


class _CompletionListener(_Listener):
    def on_completion(self, message: Any) -> None:
        with attached():
            self.java.onCompletion(self.faces.converter("Message").to_java(message))

    def on_exception(self, message: Any, error: BaseException) -> None:
        with attached():
            self.java.onException(self.faces.converter("Message").to_java(message), self.faces.errors.to_java(error))


class Listeners:
    """Adapters by the name of the Java interface, and the way back to what the application gave."""

    def __init__(self, faces: Any) -> None:
        self.kinds = {
            kind.__name__.lstrip("_"): _Adapt(faces, kind)
            for kind in (_MessageListener, _ExceptionListener, _CompletionListener)
        }

    def to_java(self, listener: Any) -> Any:
        """The listener as it was set."""
        return None if listener is None else listener.java


class _Adapt:
    def __init__(self, faces: Any, kind: type[_Listener]) -> None:
        self._faces = faces
        self._kind = kind

    def __call__(self, java: Any) -> _Listener | None:
        return None if java is None else self._kind(self._faces, java)

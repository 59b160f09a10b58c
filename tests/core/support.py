"""A named embedded broker, a listener that blocks, and an interrupt for a thread."""

import ctypes
import threading
from typing import Any

import jmsbridge
import jmsbridge_embedded
from jmsbridge import Connection, JMSContext

__all__ = ["Embedded", "Gate", "interrupt"]


class Embedded:
    """A named embedded broker; its connections reconnect at once and are closed with it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.url = f"embedded:?broker={name}"
        self._opened: list[Connection | JMSContext] = []

    def _options(self, options: dict[str, Any]) -> dict[str, Any]:
        return {"reconnect_delay": 0.001, "reconnect_delay_max": 0.005, **options}

    def connect(self, **options: Any) -> Connection:
        """A started connection."""
        connection = self.stopped(**options)
        connection.start()
        return connection

    def stopped(self, **options: Any) -> Connection:
        """A connection that is not started."""
        connection = jmsbridge.connect(self.url, **self._options(options))
        self._opened.append(connection)
        return connection

    def context(self, **options: Any) -> JMSContext:
        """A context."""
        context = jmsbridge.context(self.url, **self._options(options))
        self._opened.append(context)
        return context

    def cut(self, *connections: Connection) -> None:
        """Cut all links; with connections, return when these have their next link."""
        jmsbridge_embedded.cut(self.name)
        for connection in connections:
            connection.create_session().close()

    def close(self) -> None:
        """Close every connection."""
        for one in self._opened:
            one.close()


class Gate:
    """A listener that signals that it runs, and returns when it is released."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.open = threading.Event()
        self.returned = threading.Event()

    def __call__(self, *_: Any) -> None:
        self.entered.set()
        assert self.open.wait(10)
        self.returned.set()

    def wait_entered(self) -> None:
        """Wait until the listener runs."""
        assert self.entered.wait(5)


def interrupt(thread: threading.Thread) -> None:
    """Raise KeyboardInterrupt in another thread, as Ctrl-C does in the main thread."""
    assert thread.ident is not None
    set_async = ctypes.pythonapi.PyThreadState_SetAsyncExc
    assert set_async(ctypes.c_ulong(thread.ident), ctypes.py_object(KeyboardInterrupt)) == 1

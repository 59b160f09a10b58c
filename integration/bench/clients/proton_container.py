"""proton's Container: its loop is the program, sends are pipelined in a window, receipts accepted as they come."""

import sys
import time
from typing import Any

from proton import Delivery
from proton.handlers import MessagingHandler
from proton.reactor import Container

from integration.bench.clients.protocol import WINDOW, Arguments, arguments
from integration.bench.clients.proton_message import MECHANISMS, check_message, message

__all__ = ["main"]

_CREDIT = 1000


class _Client(MessagingHandler):  # type: ignore[misc]
    """One connection; between two windows it waits for the next number, off its loop, as the others do."""

    def __init__(self, wanted: Arguments) -> None:
        super().__init__(prefetch=0, auto_accept=False)
        self._wanted = wanted
        self._left = 0  # to be sent
        self._open = 0  # sent, without an outcome; or still to be received
        self._begun = (0.0, 0.0)
        self._sender: Any = None
        self._receiver: Any = None
        self._connection: Any = None

    def on_start(self, event: Any) -> None:
        self._connection = event.container.connect(self._wanted.url, reconnect=False, allowed_mechs=MECHANISMS)

    def on_connection_opened(self, event: Any) -> None:
        if self._wanted.role == "receive":
            print("ready", flush=True)
            self._next(event)
        else:
            self._sender = event.container.create_sender(self._connection, self._wanted.queue)

    def on_link_opened(self, event: Any) -> None:
        if event.link.is_sender:
            print("ready", flush=True)
            self._next(event)

    def _next(self, event: Any) -> None:
        line = sys.stdin.readline()
        if not line:
            self._connection.close()
            return
        self._begun = time.process_time(), time.perf_counter()
        count = int(line)
        if self._sender is not None:
            self._left = count
            self._send()
        else:
            self._open = count
            name = str(time.perf_counter_ns())  # that of the last window may still be closing
            self._receiver = event.container.create_receiver(self._connection, self._wanted.queue, name=name)
            self._receiver.flow(min(_CREDIT, count))

    def _done(self, event: Any) -> None:
        cpu, started = self._begun
        print(time.perf_counter() - started, time.process_time() - cpu, flush=True)
        self._next(event)

    def _send(self) -> None:
        while self._left and self._sender.credit and self._open < WINDOW:
            self._sender.send(message())
            self._left -= 1
            self._open += 1

    def on_sendable(self, event: Any) -> None:
        self._send()

    def on_settled(self, event: Any) -> None:
        if event.delivery.remote_state != Delivery.ACCEPTED:
            raise RuntimeError(f"a message was answered with {event.delivery.remote_state}")
        self._open -= 1
        if not self._open and not self._left:
            self._done(event)
        else:
            self._send()

    def on_message(self, event: Any) -> None:
        check_message(event.message)
        self.accept(event.delivery)
        self._open -= 1
        if not self._open:
            self._receiver.close()
            self._receiver = None
            self._done(event)
        elif event.link.credit < _CREDIT // 2 and self._open > event.link.credit:
            event.link.flow(min(_CREDIT, self._open) - event.link.credit)


def main(wanted: Arguments) -> None:
    """Roles ``send`` and ``receive``."""
    Container(_Client(wanted)).run()


if __name__ == "__main__":
    main(arguments())

"""proton's BlockingSender and BlockingReceiver: one message after the other, each with its outcome."""

from typing import Any

from proton.utils import BlockingConnection

from integration.bench.clients.protocol import Arguments, arguments, serve
from integration.bench.clients.proton_message import MECHANISMS, check_message, message

__all__ = ["main"]

_CREDIT = 100
_PATIENCE = 60.0


def _send(sender: Any, count: int) -> None:
    for _ in range(count):
        sender.send(message(), timeout=_PATIENCE)


def _receive(receiver: Any, count: int) -> None:
    for _ in range(count):
        check_message(receiver.receive(timeout=_PATIENCE))
        receiver.accept()


def main(wanted: Arguments) -> None:
    """Roles ``send`` and ``receive``; a receiver holds its credit only within a window."""
    connection = BlockingConnection(wanted.url, timeout=_PATIENCE, allowed_mechs=MECHANISMS)
    if wanted.role == "send":
        sender = connection.create_sender(wanted.queue)
        serve(lambda count: _send(sender, count))
    else:

        def window(count: int) -> None:
            receiver = connection.create_receiver(wanted.queue, credit=_CREDIT)
            _receive(receiver, count)
            receiver.close()

        serve(window)
    connection.close()


if __name__ == "__main__":
    main(arguments())

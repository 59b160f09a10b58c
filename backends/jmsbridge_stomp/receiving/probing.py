"""Asks ActiveMQ Classic whether a queue has more messages for a consumer: a browser that no message matches.

The broker gives the messages of a queue to consumers before it looks at its browsers, and writes to a socket in that
order. So when the end of the browser comes, the consumer has got what was there. The broker reads 200 messages at a
time from its store: if messages came meanwhile, ask again. A receipt shows nothing, because it overtakes messages.
"""

import itertools
from collections.abc import Callable, Sequence

from jmsbridge.spi import BackendError
from jmsbridge_stomp.connection.errors import Refusal
from jmsbridge_stomp.connection.stomp_socket import StompSocket
from jmsbridge_stomp.protocol.frames import Frame

__all__ = ["probe"]

_numbers = itertools.count(1)


def probe(socket: StompSocket, destination: str, done: Callable[[Refusal | BackendError | None], None]) -> None:
    """``done`` is called once a consumer on this socket has got what was there, or with the error. I/O thread."""
    name = f"jb-probe{next(_numbers)}"

    def ended(_: Sequence[Frame]) -> None:
        del socket.subscriptions[name]
        socket.tell("UNSUBSCRIBE", [("id", name)])
        done(None)

    def answered(error: Refusal | BackendError | None) -> None:
        if error is not None and socket.subscriptions.pop(name, None) is not None:
            done(error)

    socket.subscriptions[name] = ended
    headers = [("id", name), ("destination", destination), ("ack", "auto"), ("browser", "true")]
    socket.ask("SUBSCRIBE", [*headers, ("selector", "jb_probe = 'nothing'")], answered)

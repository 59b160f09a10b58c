"""jmsbridge with all framing left to pika, as it is where pika differs inside from what the fast path knows."""

from integration.bench.clients import ours
from integration.bench.clients.protocol import Arguments, arguments
from jmsbridge_rabbitmq.connection import fast_socket

__all__ = ["main"]


def main(wanted: Arguments) -> None:
    """The roles of ``ours``."""
    fast_socket._writes_alike = lambda: False
    ours.main(wanted)


if __name__ == "__main__":
    main(arguments())

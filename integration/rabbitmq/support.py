"""One link to a real RabbitMQ, and helpers that use it."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import unquote, urlsplit

from integration.lab.broker import Broker
from jmsbridge.spi import Address, Endpoint, Interest, Subscription
from jmsbridge.testing.harness import LinkLog
from jmsbridge.testing.suite.contract.support import Answer, Box, envelope
from jmsbridge_rabbitmq import RabbitOptions, backend, tls_backend
from jmsbridge_rabbitmq.link import Link

__all__ = ["Client", "endpoint_of", "listening"]


def endpoint_of(url: str, **changes: Any) -> Endpoint:
    """The endpoint that a URL names."""
    parts = urlsplit(url)
    values: dict[str, Any] = {
        "scheme": parts.scheme,
        "host": parts.hostname,
        "port": parts.port,
        "path": unquote(parts.path),
        "user": parts.username,
        "password": parts.password,
        "connect_timeout": 10.0,
    }
    return Endpoint(**{**values, **changes})


class Client:
    """A link with its recorded events; ``url`` and ``endpoint`` options change its target."""

    def __init__(self, broker: Broker | None, *, url: str | None = None, options: Any = None, **changes: Any) -> None:
        if url is None:
            assert broker is not None
            url = broker.url()
        self.log = LinkLog()
        endpoint = endpoint_of(url, **changes)
        family = tls_backend if endpoint.scheme == "rabbitmqs" else backend
        link = family.open(endpoint, options or RabbitOptions(), self.log)
        assert isinstance(link, Link)
        self.link = link
        self.channel = link.channel(False)

    def close(self) -> None:
        """End it."""
        self.link.close()

    def ask(self, address: Address, body: Any = "text", **fields: Any) -> Answer:
        """Send, without waiting for the answer."""
        answer = Answer()
        self.channel.send(envelope(address, body, **fields), answer)
        return answer

    def send(self, address: Address, *bodies: Any, **fields: Any) -> None:
        """Send all, and wait until each is confirmed."""
        for answer in [self.ask(address, body, **fields) for body in bodies]:
            answer.wait(10.0)

    def consume(self, address: Address, credit: int = 0, **interest: Any) -> tuple[Subscription, Box]:
        """A subscription, and the box with its arrivals."""
        box = Box()
        subscription = self.channel.subscribe(Interest(address=address, **interest), box)
        if credit:
            subscription.grant(credit)
        return subscription, box


@contextlib.contextmanager
def listening(answer: Callable[[socket.socket], None]) -> Iterator[int]:
    """A port with another server than a broker."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        done = threading.Event()

        def serve() -> None:
            connection, _ = server.accept()
            with connection, contextlib.suppress(OSError):
                answer(connection)
                done.wait(30)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            done.set()
            thread.join(10)

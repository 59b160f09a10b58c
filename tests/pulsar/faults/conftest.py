"""Scripted servers, and links to them; all end with the test."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from jmsbridge.spi import Endpoint
from jmsbridge.testing.harness import LinkLog

if TYPE_CHECKING:  # the modules need pulsar-client: without it every test that uses them is skipped
    from jmsbridge_pulsar.link import Link
    from tests.pulsar.server.server import Server


@pytest.fixture
def serve() -> "Iterator[Callable[..., Server]]":
    """Starts a server."""
    from tests.pulsar.server.server import Server

    made: list[Server] = []

    def start(*given: Any, **more: Any) -> Server:
        made.append(Server(*given, **more))
        return made[-1]

    yield start
    for server in made:
        server.close()


@pytest.fixture
def server(serve: "Callable[..., Server]") -> "Server":
    """One that behaves well until the test changes ``heard``."""
    return serve()


@pytest.fixture
def connect() -> "Iterator[Callable[..., Link]]":
    """Opens links: to a server, with fields of the endpoint, and ``options`` of the backend."""
    from jmsbridge_pulsar.backend import backend, tls_backend
    from jmsbridge_pulsar.link import Link

    made: list[Link] = []

    def open_link(
        server: "Server", log: LinkLog | None = None, options: dict[str, Any] | None = None, **fields: Any
    ) -> Link:
        used = tls_backend if fields.get("scheme") == "pulsar+ssl" else backend
        given: dict[str, Any] = {
            "scheme": "pulsar",
            "host": "127.0.0.1",
            "port": server.port,
            "close_timeout": 2.0,
        } | fields
        link = used.open(Endpoint(**given), used.options(**options or {}), log or LinkLog())
        assert isinstance(link, Link)
        made.append(link)
        return link

    yield open_link
    for link in made:
        link.close()

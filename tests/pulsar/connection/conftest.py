"""A relay without the client library, in front of a scripted server."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:  # the modules need pulsar-client: without it every test that uses them is skipped
    from tests.pulsar.connection.support import Relayed
    from tests.pulsar.server.server import Server


@pytest.fixture
def server() -> "Iterator[Server]":
    """A server that behaves well."""
    from tests.pulsar.server.server import Server

    made = Server()
    yield made
    made.close()


@pytest.fixture
def start(server: "Server") -> "Iterator[Callable[..., Relayed]]":
    """Starts a relay in front of the server, with options of the connection."""
    from tests.pulsar.connection.support import Relayed

    made: list[Relayed] = []

    def begin(port: int | None = None, connect_timeout: float = 10.0, **options: Any) -> Relayed:
        made.append(Relayed(port or server.port, connect_timeout, options))
        return made[-1]

    yield begin
    for each in made:
        each.close()


@pytest.fixture
def relayed(start: "Callable[..., Relayed]") -> "Relayed":
    """One of them."""
    return start()

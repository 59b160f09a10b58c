"""Peers that end with the test, and links to them."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from jmsbridge.spi import Endpoint
from jmsbridge.testing.harness import LinkLog
from jmsbridge_stomp.backend import backend
from jmsbridge_stomp.connection.options import WithoutTls
from jmsbridge_stomp.link import Link
from tests.stomp.faults.peer import ARTEMIS, Peer, answer

__all__ = ["Connect", "Start"]

Start = Callable[..., Peer]
Connect = Callable[..., Link]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts a peer: what hears its frames, and by which name it goes."""
    made: list[Peer] = []

    def begin(heard: Any = answer, server: str = ARTEMIS, **more: Any) -> Peer:
        made.append(Peer(server, heard, **more))
        return made[-1]

    yield begin
    for peer in made:
        peer.close()


@pytest.fixture
def connect() -> Iterator[Connect]:
    """Opens links to a peer, which end with the test."""
    made: list[Link] = []

    def open_link(peer: Peer, log: LinkLog | None = None, heartbeat: int = 60, **fields: Any) -> Link:
        endpoint = Endpoint(scheme="stomp", host="127.0.0.1", port=peer.port, **{"close_timeout": 2.0} | fields)
        link = backend.open(endpoint, WithoutTls(heartbeat=heartbeat), log or LinkLog())
        assert isinstance(link, Link)
        made.append(link)
        return link

    yield open_link
    for link in made:
        link.close()

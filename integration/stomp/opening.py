"""Opens links over STOMP to a broker of the tests."""

import os
from typing import Any

import pytest

from integration.lab.broker import Broker
from jmsbridge.spi import Address, ConnectFailed, Endpoint
from jmsbridge.testing.harness import LinkLog
from jmsbridge.testing.suite.contract.support import envelope, send, subscribe
from jmsbridge_stomp.backend import StompOptions, backend, tls_backend
from jmsbridge_stomp.connection.options import WithoutTls
from jmsbridge_stomp.link import Link

__all__ = ["check_tls", "new_queue", "open_link"]


def new_queue() -> Address:
    """A queue that does not exist yet."""
    return Address(f"stomp-{os.urandom(4).hex()}")


def open_link(broker: Broker, log: LinkLog, listener: str = "stomp", options: Any = None, **fields: Any) -> Link:
    """Connect without TLS, by default to the listener of STOMP and as nobody."""
    endpoint = Endpoint(scheme="stomp", host="127.0.0.1", port=broker.ports[listener], **fields)
    link = backend.open(endpoint, options or WithoutTls(), log)
    assert isinstance(link, Link)
    return link


def check_tls(broker: Broker) -> None:
    """A large message passes over TLS, and a certificate that is not trusted is refused."""
    endpoint = Endpoint(scheme="stomp+ssl", host="localhost", port=broker.ports["stomps"])
    link = tls_backend.open(endpoint, StompOptions(ca_file=str(broker.certificates.ca)), LinkLog())
    name, body = new_queue(), "text" * 200_000
    send(link.channel(False), envelope(name, body))
    _, box = subscribe(link.channel(False), name, 1)
    assert box.wait(1)[0].envelope.body == body
    link.close()
    with pytest.raises(ConnectFailed, match="not trusted"):
        tls_backend.open(endpoint, StompOptions(), LinkLog())

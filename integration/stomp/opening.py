"""Opens links over STOMP to a broker of the tests."""

import os
import threading
from typing import Any

import pytest

import jmsbridge
from integration.lab.broker import Broker
from jmsbridge.spi import Address, BodyKind, ConnectFailed, Endpoint
from jmsbridge.testing.harness import LinkLog
from jmsbridge.testing.suite.contract.support import Answer, envelope, send, subscribe
from jmsbridge_stomp.backend import StompOptions, backend, tls_backend
from jmsbridge_stomp.connection.options import WithoutTls
from jmsbridge_stomp.link import Link

__all__ = ["check_large_bytes", "check_long_listener", "check_tls", "new_queue", "open_link"]


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


def check_large_bytes(broker: Broker) -> None:
    """10 MB that contain NUL and 0xFF arrive as they were; the brokers of the tests have no memory for much more."""
    link, name, body = open_link(broker, LinkLog()), new_queue(), b"\0\xff\n\0" * 2_500_000
    answer = Answer()
    link.channel(False).send(envelope(name, body, kind=BodyKind.BYTES), answer)
    assert answer.outcome(60) is None
    _, box = subscribe(link.channel(False), name, 1)
    assert box.wait(1, timeout=60)[0].envelope.body == body
    link.close()


def check_long_listener(broker: Broker) -> None:
    """A listener that runs for longer than heart-beats may be missing costs no connection, and loses no message."""
    url = f"stomp://127.0.0.1:{broker.ports['stomp']}?heartbeat=2&reconnect_attempts=0"
    lost: list[BaseException] = []
    never, done = threading.Event(), threading.Event()

    def slow(_: jmsbridge.Message) -> None:
        never.wait(6)
        done.set()

    with jmsbridge.connect(url) as connection:
        connection.exception_listener = lost.append
        session, sending = connection.create_session(), connection.create_session()
        queue = session.create_queue(new_queue().name)
        session.create_consumer(queue).message_listener = slow
        connection.start()
        sending.create_producer(queue).send(sending.create_text_message("slow"))
        assert done.wait(20)
    assert lost == []

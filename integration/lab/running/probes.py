"""Readiness: a listener is ready when it answers in its own protocol."""

import json
import socket
import struct
import time
from collections.abc import Callable, Mapping

from integration.lab.admin.rest import Rest
from integration.lab.certificates import Certificates
from integration.lab.errors import BrokerFailed
from integration.lab.table import HOST, PASSWORD, USER

__all__ = ["Probe", "amqp_0_9_1", "amqp_1_0", "epmd", "openwire", "pulsar", "rest", "stomp", "wait_ready"]

Probe = Callable[[], str]
"""Asks one listener; returns an empty text if the answer was right, otherwise what was wrong."""

_PATIENCE = 3.0  # seconds for one answer


def wait_ready(probes: Mapping[str, Probe], alive: Callable[[], bool], timeout: float) -> None:
    """Wait until every probe succeeds; BrokerFailed names those that do not."""
    deadline = time.monotonic() + timeout
    waiting = dict(probes)
    wrong: dict[str, str] = {}
    while waiting:
        if not alive():
            raise BrokerFailed("it ended while starting")
        wrong = {}
        for name, probe in waiting.items():
            try:
                wrong[name] = probe()
            except (OSError, BrokerFailed) as error:
                wrong[name] = str(error) or type(error).__name__
        waiting = {name: probe for name, probe in waiting.items() if wrong[name]}
        if waiting and time.monotonic() > deadline:
            said = "; ".join(f"{name}: {text}" for name, text in wrong.items() if text)
            raise BrokerFailed(f"not ready after {timeout:g} s ({said})")
        if waiting:
            time.sleep(0.05)  # sleep: a starting server gives no notification


def amqp_0_9_1(port: int, tls: Certificates | None = None) -> Probe:
    """Expect connection.start in answer to the protocol header."""
    return _exchange(port, tls, b"AMQP\x00\x00\x09\x01", 11, lambda got: got[0] == 1 and got[7:] == b"\x00\x0a\x00\x0a")


def amqp_1_0(port: int, tls: Certificates | None = None) -> Probe:
    """Expect the echo of the SASL header."""
    header = b"AMQP\x03\x01\x00\x00"
    return _exchange(port, tls, header, 8, lambda got: got == header)


def stomp(port: int, tls: Certificates | None = None) -> Probe:
    """Expect CONNECTED in answer to a login."""
    frame = f"CONNECT\naccept-version:1.2\nhost:/\nlogin:{USER}\npasscode:{PASSWORD}\n\n\0".encode()
    return _exchange(port, tls, frame, 9, lambda got: got == b"CONNECTED")


def openwire(port: int) -> Probe:
    """Expect the broker's WIREFORMAT_INFO in answer to ours."""
    hello = b"\x01ActiveMQ" + struct.pack(">I", 1) + b"\x00"  # magic, version 1, no options
    return _exchange(port, None, struct.pack(">I", len(hello)) + hello, 13, lambda got: got[4:] == b"\x01ActiveMQ")


def pulsar(port: int, tls: Certificates | None = None, *, login: tuple[str, str] | None = None) -> Probe:
    """Expect CONNECTED in answer to CONNECT: two protocol buffers, compared as bytes.

    The `login` is an authentication method and its data.
    """
    connect = b"\x0a\x09jmsbridge\x20\x13"  # client_version, protocol_version 19
    if login is not None:
        method, secret = (text.encode() for text in login)
        connect += b"\x1a" + bytes([len(secret)]) + secret + b"\x2a" + bytes([len(method)]) + method
    assert len(connect) < 128  # a larger one would need two bytes for the length
    command = b"\x08\x02\x12" + bytes([len(connect)]) + connect  # type CONNECT, field 2
    frame = struct.pack(">II", len(command) + 4, len(command)) + command
    return _exchange(port, tls, frame, 10, lambda got: got[8:] == b"\x08\x03")


def epmd(port: int, node: str, *, known: bool = True) -> Probe:
    """Expect an answer of the port mapper, which knows the node or not."""
    name = node.encode()
    request = struct.pack(">HB", len(name) + 1, 122) + name
    return _exchange(port, None, request, 2, lambda got: got[:1] == b"w" and (got[1] == 0) == known)


def rest(admin: Rest, path: str) -> Probe:
    """Expect an answer from the administration."""

    def probe() -> str:
        try:
            admin.get(path)
        except json.JSONDecodeError:
            return "no JSON"
        return ""

    return probe


def _exchange(port: int, tls: Certificates | None, request: bytes, count: int, good: Callable[[bytes], bool]) -> Probe:
    def probe() -> str:
        with socket.create_connection((HOST, port), _PATIENCE) as plain:
            if tls is None:
                got = _ask(plain, request, count)
            else:
                with tls.context().wrap_socket(plain, server_hostname="localhost") as secured:
                    got = _ask(secured, request, count)
        return "" if len(got) == count and good(got) else f"port {port} answered {got!r}"

    return probe


def _ask(link: socket.socket, request: bytes, count: int) -> bytes:
    link.sendall(request)
    got = b""
    while len(got) < count:
        part = link.recv(count - len(got))
        if not part:
            break
        got += part
    return got

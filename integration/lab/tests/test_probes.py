"""A listener is ready when it answers in its protocol, and not before."""

import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from integration.lab.errors import BrokerFailed
from integration.lab.running import probes
from integration.lab.running.probes import Probe, wait_ready
from integration.lab.table import HOST

Listener = Callable[[bytes], int]


@pytest.fixture
def listener() -> Iterator[Listener]:
    """Start a server that answers its one client with fixed bytes; return its port."""
    servers: list[socket.socket] = []
    threads: list[threading.Thread] = []

    def serve(answer: bytes) -> int:
        server = socket.create_server((HOST, 0))
        servers.append(server)

        def once() -> None:
            link, _ = server.accept()
            with link:
                link.recv(1000)
                link.sendall(answer)

        threads.append(threading.Thread(target=once, daemon=True))
        threads[-1].start()
        port: int = server.getsockname()[1]
        return port

    yield serve
    for thread in threads:
        thread.join(5)
    for server in servers:
        server.close()


CASES: dict[str, tuple[Callable[[int], Probe], bytes]] = {
    "amqp 0-9-1": (probes.amqp_0_9_1, b"\x01\x00\x00\x00\x00\x01\x00\x00\x0a\x00\x0a rest"),
    "amqp 1.0": (probes.amqp_1_0, b"AMQP\x03\x01\x00\x00"),
    "stomp": (probes.stomp, b"CONNECTED\nversion:1.2\n\n\0"),
    "openwire": (probes.openwire, b"\x00\x00\x00\xff\x01ActiveMQ rest"),
    "pulsar": (probes.pulsar, b"\x00\x00\x00\x20\x00\x00\x00\x1c\x08\x03 rest"),
    "epmd": (lambda port: probes.epmd(port, "jb"), b"w\x00 rest"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_listener_with_the_right_answer_is_ready(name: str, listener: Listener) -> None:
    probe, answer = CASES[name]
    assert probe(listener(answer))() == ""


@pytest.mark.parametrize("name", CASES)
def test_a_listener_of_another_protocol_is_not_ready(name: str, listener: Listener) -> None:
    probe, _ = CASES[name]
    asked = 2 if name == "epmd" else 8  # errors show only the part of an answer that the probe reads
    shown = repr(b"HTTP/1.1"[:asked])[:-1]
    assert f"answered {shown}" in probe(listener(b"HTTP/1.1 400 Bad Request\r\n\r\n"))()
    assert probe(listener(b"ERROR\nmessage:no\n\n\0 and more of it"))() != ""


@pytest.mark.parametrize("name", CASES)
def test_a_closed_connection_is_not_ready(name: str, listener: Listener) -> None:
    probe, answer = CASES[name]
    assert "answered" in probe(listener(answer[:1]))()


def test_waiting_names_what_is_wrong() -> None:
    wrong: dict[str, Probe] = {"one": lambda: "", "two": lambda: "bad", "three": _refused}
    with pytest.raises(BrokerFailed, match=r"not ready after 0\.2 s \(two: bad; three: connection refused\)"):
        wait_ready(wrong, lambda: True, 0.2)


def test_waiting_ends_with_the_process() -> None:
    with pytest.raises(BrokerFailed, match="it ended while starting"):
        wait_ready({"one": lambda: "bad"}, lambda: False, 30)


def test_a_ready_listener_is_not_asked_again() -> None:
    asked: list[str] = []

    def one() -> str:
        asked.append("one")
        return ""

    def two() -> str:
        asked.append("two")
        return "" if asked.count("two") == 3 else "not yet"

    wait_ready({"one": one, "two": two}, lambda: True, 30)
    assert asked == ["one", "two", "two", "two"]


def _refused() -> str:
    raise ConnectionRefusedError("connection refused")

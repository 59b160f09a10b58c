"""The ways to use the fault proxy: the fixture, the harness, the command."""

import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from jmsbridge.testing.proxy import FaultProxy, ProxiedHarness
from jmsbridge.testing.suite.support import LONG


@pytest.fixture
def server() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as made:
        made.settimeout(LONG)
        yield made


def port(server: socket.socket) -> int:
    return int(server.getsockname()[1])


def test_urls_lead_through_the_proxy_and_keep_the_rest(server: socket.socket) -> None:
    with FaultProxy.to(f"acme://localhost:{port(server)}") as proxy:
        assert proxy.through("acme://app:p%40ss@broker:5672/shop?x=1") == (
            f"acme://app:p%40ss@127.0.0.1:{proxy.port}/shop?x=1"
        )
        assert proxy.through("acme://broker") == f"acme://127.0.0.1:{proxy.port}"


def test_a_url_without_a_port_is_refused() -> None:
    with pytest.raises(ValueError, match="acme://HOST:PORT"):
        FaultProxy.to("acme://broker")


def test_the_fixture_ends_its_proxies(server: socket.socket, fault_proxy: Callable[..., FaultProxy]) -> None:
    proxy = fault_proxy(f"acme://127.0.0.1:{port(server)}", delay=0.01)
    with socket.create_connection((proxy.host, proxy.port), LONG):
        server.accept()[0].close()
    assert proxy.delay == 0.01
    assert proxy.accepted == 1


def test_the_harness_cuts_what_goes_through_it(server: socket.socket) -> None:
    with ProxiedHarness(f"acme://app@127.0.0.1:{port(server)}/shop") as harness:
        assert harness.endpoint.port == harness.proxy.port != port(server)
        assert (harness.endpoint.user, harness.endpoint.path) == ("app", "/shop")
        with socket.create_connection((harness.proxy.host, harness.proxy.port), LONG) as one, server.accept()[0]:
            harness.cut()
            with pytest.raises(ConnectionResetError):
                one.recv(1)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((harness.proxy.host, harness.proxy.port), LONG)


def _command(*arguments: str) -> Any:
    return subprocess.Popen(
        [sys.executable, "-m", "jmsbridge.testing.proxy", *arguments], stdout=subprocess.PIPE, text=True
    )


def test_the_command(server: socket.socket) -> None:
    with _command(f"127.0.0.1:{port(server)}", "--cut-after", "3", "--direction", "in", "--how", "close") as running:
        try:
            where = running.stdout.readline().split()[0].rpartition(":")
            with socket.create_connection((where[0], int(where[2])), LONG) as one, server.accept()[0] as other:
                other.sendall(b"hello")
                assert one.recv(3) == b"hel"
                assert one.recv(1) == b""
        finally:
            running.kill()


def test_the_command_explains_itself() -> None:
    with _command("--help") as running:
        text, _ = running.communicate(timeout=LONG)
    assert all(f"--{word}" in text for word in ("delay", "bandwidth", "cut-after", "cut-every", "half-open"))

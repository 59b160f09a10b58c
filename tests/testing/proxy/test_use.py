"""The ways to use the fault proxy: the fixture, the harness, the command."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from jmsbridge.testing.proxy import FaultProxy, ProxiedHarness
from jmsbridge.testing.suite.support import LONG

_STARTING = 40.0  # seconds for an interpreter to begin and end on a loaded machine


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


def test_harnesses_are_cut_independently(server: socket.socket) -> None:
    with ProxiedHarness(f"acme://127.0.0.1:{port(server)}") as harness:
        aside = harness.aside()
        assert aside.endpoint.port not in (harness.endpoint.port, port(server))
        with (
            socket.create_connection((harness.proxy.host, harness.proxy.port), LONG) as one,
            server.accept()[0] as broker,
        ):
            aside.cut()
            one.sendall(b"a")
            assert broker.recv(1) == b"a"
            harness.cut()
            with pytest.raises(ConnectionResetError):
                one.recv(1)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((aside.proxy.host, aside.proxy.port), LONG)


def _command(*arguments: str) -> Any:
    command = [sys.executable, "-m", "jmsbridge.testing.proxy", *arguments]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"COLUMNS": "120", "NO_COLOR": "1"},
    )


def _leads(running: Any) -> tuple[str, int]:
    host, _, number = running.stdout.readline().split()[0].rpartition(":")
    return host, int(number)


def test_the_command(server: socket.socket) -> None:
    with _command(f"127.0.0.1:{port(server)}", "--cut-after", "3", "--direction", "in", "--how", "close") as running:
        try:
            with socket.create_connection(_leads(running), LONG) as one, server.accept()[0] as other:
                other.sendall(b"hello")
                assert one.recv(3) == b"hel"
                assert one.recv(1) == b""
        finally:
            running.kill()


def test_the_command_cuts_again_and_again_until_ctrl_c(server: socket.socket) -> None:
    with _command(f":{port(server)}", "--cut-every", "0.2") as running:
        try:
            where = _leads(running)
            for _ in range(2):
                with socket.create_connection(where, LONG) as one, pytest.raises(ConnectionResetError):
                    one.recv(1)
            running.send_signal(signal.SIGINT)
            out, err = running.communicate(timeout=_STARTING)
        finally:
            running.kill()
    assert (running.returncode, err) == (0, "")
    assert set(out.splitlines()) <= {"cut 0 connections", "cut 1 connections"}


def test_the_command_has_help() -> None:
    with _command("--help") as running:
        text, _ = running.communicate(timeout=_STARTING)
    options = ("listen", "delay", "bandwidth", "cut-after", "direction", "cut-every", "how", "half-open")
    assert all(f"--{word} " in text for word in options)
    examples = [line.split()[1:] for line in text.splitlines() if "python -m jmsbridge.testing.proxy " in line]
    assert ["-m", "jmsbridge.testing.proxy", "127.0.0.1:5672", "--delay", "0.02"] in [e[-5:] for e in examples]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(("broker",), "'broker' names no port"), (("a:1", "--how", "gently"), "'gently' is not one of")],
)
def test_a_wrong_command_line_is_explained(arguments: tuple[str, ...], said: str) -> None:
    with _command(*arguments) as running:
        out, err = running.communicate(timeout=_STARTING)
    assert (running.returncode, out) == (2, "")
    assert said in err

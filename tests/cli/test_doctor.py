"""The steps of doctor, with sockets and certificates that the tests create."""

import json
import socket
import sqlite3
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
import trustme
from typer.testing import Result

from jmsbridge.cli import probing
from jmsbridge.cli.probing import Step, probe
from jmsbridge.config import resolve
from jmsbridge.spi import AuthenticationFailed, ConnectFailed, Endpoint, LinkEvents, Native, registry
from jmsbridge.transport.backend import Networked
from jmsbridge.transport.network.tls import TlsOptions
from tests.config.stub import StubBackend

Run = Callable[..., Result]


def refuse(endpoint: Endpoint, options: Any, events: LinkEvents) -> Any:
    raise ConnectFailed("the answer was no AMQP")


class Refusing(StubBackend):
    """A backend that cannot connect."""

    def open(self, endpoint: Endpoint, options: Any, events: LinkEvents) -> Any:
        return refuse(endpoint, options, events)


REFUSING_TLS = Networked("amqps", Native.NONE, TlsOptions, 1, refuse, spi_version=1, tls=True)


@pytest.fixture
def schemes() -> Iterator[None]:
    registry.register("amqp", Refusing())
    registry.register("amqps", REFUSING_TLS)
    yield
    for scheme in ("amqp", "amqps"):
        registry.unregister(scheme)


@pytest.fixture
def listener() -> Iterator[int]:
    """A port that accepts connections and closes them."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        done = threading.Event()

        def serve() -> None:
            while not done.is_set():
                try:
                    server.accept()[0].close()
                except OSError:
                    return  # The test is over.

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        done.set()
        with socket.create_connection(server.getsockname()):
            thread.join(5)


def steps(url: str) -> list[Step]:
    resolved = resolve(url)
    told: list[Step] = []
    assert probe(resolved, resolved.endpoints[0], told.append) is None
    return told


@pytest.mark.parametrize("scheme", ["amqp", "rabbitmq"])
def test_a_port_that_stays_silent_may_be_that_of_another_protocol(run: Run, scheme: str) -> None:
    if scheme == "amqp":
        pytest.importorskip("proton")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        result = run("doctor", f"{scheme}://127.0.0.1:{silent.getsockname()[1]}", "-o", "connect_timeout=0.2")
    assert result.exit_code == 1
    assert "another protocol's port, or do URL and port differ in TLS?" in result.stdout


@pytest.mark.usefixtures("schemes")
def test_a_name_without_address(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(*arguments: Any, **more: Any) -> Any:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", nothing)
    (step,) = steps("amqp://broker.example")
    assert (step.name, step.good) == ("name", False)
    assert "spelling" in step.advice


def test_a_file_that_is_not_a_broker_is_explained_once(run: Run, tmp_path: Path) -> None:
    (tmp_path / "notes.db").write_text("not a database, " * 1000, encoding="utf-8")
    result = run("doctor", "embedded:notes.db")
    assert result.exit_code == 1
    *_, error, advice = result.stdout.splitlines()
    assert error == (
        f"✗ embedded:notes.db: login: {tmp_path}/notes.db: the file is not a database; "
        "choose another file for the embedded broker"
    )
    assert advice == "  → the text above says what to do about the file"


def test_a_locked_file_is_tried_as_long_as_connect_timeout_says(run: Run, tmp_path: Path) -> None:
    assert run("doctor", "embedded:orders.db").exit_code == 0
    with closing(sqlite3.connect(tmp_path / "orders.db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        result = run("doctor", "embedded:orders.db", "-o", "connect_timeout=0.2")
    assert result.exit_code == 1
    assert "another program has locked the file for 0.2 s; end that program, or try again later" in result.stdout


@pytest.mark.usefixtures("schemes")
def test_a_port_without_listener() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        first, second = steps(f"amqp://127.0.0.1:{unused.getsockname()[1]}")
    assert (first.name, first.good, second.name, second.good) == ("name", True, "TCP", False)
    assert "start the broker" in second.advice


@pytest.mark.usefixtures("schemes")
def test_another_protocol(listener: int) -> None:
    *before, last = steps(f"amqp://127.0.0.1:{listener}")
    assert [step.name for step in before] == ["name", "TCP"]
    assert (last.name, last.good, last.text) == ("login", False, "the answer was no AMQP")
    assert "scheme and port" in last.advice


@pytest.mark.usefixtures("schemes")
def test_a_port_without_tls(listener: int) -> None:
    *_, last = steps(f"amqps://127.0.0.1:{listener}")
    assert (last.name, last.good) == ("TLS", False)
    assert "without TLS" in last.advice


@pytest.mark.usefixtures("schemes")
def test_what_the_client_library_cannot_do_is_a_warning(listener: int) -> None:
    limited = Networked(
        "amqp", Native.NONE, TlsOptions, 1, refuse, spi_version=1, tls=False, limits="no SCRAM: install libsasl2-dev"
    )
    registry.register("amqp", limited)
    first, *_, last = steps(f"amqp://127.0.0.1:{listener}")
    assert (first.name, first.good, first.doubtful) == ("client library", False, True)
    assert first.text == "no SCRAM: install libsasl2-dev"
    assert last.name == "login"


@pytest.mark.usefixtures("schemes")
def test_an_untrusted_certificate_is_a_warning_with_advice(listener: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: Any) -> str:
        error = ssl.SSLCertVerificationError()
        error.verify_message = "self-signed certificate"
        raise error

    monkeypatch.setattr(probing, "_handshake", refuse)
    *_, tls, login = steps(f"amqps://127.0.0.1:{listener}")
    assert (tls.name, tls.good, tls.doubtful) == ("TLS", False, True)
    assert "self-signed" in tls.text
    assert (login.name, "authority" in login.advice) == ("login", True)


def refuse_user(endpoint: Endpoint, options: Any, events: LinkEvents) -> Any:
    raise AuthenticationFailed("the broker refused user 'jb'")


@pytest.fixture
def secured(tmp_path: Path) -> Iterator[str]:
    """The URL of a port with TLS; its authority is in ``ca.pem``, its host name is ``broker.example``."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("broker.example").configure_cert(context)
    registry.register("amqps", Networked("amqps", Native.NONE, TlsOptions, 1, refuse_user, spi_version=1, tls=True))
    with socket.create_server(("127.0.0.1", 0)) as server:
        done = threading.Event()

        def serve() -> None:
            while not done.is_set():
                with suppress(OSError), server.accept()[0] as plain:
                    context.wrap_socket(plain, server_side=True).close()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"amqps://127.0.0.1:{server.getsockname()[1]}"
        done.set()
        with suppress(OSError), socket.create_connection(server.getsockname()):
            pass
        thread.join(5)
    registry.unregister("amqps")


def test_the_authority_in_the_options_is_trusted(secured: str) -> None:
    *_, tls, login = steps(f"{secured}?ca_file=ca.pem&server_name=broker.example")
    assert (tls.good, "certificate valid until" in tls.text, login.name) == (True, True, "login")


def test_an_unchecked_certificate_is_reported_as_unchecked(secured: str) -> None:
    *_, tls, _ = steps(f"{secured}?verify=false")
    assert (tls.good, tls.text.endswith("certificate not checked")) == (True, True)


def test_an_authority_that_cannot_be_read(secured: str) -> None:
    *_, tls = steps(f"{secured}?ca_file=nowhere.pem")
    assert (tls.name, tls.good, tls.advice) == ("TLS", False, "correct the options ca_file, certificate and key")


@pytest.mark.parametrize("options", ["", "?ca_file=ca.pem"])
def test_a_refused_password_gets_no_advice_about_certificates(secured: str, options: str) -> None:
    *_, tls, login = steps(secured + options)
    assert (tls.doubtful, login.name) == (True, "login")
    assert ("with ca.pem" in tls.text) == bool(options)
    assert "check user and password" in login.advice
    assert "certificate" not in login.advice


def test_a_warning_is_a_separate_sentence(secured: str) -> None:
    registry.register("amqps", REFUSING_TLS)
    *_, login = steps(secured)
    assert "broker's log. The certificate was not accepted" in login.advice


def test_the_round_trip_names_the_broker_that_carried_the_message(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.db").mkdir()
    result = run("doctor", "embedded:a.db,embedded:b.db", "--json")
    told = [(step["endpoint"], step["name"], step["good"]) for step in json.loads(result.stdout)["steps"]]
    assert result.exit_code == 0
    assert ("embedded:a.db", "file", False) in told
    assert told[-1] == ("embedded:b.db", "message", True)


def test_a_file_in_a_folder_that_is_missing(run: Run, tmp_path: Path) -> None:
    result = run("doctor", f"embedded:{tmp_path}/nowhere/orders.db")
    assert result.exit_code == 1
    assert "does not exist" in result.stdout
    assert "→ create it" in result.stdout


def test_a_folder_in_the_place_of_the_file(run: Run, tmp_path: Path) -> None:
    (tmp_path / "x.db").mkdir()
    result = run("doctor", f"embedded:{tmp_path}/x.db")
    assert (result.exit_code, "is not a file" in result.stdout) == (1, True)


def test_login_that_fails_says_what_to_do(run: Run) -> None:
    result = run("doctor", "embedded:?broker=guarded&credentials=me:hunter2", "-u", "you", "--password", "x", "--json")
    document = json.loads(result.stdout)
    (step,) = document["steps"]
    assert (result.exit_code, step["name"], step["good"]) == (1, "login", False)
    assert "check user and password" in step["advice"]
    assert "hunter2" not in result.output


def test_success_as_json(run: Run) -> None:
    document = json.loads(run("doctor", "--json").stdout)
    assert [(step["name"], step["good"]) for step in document["steps"]] == [("login", True), ("message", True)]
    assert document["capabilities"]["transactions"] == "native"
    assert "embedded" in document["broker"]


def test_every_error_of_a_login_has_advice() -> None:
    kinds = {kind for kind, _ in probing._ADVICE}
    assert {AuthenticationFailed, ConnectFailed} <= kinds


def test_the_default_port_comes_from_the_backend() -> None:
    """Port 1 is the default port here, because nothing listens there."""
    registry.register("amqps", REFUSING_TLS)
    try:
        assert isinstance(registry.load("amqps"), Networked)
        _, tcp = steps("amqps://127.0.0.1")
    finally:
        registry.unregister("amqps")
    assert (tcp.name, tcp.good, "port 1" in tcp.text) == ("TCP", False, True)

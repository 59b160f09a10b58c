"""A connection that the server refuses, redirects, does not answer, or answers in another protocol."""

import itertools
import re
import socket
import threading
import time
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from jmsbridge.spi import (
    AccessDenied,
    Address,
    AuthenticationFailed,
    BackendError,
    ClientIdRefused,
    ConnectFailed,
)
from jmsbridge.testing.suite.contract.support import envelope, send
from tests.amqp.faults.support import QUEUE, Opened
from tests.amqp.peer import frames
from tests.amqp.peer.script import Condition, redirect
from tests.amqp.peer.server import Peer

Open = Callable[..., Opened]
Start = Callable[..., Peer]


@pytest.mark.parametrize(
    ("condition", "error", "says"),
    [
        (Condition("amqp:invalid-field", "taken", {"invalid-field": "container-id"}), ClientIdRefused, "'mine'"),
        (Condition("amqp:unauthorized-access"), AuthenticationFailed, "user"),
        (Condition("amqp:not-found", "no such host"), AccessDenied, "virtual_host"),
        (Condition("amqp:not-allowed"), AccessDenied, "virtual_host"),
        (Condition("amqp:resource-limit-exceeded", "too many connections"), ConnectFailed, "too many connections"),
        (Condition("amqp:connection:forced", "going down"), ConnectFailed, "going down"),
        (Condition("amqp:internal-error"), ConnectFailed, "amqp:internal-error"),
        (Condition("vendor:odd", "what it means"), ConnectFailed, "what it means"),
    ],
    ids=lambda each: each.name if isinstance(each, Condition) else "",
)
def test_refused(open_link: Open, condition: Condition, error: type[BackendError], says: str) -> None:
    with pytest.raises(error) as caught:
        open_link({"connection": condition}, client_id="mine")
    assert type(caught.value) is error
    assert says in str(caught.value)


@pytest.mark.parametrize("code", [1, 2, 3, 4])
def test_login_refused(open_link: Open, code: int) -> None:
    with pytest.raises(AuthenticationFailed if code == 1 else BackendError) as caught:
        open_link({"sasl_code": code}, user="app", password="wrong-secret")
    assert "wrong-secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("offered", "options", "remedy"),
    [
        (("SCRAM-SHA-256", "SCRAM-SHA-1"), {"user": "app"}, "login=scram, but .* libsasl2-dev"),
        (("EXTERNAL",), {"user": "app"}, "client certificate"),
        (("PLAIN",), {}, "set user and password"),
        (("PLAIN",), {"login": "plain"}, "set user and password$"),
        (("ANONYMOUS", "GSSAPI"), {"user": "app"}, "login=anonymous$"),
        (("GSSAPI",), {"user": "app"}, "let the broker offer PLAIN"),
        ((), {"user": "app"}, "let the broker offer PLAIN"),
    ],
)
def test_no_mechanism_in_common(
    open_link: Open, monkeypatch: pytest.MonkeyPatch, offered: tuple[str, ...], options: dict[str, str], remedy: str
) -> None:
    monkeypatch.setattr("proton.SASL.extended", lambda: False)
    there = ", ".join(offered) or "none"
    with pytest.raises(AuthenticationFailed, match=rf"broker offers {there}: .*{remedy}") as caught:
        open_link({"mechanisms": offered}, password="secret", **options)
    assert "check user" not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_with_cyrus_sasl_the_remedy_is_the_login(open_link: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proton.SASL.extended", lambda: True)
    with pytest.raises(AuthenticationFailed, match=r"needs .* PLAIN, .* offers SCRAM-SHA-1: .*login=scram$"):
        open_link({"mechanisms": ("SCRAM-SHA-1",)}, user="app", password="secret")


def test_an_anonymous_login_sends_no_password(open_link: Open) -> None:
    opened = open_link(login="anonymous", user="app", password="secret")
    mechanism, response = opened.records.wait_event("login")
    assert mechanism == "ANONYMOUS"
    assert b"secret" not in response


@pytest.mark.parametrize(
    ("header", "says"),
    [
        (frames.AMQP_0_9_1, "rabbitmq://"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "another protocol"),
        (b"\x15\x03\x03\x00\x02\x02\x0a", "amqps://"),
        (b"ERROR\nmessage:what?\n\n\0", "another protocol"),
        (b"\0" * 64, "another protocol"),
    ],
    ids=["0-9-1", "http", "tls", "stomp", "zeroes"],
)
def test_another_protocol_is_named(open_link: Open, header: bytes, says: str) -> None:
    with pytest.raises(ConnectFailed, match=r"127\.0\.0\.1") as caught:
        open_link({"header": header})
    assert says in str(caught.value)


@pytest.mark.parametrize("header", [b"", b"AMQ", b"AMQP\x00\x01\x00\x00", b"AMQP\x09\x09\x09\x09"])
def test_an_answer_cut_short_or_out_of_place(open_link: Open, header: bytes) -> None:
    with pytest.raises(ConnectFailed, match=r"127\.0\.0\.1"):
        open_link({"header": header})


def test_an_open_that_is_not_answered(open_link: Open) -> None:
    began = time.monotonic()
    with pytest.raises(ConnectFailed, match="no answer within"):
        open_link({"connection": "ignore"}, connect_timeout=0.5)
    assert time.monotonic() - began < 10


def test_redirects_are_followed(open_link: Open, start_peer: Start) -> None:
    last = start_peer()
    middle = start_peer(connection=redirect("127.0.0.1", last.port))
    first = start_peer(connection=redirect("127.0.0.1", middle.port))
    opened = open_link(peer=first)
    send(opened.link.channel(False), envelope(QUEUE))
    assert len(last.records.accepted) == 1
    assert first.records.of("attach") == middle.records.of("attach") == []


def test_redirects_in_a_circle_end(open_link: Open, start_peer: Start) -> None:
    one, other = start_peer(), start_peer()
    one.script.connection = redirect("127.0.0.1", other.port)
    other.script.connection = redirect("127.0.0.1", one.port)
    with pytest.raises(ConnectFailed, match=rf"redirected.*127\.0\.0\.1:({one.port}|{other.port})"):
        open_link(peer=one)
    assert len(one.connections) + len(other.connections) <= 8


def test_a_redirect_leaves_only_the_rest_of_the_time(
    open_link: Open, start_peer: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Connecting takes this link 27 s of its 30 s before it begins, by the first look at the clock."""
    passed = itertools.chain([27.0], itertools.repeat(0.0))
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() - next(passed))
    monkeypatch.setattr("jmsbridge_amqp.link.time", clock)
    last = start_peer(connection="ignore")
    first = start_peer(connection=redirect("127.0.0.1", last.port))
    began = time.monotonic()
    with pytest.raises(ConnectFailed, match=str(last.port)):
        open_link(peer=first, connect_timeout=30.0)
    assert time.monotonic() - began < 20


def test_a_redirect_to_nowhere_names_the_address(open_link: Open, start_peer: Start) -> None:
    gone = start_peer()
    gone.close()
    with pytest.raises(ConnectFailed, match=str(gone.port)):
        open_link({"connection": redirect("127.0.0.1", gone.port)})


@pytest.mark.parametrize(
    "info", [{}, {"network-host": "", "port": "many"}, {"port": 1}, {"network-host": "127.0.0.1", "port": -1}]
)
def test_a_redirect_that_says_nothing_useful(open_link: Open, info: dict[str, object]) -> None:
    with pytest.raises(BackendError):
        open_link({"connection": Condition("amqp:connection:redirect", "somewhere", info)})


@pytest.mark.parametrize("port", ["many", -1, 65536, [5672], 1e400], ids=str)
def test_a_redirect_to_a_port_that_does_not_exist_names_the_address(
    open_link: Open, port: object, caplog: pytest.LogCaptureFixture
) -> None:
    info = {"network-host": "elsewhere.example", "port": port}
    with pytest.raises(ConnectFailed, match=r"elsewhere\.example:.*" + re.escape(str(port))):
        open_link({"connection": Condition("amqp:connection:redirect", "elsewhere", info)})
    assert "unexpected error" not in caplog.text


def test_a_redirect_of_an_open_connection_names_the_address(opened: Opened) -> None:
    opened.peer.do(lambda: opened.peer.connection.close(redirect("elsewhere.example", 5673)))
    opened.events.wait(lambda log: log.losses)
    assert "elsewhere.example" in str(opened.events.losses[0])


def test_a_redirect_of_a_link_names_the_address(opened: Opened) -> None:
    opened.script.attach = lambda link: redirect("elsewhere.example", 5673, link=True)
    channel = opened.link.channel(False)
    with pytest.raises(BackendError, match=r"elsewhere\.example:5673"):
        send(channel, envelope(QUEUE))


def test_a_broker_that_says_nothing_of_itself(open_link: Open) -> None:
    opened = open_link({"properties": {}, "offered": ()})
    assert opened.link.broker
    send(opened.link.channel(False), envelope(QUEUE))
    links = [link.address for link in opened.records.of("attach") if not link.coordinator]
    assert links == ["q"]  # no anonymous relay


@pytest.mark.parametrize("properties", [{"product": None}, {"product": 5, "version": [1]}, {"product": "x" * 5000}])
def test_odd_properties(open_link: Open, properties: dict[str, object]) -> None:
    send(open_link({"properties": properties}).link.channel(False), envelope(QUEUE))


def test_many_links_to_one_address_stay_apart(open_link: Open, start_peer: Start) -> None:
    peer = start_peer()
    links = [open_link(peer=peer) for _ in range(4)]
    errors: list[BaseException] = []

    def work(opened: Opened) -> None:
        try:
            for _ in range(25):
                send(opened.link.channel(False), envelope(Address("q")))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(opened,)) for opened in links]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert errors == []
    assert len(peer.records.accepted) == 100


def test_a_name_server_that_does_not_answer_does_not_hold_an_open(
    monkeypatch: pytest.MonkeyPatch, open_link: Open, start_peer: Start
) -> None:
    peer, answer = start_peer(), threading.Event()

    def look_up(*args: object, **options: object) -> list[object]:
        answer.wait(30)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    begun = time.monotonic()
    with pytest.raises(ConnectFailed):
        open_link(peer=peer, connect_timeout=0.5)
    answer.set()
    assert time.monotonic() - begun < 5.0  # the thread of the link would have been waited for longer

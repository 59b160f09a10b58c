"""Clusters: lookups that refer to another broker, proxies, brokers of another protocol and over TLS (issue 17)."""

import ssl
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trustme

from jmsbridge.spi import Address, AddressRefused, BackendError, ConnectFailed, LinkLost
from jmsbridge.testing.harness import LinkLog
from jmsbridge.testing.suite.contract.support import Answer, envelope, fetch, send
from jmsbridge.testing.suite.support import eventually
from jmsbridge_pulsar.link import Link
from tests.pulsar.server.answering import answer
from tests.pulsar.server.server import Line, Server
from tests.pulsar.server.wire import Command, Kind

Connect = Callable[..., Link]
Serve = Callable[..., Server]

QUEUE = Address("q")
TOPIC = "persistent://public/default/q"


def _lookups(**fields: Any) -> Callable[[Line, Command], None]:
    """Answers lookups with these fields."""

    def heard(line: Line, heard: Command) -> None:
        if heard.kind == Kind.LOOKUP:
            line.write(Kind.LOOKUP_RESPONSE, f4=heard.fields.number(2), **fields)
        else:
            answer(line, heard)

    return heard


def _outcome(link: Link) -> BackendError | None:
    ticket = Answer()
    link.channel(False).send(envelope(QUEUE, "one"), ticket)
    return ticket.outcome(20)


def _secrets(link: Link, *servers: Server) -> int:
    secret = link._relay.secret.encode()
    return sum(secret in each.data for server in servers for line in server.lines for each in line.commands)


def test_another_broker_serves_the_topic(serve: Serve, connect: Connect) -> None:
    there = serve()
    here = serve(_lookups(f1=there.address, f3=1))
    link = connect(here, None, {"token": "the-token"})
    send(link.channel(False), envelope(QUEUE, "one"))
    assert fetch(link, QUEUE, 1) == ["one"]
    assert len(there.topic(TOPIC).entries) == 1
    assert here.topics == {}
    (connected,) = there.heard_of(Kind.CONNECT)
    assert (connected.fields.text(3), 6 in connected.fields) == ("the-token", False)


def test_a_lookup_is_to_be_asked_of_another_broker(serve: Serve, connect: Connect) -> None:
    """The library connects to it by way of the relay, and not by itself: with the login of the options."""
    there = serve()
    here = serve(_lookups(f1=there.address, f3=0, f5=1))
    link = connect(here, None, {"token": "the-token"})
    send(link.channel(False), envelope(QUEUE, "one"))
    assert fetch(link, QUEUE, 1) == ["one"]
    assert len(there.topic(TOPIC).entries) == 1
    assert there.heard_of(Kind.LOOKUP)[0].fields.number(3) == 1  # authoritative
    assert {each.fields.text(3) for each in there.heard_of(Kind.CONNECT)} == {"the-token"}
    assert _secrets(link, here, there) == 0
    log_in = len(there.lines)
    send(link.channel(False), envelope(Address("other"), "two"))
    assert len(there.lines) == log_in


def test_from_broker_to_broker_to_broker(serve: Serve, connect: Connect) -> None:
    last = serve()
    middle = serve(_lookups(f1=last.address, f3=1))
    first = serve(_lookups(f1=middle.address, f3=0))
    link = connect(first)
    send(link.channel(False), envelope(QUEUE, "one"))
    assert len(last.topic(TOPIC).entries) == 1
    assert _secrets(link, first, middle, last) == 0


def test_brokers_that_refer_to_each_other_without_end(serve: Serve, connect: Connect) -> None:
    one, two = serve(), serve()
    one.heard, two.heard = _lookups(f1=two.address, f3=0), _lookups(f1=one.address, f3=0)
    link = connect(one)
    error = _outcome(link)
    assert isinstance(error, BackendError)
    assert not error.in_doubt
    assert len(one.lines) + len(two.lines) <= 4


def test_a_link_ends_with_a_connection_to_any_broker(serve: Serve, connect: Connect) -> None:
    there = serve()
    here = serve(_lookups(f1=there.address, f3=1))
    log = LinkLog()
    link = connect(here, log)
    send(link.channel(False), envelope(QUEUE, "one"))
    there.lines[0].cut()
    eventually(lambda: log.losses)
    eventually(lambda: all(line.ended.is_set() for line in here.lines))
    assert len(log.losses) == 1


def test_a_broker_behind_a_proxy(server: Server, connect: Connect) -> None:
    """The proxy is told which broker, and nobody connects to that by itself."""
    server.heard = _lookups(f1="pulsar://inside:6650", f3=1, f8=1)
    link = connect(server)
    send(link.channel(False), envelope(QUEUE, "one"))
    names = [each.fields.text(6) for each in server.heard_of(Kind.CONNECT)]
    assert names == ["", "inside:6650"]
    assert len(server.topic(TOPIC).entries) == 1


def test_a_broker_behind_a_forwarded_port(server: Server, connect: Connect) -> None:
    server.heard = _lookups(f1="pulsar://inside:6650", f3=1)
    link = connect(server, None, {"single_address": True})
    send(link.channel(False), envelope(QUEUE, "one"))
    assert [6 in each.fields for each in server.heard_of(Kind.CONNECT)] == [False, False]


@pytest.mark.parametrize(
    "url",
    [
        "nonsense",
        "pulsar://",
        "pulsar://:6650",
        "pulsar://host:port",
        "pulsar://[::1",
        "pulsar://\x00",
        "pulsar://a..b:1",
    ],
)
def test_a_lookup_that_is_answered_with_no_address(server: Server, connect: Connect, url: str) -> None:
    server.heard = _lookups(f1=url, f3=1)
    log = LinkLog()
    error = _outcome(connect(server, log))
    assert isinstance(error, BackendError)
    assert not error.in_doubt
    assert len(log.losses) <= 1


def test_a_broker_that_is_not_there(serve: Serve, connect: Connect) -> None:
    gone = serve()
    gone.close()
    here = serve(_lookups(f1=gone.address, f3=1))
    log = LinkLog()
    error = _outcome(connect(here, log))
    assert isinstance(error, LinkLost)
    assert not error.in_doubt
    assert len(log.losses) == 1


def test_a_lookup_that_fails(server: Server, connect: Connect) -> None:
    server.heard = _lookups(f3=2, f6=11, f7="no such namespace")
    log = LinkLog()
    error = _outcome(connect(server, log))
    assert isinstance(error, AddressRefused)
    assert "does not exist" in str(error)
    assert log.losses == []


@pytest.mark.parametrize("code", [6, 14])
@pytest.mark.parametrize("kind", [Kind.LOOKUP, Kind.PARTITIONS])
def test_a_broker_that_is_not_ready_yet(server: Server, connect: Connect, code: int, kind: int) -> None:
    """The library would end the connection for that, and with it the link."""
    log = LinkLog()
    link = connect(server, log)
    refused = 0

    def not_ready(line: Line, heard: Command) -> None:
        nonlocal refused
        if heard.kind == kind and refused < 2:
            refused += 1
            if kind == Kind.LOOKUP:
                line.write(Kind.LOOKUP_RESPONSE, f3=2, f4=heard.fields.number(2), f6=code, f7="please come later")
            else:
                line.write(Kind.PARTITIONS_RESPONSE, f2=heard.fields.number(2), f3=1, f4=code, f5="later")
        else:
            answer(line, heard)

    server.heard = not_ready
    assert _outcome(link) is None
    assert (refused, log.losses) == (2, [])


def test_a_topic_that_moves_to_a_broker_that_is_named(serve: Serve, connect: Connect) -> None:
    """Nobody but the relay connects to it, and only after a lookup."""
    there, here = serve(), serve()
    log = LinkLog()
    link = connect(here, log, {"token": "the-token"})
    channel = link.channel(False)
    send(channel, envelope(QUEUE, "one"))
    here.heard = _lookups(f1=there.address, f3=1)
    with here.lock:
        (line,) = [line for line in here.lines if line.producers]
        for number in line.producers:
            line.write(Kind.CLOSE_PRODUCER, f1=number, f2=0, f3=there.address, f4=there.address)
        line.producers.clear()
    send(channel, envelope(QUEUE, "two"))
    assert len(there.topic(TOPIC).entries) == 1
    assert {each.fields.text(3) for each in there.heard_of(Kind.CONNECT)} == {"the-token"}
    assert _secrets(link, here, there) == 0
    assert log.losses == []


def test_a_cluster_that_migrates(serve: Serve, connect: Connect) -> None:
    """The library would connect to the other cluster by itself."""
    there, here = serve(), serve()
    log = LinkLog()
    link = connect(here, log)
    send(link.channel(False), envelope(QUEUE, "one"))
    here.lines[-1].write(Kind.TOPIC_MIGRATED, f1=0, f2=0, f3=there.address)
    eventually(lambda: log.losses)
    assert there.address in str(log.losses[0])
    assert there.lines == []


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"AMQP\x03\x01\x00\x00",
        b"ERROR\nmessage:not STOMP\n\n\0",
        b"\x15\x03\x03\x00\x02\x02\x46",
        b"\0" * 16,
    ],
)
def test_a_server_of_another_protocol(server: Server, connect: Connect, data: bytes) -> None:
    def speak(line: Line, heard: Command) -> None:
        line.raw(data)
        line.cut()

    server.heard = speak
    with pytest.raises(ConnectFailed, match=r"protocol|port"):
        connect(server)


@pytest.mark.parametrize("patience", [0.7, 10.7])
def test_a_server_that_says_nothing(server: Server, connect: Connect, patience: float) -> None:
    """Longer than the library waits by itself, too."""
    server.heard = lambda line, heard: None
    began = time.monotonic()
    with pytest.raises(ConnectFailed, match="no answer in time"):
        connect(server, connect_timeout=patience)
    assert patience <= time.monotonic() - began < patience + 3.3


def test_a_server_that_answers_connect_and_nothing_else(server: Server, connect: Connect) -> None:
    def only_connect(line: Line, heard: Command) -> None:
        if heard.kind == Kind.CONNECT:
            answer(line, heard)

    server.heard = only_connect
    began = time.monotonic()
    with pytest.raises(ConnectFailed):
        connect(server, connect_timeout=0.7)
    assert time.monotonic() - began < 5


def test_a_port_that_expects_tls(serve: Serve, connect: Connect) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("localhost").configure_cert(context)
    with pytest.raises(ConnectFailed, match="TLS"):
        connect(serve(tls=context))


def test_over_tls_the_relay_does_all_of_it(serve: Serve, connect: Connect, tmp_path: Path) -> None:
    """Lookups too, by the addresses for TLS; the library's own connections are not encrypted, and local."""
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    server = serve(tls=context)
    server.heard = _lookups(f1="pulsar://wrong:1", f2=f"pulsar+ssl://localhost:{server.port}", f3=1)
    options = {"ca_file": str(tmp_path / "ca.pem")}
    link = connect(server, None, options, scheme="pulsar+ssl", host="localhost")
    send(link.channel(False), envelope(QUEUE, "x" * 300_000))
    assert fetch(link, QUEUE, 1) == ["x" * 300_000]
    with pytest.raises(ConnectFailed, match="server_name"):
        connect(server, None, options, scheme="pulsar+ssl")
    named = connect(server, None, options | {"server_name": "localhost"}, scheme="pulsar+ssl")
    send(named.channel(False), envelope(QUEUE, "two"))


def test_a_broker_without_an_address_for_tls(serve: Serve, connect: Connect, tmp_path: Path) -> None:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    server = serve(_lookups(f1="pulsar://127.0.0.1:1", f3=1), tls=context)
    log = LinkLog()
    link = connect(server, log, {"ca_file": str(tmp_path / "ca.pem")}, scheme="pulsar+ssl", host="localhost")
    error = _outcome(link)
    assert error is not None
    assert "no address for connections with TLS" in str(error)
    assert not error.in_doubt
    assert (len(server.lines), log.losses) == (1, [])

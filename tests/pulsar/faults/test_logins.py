"""A broker that asks for the login again: the relay answers, with the token as it is now (issue 17)."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jmsbridge.spi import Address, AuthenticationFailed, BodyKind, ConnectFailed
from jmsbridge.testing.harness import LinkLog
from jmsbridge.testing.suite.contract.support import Answer, envelope, send
from jmsbridge.testing.suite.support import eventually
from jmsbridge_pulsar.link import Link
from tests.pulsar.server.answering import answer
from tests.pulsar.server.server import Line, Server
from tests.pulsar.server.wire import Command, Kind, message

Connect = Callable[..., Link]

QUEUE = Address("q")


def _challenge(server: Server) -> None:
    for line in list(server.lines):
        line.write(Kind.AUTH_CHALLENGE, f1="broker", f2=message(f1="token", f2="PulsarAuthRefresh"), f3=19)


def _answers(server: Server) -> list[tuple[str, str]]:
    return [
        (each.fields.inside(2).text(1), each.fields.inside(2).text(2)) for each in server.heard_of(Kind.AUTH_RESPONSE)
    ]


def test_the_token_of_the_file_as_it_is_now(server: Server, connect: Connect, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("one")
    log = LinkLog()
    link = connect(server, log, {"token_file": str(file)})
    channel = link.channel(False)
    send(channel, envelope(QUEUE, "one"))
    file.write_text("two")
    _challenge(server)
    eventually(lambda: len(_answers(server)) == len(server.lines) == 2)
    assert _answers(server) == [("token", "two")] * 2
    send(channel, envelope(QUEUE, "two"))
    assert log.losses == []
    secret = link._relay.secret.encode()
    assert not any(secret in each.data for line in server.lines for each in line.commands)


@pytest.mark.parametrize(
    ("fields", "options", "expected"),
    [
        ({"user": "user", "password": "pass"}, {}, ("basic", "user:pass")),
        ({}, {"token": "one"}, ("token", "one")),
        ({}, {}, ("none", "")),
    ],
)
def test_other_logins(
    server: Server, connect: Connect, fields: dict[str, Any], options: dict[str, Any], expected: tuple[str, str]
) -> None:
    connect(server, None, options, **fields)
    _challenge(server)
    eventually(lambda: _answers(server) == [expected])


def test_answers_are_between_the_frames_of_the_library(server: Server, connect: Connect) -> None:
    """While large messages are on their way, in pieces."""
    log = LinkLog()
    channel = connect(server, log, {"token": "one"}).channel(False)
    send(channel, envelope(QUEUE, "first"))
    bodies = [random.Random(number).randbytes(2_000_000) for number in range(12)]
    answers = [Answer() for _ in bodies]
    for body, ticket in zip(bodies, answers, strict=True):
        channel.send(envelope(QUEUE, body, BodyKind.BYTES), ticket)
        _challenge(server)
    assert [ticket.outcome(30) for ticket in answers] == [None] * len(bodies)
    eventually(lambda: len(_answers(server)) == 24)
    assert set(_answers(server)) == {("token", "one")}
    assert log.losses == []
    entries = server.topic("persistent://public/default/q").entries[1:]
    assert [entry.payload.endswith(body) for entry, body in zip(entries, bodies, strict=True)] == [True] * len(bodies)


def test_before_the_connection_is_open(server: Server, connect: Connect) -> None:
    def challenge_first(line: Line, heard: Command) -> None:
        if heard.kind == Kind.CONNECT:
            line.write(Kind.AUTH_CHALLENGE, f1="broker")
        elif heard.kind == Kind.AUTH_RESPONSE:
            line.write(Kind.CONNECTED, f1=line.server.version, f2=19)
        else:
            answer(line, heard)

    server.heard = challenge_first
    send(connect(server, None, {"token": "one"}).channel(False), envelope(QUEUE, "one"))
    assert set(_answers(server)) == {("token", "one")}


def test_a_token_that_has_expired(server: Server, connect: Connect) -> None:
    """The broker ends the connection then: the error says what to do."""

    def expired(line: Line, heard: Command) -> None:
        if heard.kind == Kind.AUTH_RESPONSE:
            line.write(Kind.ERROR, f1=(1 << 64) - 1, f2=3, f3="Token expired")
            line.cut()
        else:
            answer(line, heard)

    server.heard = expired
    log = LinkLog()
    connect(server, log, {"token": "old"})
    _challenge(server)
    eventually(lambda: log.losses)
    assert "token_file" in str(log.losses[0])
    assert len(log.losses) == 1


def test_a_file_that_is_gone(server: Server, connect: Connect, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("one")
    log = LinkLog()
    connect(server, log, {"token_file": str(file)})
    file.unlink()
    _challenge(server)
    eventually(lambda: log.losses)
    assert str(file) in str(log.losses[0])
    with pytest.raises(ConnectFailed, match="cannot be read"):
        connect(server, None, {"token_file": str(file)})


@pytest.mark.parametrize(
    ("code", "said", "kind"),
    [
        (3, "Failed to authenticate", AuthenticationFailed),
        (4, "not authorized", AuthenticationFailed),
        (0, "JWT expired", AuthenticationFailed),
        (6, "the broker is starting", ConnectFailed),
    ],
)
def test_a_login_that_is_refused(server: Server, connect: Connect, code: int, said: str, kind: type[Exception]) -> None:
    server.heard = lambda line, heard: line.write(Kind.ERROR, f1=(1 << 64) - 1, f2=code, f3=said)
    with pytest.raises(kind, match=said) as caught:
        connect(server, None, {"token": "the-token"})
    assert "the-token" not in str(caught.value)

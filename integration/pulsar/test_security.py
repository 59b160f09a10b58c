"""Logins, TLS and permissions on a real Pulsar that demands them; no secret is shown in any error or log line."""

import logging
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import trustme

from integration.lab.admin.pulsar import token
from integration.lab.broker import Broker
from integration.lab.errors import BrokerUnavailable
from integration.lab.fixtures import unavailable
from integration.lab.starting import join, leave
from integration.lab.table import CLIENT_CERTIFICATES
from integration.networked.conftest import name
from integration.networked.connecting import connect
from jmsbridge import Connection, JMSException, JMSSecurityException, Queue, Topic
from jmsbridge.testing.suite.support import eventually, receive_texts, send_texts

__all__ = ["connect", "name"]

pytestmark = [pytest.mark.server, pytest.mark.timeout(300)]

Connect = Callable[..., Connection]


@pytest.fixture(scope="module")
def guarded() -> Iterator[Broker]:
    """A broker that demands logins, by token or password, and with TLS a certificate, which logs in, too.

    Only the user's role may do anything.
    """
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    try:
        broker = join("pulsar", f"pulsar-guarded-{run[:16]}", [CLIENT_CERTIFICATES])
    except BrokerUnavailable as error:
        unavailable(str(error))
    yield broker
    leave(broker)


@pytest.fixture
def secret(caplog: pytest.LogCaptureFixture) -> Iterator[Callable[[str], str]]:
    """Marks a text as secret: no log line has it, and no error that was raised through ``refusal``."""
    caplog.set_level(logging.DEBUG)
    secrets: list[str] = []

    def mark(text: str) -> str:
        secrets.append(text)
        return text

    yield mark
    for text in secrets:
        assert text not in caplog.text


Secret = Callable[[str], str]


def refusal(connect: Connect, url: str, **options: Any) -> str:
    """The text of the error with which the connection is refused; it names the broker."""
    with pytest.raises(JMSException) as caught:
        connect(url, **options)
    said, address = str(caught.value), url.partition("://")[2].rpartition("@")[2].partition("?")[0]
    assert address in said
    if "refused" in said:
        assert isinstance(caught.value, JMSSecurityException)
    for hidden in (options.get("token"), options.get("key_password")):
        assert hidden is None or (hidden not in said and hidden not in repr(caught.value))
    return said


def works(connection: Connection, name: str) -> None:
    """It sends and receives."""
    with connection.create_session() as session:
        send_texts(session, Queue(name), "one")
        assert receive_texts(session.create_consumer(Queue(name)), 1) == ["one"]


# -- tokens


def test_a_token(guarded: Broker, connect: Connect, name: str, secret: Secret) -> None:
    works(connect(guarded.url(user=None), token=secret(token(guarded.user))), name)


def test_a_token_that_is_wrong(guarded: Broker, connect: Connect, secret: Secret) -> None:
    wrong = secret(token(guarded.user)[:-6] + "wrongx")
    said = refusal(connect, guarded.url(user=None), token=wrong)
    assert "token_file" in said


def test_a_token_that_has_expired(guarded: Broker, connect: Connect, secret: Secret) -> None:
    said = refusal(connect, guarded.url(user=None), token=secret(token(guarded.user, seconds=-60)))
    assert "token_file" in said
    assert "expired" in said


def test_no_login(guarded: Broker, connect: Connect) -> None:
    assert "demands a login" in refusal(connect, guarded.url(user=None))


def test_a_token_expires_while_connected(
    guarded: Broker, connect: Connect, name: str, secret: Secret, tmp_path: Path
) -> None:
    """The connection ends, with a remedy: one whose file has another token by then goes on."""
    expiring, file = secret(token(guarded.user, seconds=4)), tmp_path / "token"
    file.write_text(expiring)
    ending = connect(guarded.url(user=None), token=expiring, reconnect_attempts=0)
    going_on = connect(guarded.url(user=None), token_file=str(file))
    told: list[Exception] = []
    lost: list[Exception] = []
    ending.exception_listener, going_on.exception_listener = told.append, lost.append
    works(going_on, name)
    file.write_text(secret(token(guarded.user, seconds=3600)))
    eventually(lambda: told, 20)
    assert "token_file" in str(told[0])
    assert guarded.url(user=None).rpartition("/")[2] in str(told[0])
    assert expiring not in str(told[0])
    with pytest.raises(JMSException):
        send_texts(ending.create_session(), Queue(name), "two")
    works(going_on, name)
    assert lost == []


# -- user and password


def test_a_password(guarded: Broker, connect: Connect, name: str, secret: Secret) -> None:
    secret(guarded.password)
    works(connect(guarded.url()), name)


@pytest.mark.parametrize("user", ["jb", "nobody"])
def test_a_password_that_is_wrong(guarded: Broker, connect: Connect, secret: Secret, user: str) -> None:
    wrong = secret("not-this-password")
    said = refusal(connect, guarded.url(user=user, password=wrong))
    assert user in said
    assert "check user and password" in said
    assert wrong not in said


# -- certificates


def _trusting(guarded: Broker) -> dict[str, str]:
    return {"ca_file": str(guarded.certificates.ca)}


def _showing(guarded: Broker) -> dict[str, str]:
    files = guarded.certificates
    return _trusting(guarded) | {"certificate": str(files.client), "key": str(files.client_key)}


def _url(guarded: Broker) -> str:
    return guarded.url("pulsar+ssl", user=None)


def test_a_certificate(guarded: Broker, connect: Connect, name: str) -> None:
    works(connect(_url(guarded), **_showing(guarded)), name)


def test_no_certificate(guarded: Broker, connect: Connect) -> None:
    assert "options certificate, key" in refusal(connect, _url(guarded), **_trusting(guarded))


def test_a_certificate_of_another_authority(guarded: Broker, connect: Connect, tmp_path: Path) -> None:
    made = trustme.CA().issue_cert("jb@localhost", common_name=guarded.user)
    made.private_key_and_cert_chain_pem.write_to_path(str(tmp_path / "client.pem"))
    options = _trusting(guarded) | {"certificate": str(tmp_path / "client.pem")}
    said = refusal(connect, _url(guarded), **options)
    assert "certificate" in said


def test_a_certificate_that_names_no_user(guarded: Broker, connect: Connect) -> None:
    """Here the server's own, which the broker trusts."""
    files = guarded.certificates
    options = _trusting(guarded) | {"certificate": str(files.server), "key": str(files.server_key)}
    assert "common name" in refusal(connect, _url(guarded), **options)


def test_the_broker_is_checked(guarded: Broker, connect: Connect, name: str, tmp_path: Path) -> None:
    """Its authority and its name: pulsar-client alone would not check the name."""
    other = tmp_path / "other.pem"
    trustme.CA().cert_pem.write_to_path(str(other))
    shown = _showing(guarded)
    assert "ca_file" in refusal(connect, _url(guarded), **shown | {"ca_file": str(other)})
    said = refusal(connect, _url(guarded), **shown | {"server_name": "elsewhere.example"})
    assert "elsewhere.example" in said
    assert "server_name" in said
    works(connect(_url(guarded), **shown | {"server_name": "localhost"}), name)


# -- permissions


@pytest.mark.parametrize("place", [Queue, Topic])
def test_what_is_not_permitted(
    guarded: Broker, connect: Connect, name: str, secret: Secret, place: type[Queue] | type[Topic]
) -> None:
    """The error names the place, the broker and the remedy, and the connection stays."""
    connection = connect(guarded.url(user=None), token=secret(token("another")))
    session, there = connection.create_session(), place(name)
    for attempt in (
        lambda: send_texts(session, there, "one"),
        lambda: session.create_consumer(there),
        lambda: send_texts(session, there, "one"),
    ):
        with pytest.raises(JMSSecurityException) as caught:
            attempt()
        said = str(caught.value)
        assert name in said
        assert "Pulsar 4" in said
        assert "grants permissions" in said


def test_a_permission_that_is_taken_away(guarded: Broker, connect: Connect, name: str) -> None:
    """A sender that the broker had let in is told at its next send, once the topic has moved."""
    topic, role = f"persistent/public/default/{name}", "guest"
    guarded.admin.put(f"/admin/v2/{topic}")
    guarded.admin.post(f"/admin/v2/{topic}/permissions/{role}", ["produce", "consume"])
    connection = connect(guarded.url(user=None), token=token(role))
    works(connection, name)
    guarded.admin.delete(f"/admin/v2/{topic}/permissions/{role}")
    guarded.admin.put(f"/admin/v2/{topic}/unload")
    session = connection.create_session()

    def refused() -> bool:
        try:
            send_texts(session, Queue(name), "two")
        except JMSException as error:
            return "grants permissions" in str(error) and name in str(error)
        return False

    eventually(refused, 15)
    guarded.admin.post(f"/admin/v2/{topic}/permissions/{role}", ["produce", "consume"])
    works(connect(guarded.url(user=None), token=token(role)), name)

"""Logging in with a certificate whose key has a password."""

from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization

import jmsbridge
from integration.lab.broker import Broker
from jmsbridge import JMSException, Queue
from jmsbridge.testing.suite.support import receive_texts, send_texts

_PASSWORD = "only-for-the-key"


@pytest.fixture
def settings(broker: Broker, tmp_path: Path) -> dict[str, str]:
    """The options for a login with the client certificate, without the password of the key."""
    plain = serialization.load_pem_private_key(broker.certificates.client_key.read_bytes(), None)
    locked = tmp_path / "locked.pem"
    form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    locked.write_bytes(plain.private_bytes(*form, serialization.BestAvailableEncryption(_PASSWORD.encode())))
    return {
        "login": "external",
        "ca_file": str(broker.certificates.ca),
        "certificate": str(broker.certificates.client),
        "key": str(locked),
    }


def test_the_password_opens_the_key(broker: Broker, settings: dict[str, str], name: str) -> None:
    with jmsbridge.connect(broker.url("rabbitmqs", user=None), key_password=_PASSWORD, **settings) as connection:
        connection.start()
        session = connection.create_session()
        send_texts(session, Queue(name), "by certificate")
        assert receive_texts(session.create_consumer(Queue(name)), 1) == ["by certificate"]


@pytest.mark.parametrize("password", [None, "not-the-password"], ids=["missing", "wrong"])
def test_without_it_the_error_says_what_is_missing(
    broker: Broker, settings: dict[str, str], password: str | None
) -> None:
    more = {} if password is None else {"key_password": password}
    with pytest.raises(JMSException, match="key_password") as caught:
        jmsbridge.connect(broker.url("rabbitmqs", user=None), **settings, **more)
    assert "locked.pem" in str(caught.value)
    assert "not-the-password" not in str(caught.value)

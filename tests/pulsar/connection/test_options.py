"""Options: wrong ones are refused before anything is opened, and secrets are never shown (issue 17)."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

import jmsbridge
from jmsbridge import ConfigurationError
from jmsbridge.spi import ConnectFailed, Endpoint
from jmsbridge_pulsar.administration.rest import rest_of
from jmsbridge_pulsar.connection.options import PulsarOptions, WithoutTls, login_of

SECRET = "the-secret"
PLAIN = Endpoint(scheme="pulsar", host="broker", port=6650)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"token": "a", "token_file": "b"}, "exclude"),
        ({"token": ""}, "one word"),
        ({"token": f"{SECRET} and more"}, "one word"),
        ({"token": f"{SECRET}\r\nHost: elsewhere"}, "one word"),
        ({"token": f"{SECRET}é"}, "one word"),
        ({"namespace": "public"}, "tenant/namespace"),
        ({"namespace": "public/default/more"}, "tenant/namespace"),
        ({"namespace": "/default"}, "tenant/namespace"),
        ({"admin_url": "broker:8080"}, "admin_url"),
        ({"admin_url": "http://"}, "admin_url"),
        ({"admin_url": "ftp://broker"}, "admin_url"),
        ({"admin_url": "http://broker:port"}, "admin_url"),
        ({"admin_url": "http://[broker"}, "admin_url"),
        ({"admin_url": "http://broker:8080?token=" + SECRET}, "admin_url"),
        ({"admin_url": f"http://user:{SECRET}@broker:8080"}, "must not have a user"),
    ],
)
def test_wrong_options(options: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why) as caught:
        PulsarOptions(**options)
    assert SECRET not in str(caught.value)
    with pytest.raises(ConfigurationError, match=why) as refused:
        jmsbridge.connect("pulsar://broker:6650", **options)
    assert SECRET not in str(refused.value)
    assert SECRET not in repr(refused.value)


@pytest.mark.parametrize("name", ["ca_file", "certificate", "key", "key_password", "server_name"])
def test_options_of_tls_need_tls(name: str) -> None:
    with pytest.raises(msgspec.ValidationError, match="pulsar\\+ssl"):
        msgspec.convert({name: "x"}, WithoutTls)
    assert getattr(msgspec.convert({name: "x"}, PulsarOptions), name) == "x"


@pytest.mark.parametrize(
    "url", ["pulsar://broker?batching=perhaps", "pulsar://broker?unknown=1", "pulsar://broker?verify=x"]
)
def test_values_of_another_type(url: str) -> None:
    with pytest.raises(ConfigurationError):
        jmsbridge.connect(url)


def test_secrets_are_not_shown() -> None:
    options = PulsarOptions(token=SECRET, key_password=SECRET, admin_url="https://broker:8443")
    endpoint = Endpoint(scheme="pulsar+ssl", host="broker", user="user", password=SECRET)
    assert SECRET not in f"{options!r}{options}{endpoint!r}{endpoint}{rest_of(endpoint, options)!r}"
    assert "token='***'" in repr(options)
    assert "token=None" in repr(PulsarOptions())


def test_the_login_is_the_first_of_user_file_token_and_certificate(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("from-file\n")
    user = Endpoint(scheme="pulsar", host="broker", user="user", password="pass:word")
    assert login_of(user, PulsarOptions(token="a")) == ("basic", b"user:pass:word")
    assert login_of(PLAIN, PulsarOptions(token_file=str(file), certificate="c")) == ("token", b"from-file")
    assert login_of(PLAIN, PulsarOptions(token="a", certificate="c")) == ("token", b"a")
    assert login_of(PLAIN, PulsarOptions(certificate="c")) == ("tls", b"")
    assert login_of(PLAIN, PulsarOptions()) is None


def test_the_file_with_the_token_is_read_each_time(tmp_path: Path) -> None:
    file = tmp_path / "token"
    options = PulsarOptions(token_file=str(file))
    for text in ("one", "two"):
        file.write_text(text)
        assert login_of(PLAIN, options) == ("token", text.encode())


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "FileNotFoundError"),
        (b"", "nothing"),
        (b" \n", "nothing"),
        (SECRET.encode() + b"\nand more", "more than one word"),
        (SECRET.encode() + b"\xff", "UnicodeDecodeError"),
        (SECRET.encode() + "é".encode(), "more than one word"),
    ],
)
def test_a_file_without_a_token(tmp_path: Path, content: bytes | None, why: str) -> None:
    file = tmp_path / "token"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ConnectFailed, match=why) as caught:
        login_of(PLAIN, PulsarOptions(token_file=str(file)))
    assert str(file) in str(caught.value)
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None

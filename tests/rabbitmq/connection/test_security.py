"""What is wrong about certificates and logins is said before anything is sent, by the option's name."""

from pathlib import Path

import pytest
import trustme
from cryptography.hazmat.primitives import serialization

from jmsbridge.config import resolve
from jmsbridge.errors import ConfigurationError
from jmsbridge.spi import ConnectFailed, Endpoint
from jmsbridge_rabbitmq.connection.options import RabbitOptions
from jmsbridge_rabbitmq.connection.parameters import parameters

ENDPOINT = Endpoint(scheme="rabbitmqs", host="localhost")


@pytest.mark.parametrize(
    "option", ["ca_file=/nope", "certificate=/x", "key=/x", "key_password=zz", "server_name=q", "verify=false"]
)
def test_options_of_tls_need_tls(option: str) -> None:
    with pytest.raises(ConfigurationError, match=f"option '{option.partition('=')[0]}' needs TLS: rabbitmqs://"):
        resolve(f"rabbitmq://localhost?{option}")
    assert resolve(f"rabbitmqs://localhost?{option}").scheme == "rabbitmqs"


def test_a_profile_that_forgets_tls_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "jmsbridge.toml").write_text("[profiles.plain]\nurl='rabbitmq://h'\nca_file='ca.pem'", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("JMSBRIDGE_CONFIG", raising=False)
    with pytest.raises(ConfigurationError, match=r"^profile 'plain' .*: option 'ca_file' needs TLS"):
        resolve("plain")


@pytest.mark.parametrize("scheme", ["rabbitmq", "rabbitmqs"])
def test_an_external_login_needs_a_certificate(scheme: str) -> None:
    with pytest.raises(ConfigurationError, match=r"option 'login' is 'external'.*give 'certificate'"):
        resolve(f"{scheme}://localhost?login=external")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A certificate, its key, the key once more with a password, and the key of another one."""
    authority = trustme.CA()
    leaf = authority.issue_cert("me")
    leaf.cert_chain_pems[0].write_to_path(str(tmp_path / "me.pem"))
    leaf.private_key_pem.write_to_path(str(tmp_path / "me.key"))
    key = serialization.load_pem_private_key(leaf.private_key_pem.bytes(), None)
    form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    (tmp_path / "locked.key").write_bytes(key.private_bytes(*form, serialization.BestAvailableEncryption(b"hunter2")))
    authority.issue_cert("other").private_key_pem.write_to_path(str(tmp_path / "other.key"))
    return tmp_path


@pytest.mark.parametrize(
    ("certificate", "key", "password", "said"),
    [
        ("me.pem", None, None, "me.pem has no private key (PEM) in it: option 'key' names the file that has"),
        ("me.key", None, None, "me.key has no certificate (PEM) in it"),
        ("me.pem", "locked.key", None, "locked.key is encrypted, and option 'key_password' is missing"),
        ("me.pem", "locked.key", "hunter3", "locked.key is encrypted, and option 'key_password' is wrong"),
        ("me.pem", "other.key", None, "key values mismatch"),
        ("me.pem", "nowhere.key", None, "No such file"),
    ],
)
def test_certificate_files_that_do_not_fit(
    files: Path, certificate: str, key: str | None, password: str | None, said: str
) -> None:
    options = RabbitOptions(
        certificate=str(files / certificate), key=None if key is None else str(files / key), key_password=password
    )
    with pytest.raises(ConnectFailed, match="cannot be used") as caught:
        parameters(ENDPOINT, options)
    assert said in str(caught.value)
    assert "hunter3" not in str(caught.value)


def test_certificate_files_that_fit(files: Path) -> None:
    for key, password in (("me.key", None), ("locked.key", "hunter2")):
        options = RabbitOptions(certificate=str(files / "me.pem"), key=str(files / key), key_password=password)
        assert parameters(ENDPOINT, options).ssl_options is not None

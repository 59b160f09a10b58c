"""TLS options, and what is wrong with certificate files, in words."""

import logging
import ssl
from pathlib import Path

import pytest
import trustme
from cryptography.hazmat.primitives import serialization

from jmsbridge.spi import ConnectFailed
from jmsbridge.transport.network.tls import TlsOptions, client_context, refuse_tls_options

HERE = "acmes://here"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A certificate, its key, the same key with a password, and the key of another certificate."""
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
        ("me.pem", None, None, "me.pem has no private key (PEM) in it: set option 'key' to the file that has"),
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
    options = TlsOptions(
        certificate=str(files / certificate), key=None if key is None else str(files / key), key_password=password
    )
    with pytest.raises(ConnectFailed, match="cannot be used") as caught:
        client_context(options, HERE)
    assert said in str(caught.value)
    assert "hunter3" not in str(caught.value)


def test_certificate_files_that_fit(files: Path) -> None:
    for key, password in (("me.key", None), ("locked.key", "hunter2")):
        options = TlsOptions(certificate=str(files / "me.pem"), key=str(files / key), key_password=password)
        assert client_context(options, HERE)


@pytest.mark.parametrize("option", ["ca_file", "certificate", "key", "key_password", "server_name"])
def test_an_option_of_tls_is_refused_without_tls(option: str) -> None:
    with pytest.raises(ValueError, match=f"option '{option}' needs TLS: acmes:// instead of acme://"):
        refuse_tls_options(TlsOptions(**{option: "x"}), "acme", "acmes")  # type: ignore[arg-type]


def test_verify_off_needs_tls_too_and_other_values_pass() -> None:
    refuse_tls_options(TlsOptions(), "acme", "acmes")
    with pytest.raises(ValueError, match="option 'verify' needs TLS"):
        refuse_tls_options(TlsOptions(verify=False), "acme", "acmes")


def test_verify_off_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    assert client_context(TlsOptions(), HERE).verify_mode is ssl.CERT_REQUIRED
    assert not caplog.records
    context = client_context(TlsOptions(verify=False), HERE)
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_NONE, False)
    assert [(each.levelno, "anyone in between" in each.getMessage()) for each in caplog.records] == [
        (logging.WARNING, True)
    ]


def test_the_password_of_a_key_is_not_shown() -> None:
    shown = repr(TlsOptions(key_password="hunter2", server_name="broker.example"))
    assert "hunter2" not in shown
    assert "server_name='broker.example'" in shown

"""Mistakes in certificates and logins are reported before anything is sent, with the option's name."""

from pathlib import Path

import pytest

from jmsbridge.config import resolve
from jmsbridge.errors import ConfigurationError


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
    with pytest.raises(ConfigurationError, match=r"option 'login' is 'external'.*set the option 'certificate'"):
        resolve(f"{scheme}://localhost?login=external")

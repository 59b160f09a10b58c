"""Every command says that a scheme has no backend in this version, and its advice is right."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

import jmsbridge
from jmsbridge.config.backends import EXTRAS
from jmsbridge.errors import ConfigurationError
from jmsbridge.spi import registry

Run = Callable[..., Result]

MISSING = "the backend for 'amqp' lacks its client library (No module named 'proton'): pip install 'jmsbridge[amqp]'"


def _without_proton(monkeypatch: pytest.MonkeyPatch) -> None:
    real = registry.load

    def lacks(scheme: str) -> Any:
        if scheme.startswith("amqp"):
            raise ImportError("No module named 'proton'", name="proton")
        return real(scheme)

    monkeypatch.setattr(registry, "load", lacks)


@pytest.mark.parametrize("more", [(), ("--json",), ("--write",)])
def test_an_import_whose_profile_cannot_be_used_does_not_end_with_0(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...]
) -> None:
    _without_proton(monkeypatch)
    result = run("import", "auto://broker:61616", *more)
    assert result.exit_code == 2
    assert f"error: the profile cannot be used yet: {MISSING}" in result.stderr
    written = tmp_path / "jmsbridge.toml"
    told = written.read_text(encoding="utf-8") if more == ("--write",) else result.stdout
    assert "amqp://broker:61616" in told


def test_an_import_whose_profile_can_be_used_ends_with_0(run: Run) -> None:
    assert run("import", "amqp://u:p@broker/v").exit_code == 0
    assert run("import", "vm://localhost").exit_code == 0


def test_a_client_library_that_is_missing_is_named_with_its_extra(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    real = registry.load

    def lacks(scheme: str) -> Any:
        if scheme.startswith("rabbitmq"):
            raise ImportError("No module named 'pika'", name="pika")
        return real(scheme)

    monkeypatch.setattr(registry, "load", lacks)
    for command in (("import", "amqp://u:p@h/v"), ("config", "show", "rabbitmq://h"), ("doctor", "rabbitmq://h")):
        result = run(*command)
        assert result.exit_code == 2
        assert "pika" in result.stderr
        assert "pip install 'jmsbridge[rabbitmq]'" in result.stderr


def test_a_wrong_profile_is_reported_in_json_too(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _without_proton(monkeypatch)
    (tmp_path / "jmsbridge.toml").write_text("[profiles.x]\nurl = 'amqp://h'\n", encoding="utf-8")
    (document,) = json.loads(run("config", "check", "--json").stdout)
    assert MISSING in document["problem"]


@pytest.mark.parametrize(
    "target",
    [
        "tcp://broker:61616",
        "ssl://broker:61617",
        "nio://broker",
        "nio+ssl://broker",
        "auto+nio+ssl://broker",
        "FAILOVER:(tcp://a:1,tcp://b:2)?randomize=false",
        "failover://(tcp://a,tcp://b)",
        "(tcp://a:1,tcp://b:2)?ha=true&user=me&password=hunter2",
        "tcp://a?sslEnabled=true#tcp://b",
        "vm://localhost",
        "discovery:(multicast://default)",
        ["tcp://a", "tcp://b"],
    ],
    ids=str,
)
def test_a_url_of_a_java_client_points_to_the_import(target: str | list[str]) -> None:
    with pytest.raises(ConfigurationError) as caught:
        jmsbridge.connect(target)
    assert "Java client" in str(caught.value)
    assert "`jmsbridge import 'URL'`" in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_a_third_party_backend_may_have_such_a_scheme() -> None:
    registry.register("tcp", registry.load("embedded"))
    try:
        with pytest.raises(jmsbridge.JMSError, match="embedded"):
            jmsbridge.connect("tcp://host")
    finally:
        registry.unregister("tcp")


def test_extras_are_advised_for_what_this_version_has() -> None:
    assert set(EXTRAS) <= set(registry.names())

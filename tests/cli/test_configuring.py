"""config, import and bench."""

import json
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

import jmsbridge
from jmsbridge.cli.target import complete_target

Run = Callable[..., Result]


@pytest.fixture
def profiles(tmp_path: Path) -> Path:
    path = tmp_path / "jmsbridge.toml"
    path.write_text("[profiles.orders]\nurl = 'embedded:'\npassword = 'hunter2'\nprefetch = 17\n", encoding="utf-8")
    return path


@pytest.mark.usefixtures("profiles")
def test_show_says_where_each_value_is_from(run: Run) -> None:
    document = json.loads(run("config", "show", "orders", "--json", "-o", "send_timeout=2s").stdout)
    assert document["settings"]["prefetch"]["value"] == 17
    assert document["settings"]["prefetch"]["from"].startswith("profile 'orders'")
    assert document["settings"]["send_timeout"] == {"value": 2.0, "from": "call"}
    assert document["settings"]["password"]["value"] == "***"
    result = run("config", "show", "orders")
    assert "prefetch" in result.stdout
    assert "hunter2" not in result.output
    assert run("config", "show", "ordres").exit_code == 2


def test_credentials_may_be_given_as_options(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    guarded = "embedded:?broker=options-may-log-in&credentials=me:hunter2"
    options = "-o", "user=me", "-o", "password=hunter2"
    assert run("send", "a", "x", "-t", guarded, "-q", *options).exit_code == 0
    monkeypatch.setenv("JMSBRIDGE_PASSWORD", "of the environment")
    assert run("send", "a", "x", "-t", guarded, "-q", *options).exit_code == 0
    assert run("send", "a", "x", "-t", guarded, "-q", "-o", "user=me").exit_code == 1
    monkeypatch.delenv("JMSBRIDGE_PASSWORD")
    assert run("send", "a", "x", "-t", guarded, "-q", "-o", "user=stranger", "-o", "password=zzz").exit_code == 1
    shown = json.loads(run("config", "show", "embedded:", "--json", "-o", "password=hunter2").stdout)
    assert shown["settings"]["password"] == {"value": "***", "from": "call"}


def test_path_lists_where_files_may_be(run: Run, profiles: Path, tmp_path: Path) -> None:
    assert run("config", "path").stdout.splitlines() == [
        f"{profiles}\texists",
        f"{tmp_path / 'user' / 'jmsbridge' / 'jmsbridge.toml'}\tmissing",
    ]
    assert json.loads(run("config", "path", "--json").stdout)[0] == {"path": str(profiles), "exists": True}


def test_check_names_every_wrong_profile(run: Run, profiles: Path) -> None:
    assert run("config", "check").stdout == "orders\tgood\n"
    profiles.write_text(
        "[profiles.a]\nurl = 'embedded:'\nprefetsch = 1\n[profiles.b]\nurl = 'x:'\n[profiles.c]\nurl='embedded:'\n",
        encoding="utf-8",
    )
    result = run("config", "check")
    assert (result.exit_code, result.stdout) == (2, "c\tgood\n")
    assert "did you mean 'prefetch'" in result.stderr
    document = json.loads(run("config", "check", "--json").stdout)
    assert [each["problem"] is None for each in document] == [False, False, True]


def test_an_imported_profile_can_be_used(run: Run, tmp_path: Path) -> None:
    source = tmp_path / "application.yml"
    source.write_text("spring: {artemis: {mode: embedded, pool: {enabled: true}}}", encoding="utf-8")
    result = run("import", "application.yml")
    assert (result.exit_code, result.stdout) == (0, '[profiles.application]\nurl = "embedded:"\n')
    assert "no equivalent: spring.artemis.pool.enabled: " in result.stderr
    assert run("import", "application.yml", "--write", "--profile", "shop").exit_code == 0
    with jmsbridge.connect("shop") as connection:
        assert connection.meta_data.jms_version == "3.1"
    again = run("import", "application.yml", "--write", "--profile", "shop")
    assert (again.exit_code, "--force" in again.stderr) == (2, True)
    assert run("import", "application.yml", "--write", "--profile", "shop", "--force").exit_code == 0


def test_import_of_a_url_as_json(run: Run) -> None:
    result = run("import", "failover:(tcp://a:61616)?jms.password=hunter2", "--json", "--profile", "mq")
    document = json.loads(result.stdout)
    assert document["profile"] == {"url": "amqp://a:5672", "password": "${env:MQ_PASSWORD}"}
    assert {note["kind"] for note in document["notes"]} == {"secret", "changed"}
    assert "hunter2" not in result.output


def test_import_reads_files_of_both_encodings(run: Run, tmp_path: Path) -> None:
    for encoding in ("utf-8", "latin-1"):
        text = "spring.activemq.broker-url=auto://h:1\nspring.activemq.user=Jürgen\n"
        (tmp_path / "a.properties").write_text(text, encoding=encoding)
        profile = tomllib.loads(run("import", "a.properties").stdout)["profiles"]["a"]
        assert profile == {"url": "amqp://h:1", "user": "Jürgen"}


@pytest.mark.parametrize("source", ["nowhere.properties", "nothing", "folder.yml", "notes.txt", "big.yml", "udp://x"])
def test_an_impossible_import_ends_with_2(run: Run, tmp_path: Path, source: str) -> None:
    (tmp_path / "folder.yml").mkdir()
    (tmp_path / "notes.txt").write_text("x", encoding="utf-8")
    (tmp_path / "big.yml").write_bytes(b" " * ((1 << 20) + 1))
    result = run("import", source)
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.output


def test_bench_measures_and_leaves_nothing(run: Run) -> None:
    result = run("bench", "-n", "30", "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["size"] == 256
    assert len(document["figures"]) == 5
    assert all(figure > 0 for figure in document["figures"].values())
    assert len(run("bench", "-n", "5", "--non-persistent").stdout.splitlines()) == 5


def test_bench_on_a_given_queue(run: Run) -> None:
    assert run("bench", "-n", "5", "--queue", "mine").exit_code == 0
    assert run("send", "mine", "x", "-q").exit_code == 0
    result = run("bench", "-n", "5", "--queue", "mine")
    assert (result.exit_code, "not empty" in result.stderr) == (2, True)


@pytest.mark.usefixtures("profiles")
def test_a_shell_completes_profiles_and_schemes() -> None:
    assert complete_target("ord") == ["orders"]
    assert "embedded:" in complete_target("")


def test_a_broken_file_does_not_break_completion(profiles: Path) -> None:
    profiles.write_text("[", encoding="utf-8")
    assert complete_target("emb") == ["embedded:"]

"""The launcher's command line, on the fake broker."""

import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from integration.lab.broker import SERVERS
from integration.lab.cli import app
from integration.lab.errors import BrokerFailed
from integration.lab.running.processes import inside
from integration.lab.starting import find
from integration.lab.table import KINDS
from integration.lab.tests.fake import FAKE, Fake, ask
from tools.laws.source import ROOT


def run(*arguments: str, code: int = 0) -> Result:
    result = CliRunner().invoke(app, arguments, prog_name="brokers")
    assert result.exit_code == code, result.output
    return result


def test_up_status_and_down(fake: Fake) -> None:
    up = run("up", "fake")
    assert up.stdout == f"fake fake://127.0.0.1:{FAKE.ports['main']}\n"
    assert up.stderr.splitlines()[:2] == ["Fake broker: nothing to do", "Fake broker: starting"]
    assert "Fake broker is up already" in run("up", "fake").stderr
    status = next(line for line in run("status").stdout.splitlines() if line.startswith("fake"))
    assert status.split() == ["fake", "1.0", "yes", "yes", f"main:{FAKE.ports['main']}"]
    assert run("logs", "fake", "-n", "1").stdout == "listening\n"
    ask(FAKE.ports["main"], b"a")
    run("restart", "fake", "--kill")
    assert ask(FAKE.ports["main"], b"") == b"kept a"
    assert "Fake broker: down" in run("down").stderr
    assert find("fake") is None
    assert "Fake broker is not up" in run("down", "fake").stderr


def test_a_crashed_broker_is_shown_and_restarted_with_its_data(fake: Fake) -> None:
    run("up", "fake")
    ask(FAKE.ports["main"], b"a")
    broker = find("fake")
    assert broker is not None
    broker.kill()
    assert "crashed" in run("status").stdout
    run("up", "fake")
    assert ask(FAKE.ports["main"], b"") == b"kept a"


def test_options_are_given_at_the_start(fake: Fake) -> None:
    assert "no option 'sour'" in run("up", "fake", "--with", "sour", code=2).stderr
    run("up", "fake", "--with", "spiced")
    broker = find("fake")
    assert broker is not None
    assert broker.options == ("spiced",)
    run("up", "fake", "--with", "spiced")
    run("up", "fake")
    run("down")
    run("up", "fake")
    assert "was started with other options: take it down first" in run("up", "fake", "--with", "spiced", code=1).stderr


def test_env_prints_variables_for_a_shell(fake: Fake) -> None:
    run("up", "fake")
    lines = [shlex.split(line) for line in run("env", "fake").stdout.splitlines()]
    assert {word for word, _ in lines} == {"export"}
    found = dict(assignment.split("=", 1) for _, assignment in lines)
    assert found["JMSBRIDGE_FAKE_URL"] == f"fake://jb:jbpass@127.0.0.1:{FAKE.ports['main']}"
    assert Path(found["JMSBRIDGE_FAKE_CA"]).read_text().startswith("-----BEGIN CERTIFICATE")


@pytest.mark.parametrize("command", ["logs", "restart", "env"])
def test_a_broker_that_is_not_up_is_an_error_in_one_line(fake: Fake, command: str) -> None:
    said = run(command, "fake", code=1)
    assert said.stderr == "error: Fake broker is not up: python -m integration.lab up fake\n"
    assert said.stdout == ""


def test_an_unknown_name_is_a_wrong_command_line(cache: Path) -> None:
    assert "there is no broker 'nix'" in " ".join(run("up", "nix", code=2).stderr.replace("│", "").split())


def test_up_without_fetched_brokers_is_an_error(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    fake.home = None
    assert "no broker is fetched yet" in run("up", code=1).stderr


def test_check_reports_each_broker(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    row = run("check", "fake").stdout.splitlines()[1]
    assert row.startswith("Fake broker")
    assert row.split()[-1] == "ok"

    def refused(say: object) -> Path:
        raise BrokerFailed("no network")

    monkeypatch.setattr(fake, "fetch", refused)
    failed = run("check", "fake", code=1)
    assert "no network" in failed.stdout
    assert "Fake broker: no network" in failed.stderr


def test_fetch_continues_after_a_broker_that_is_unavailable(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(say: object) -> Path:
        raise BrokerFailed("no network")

    monkeypatch.setattr(fake, "fetch", refused)
    assert "Fake broker: no network" in run("fetch", "fake", code=1).stderr


def test_env_prints_no_variables_of_a_crashed_broker(fake: Fake) -> None:
    run("up", "fake")
    broker = find("fake")
    assert broker is not None
    broker.kill()
    for names in (["fake"], []):
        said = run("env", *names, code=1)
        assert said.stdout == ""
        assert said.stderr == (
            "error: Fake broker has crashed; start it again with its data: python -m integration.lab up fake\n"
        )


def test_env_prints_the_other_brokers_if_one_has_crashed(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KINDS, "second", replace(FAKE, name="second", title="Second"))
    monkeypatch.setitem(SERVERS, "second", fake)
    run("up", "fake", "second")
    broker = find("fake")
    assert broker is not None
    broker.kill()
    said = run("env", code=1)
    assert "Fake broker has crashed" in said.stderr
    assert "JMSBRIDGE_SECOND_URL" in said.stdout
    assert "JMSBRIDGE_FAKE_URL" not in said.stdout


@pytest.mark.parametrize("damaged", ["", "{", "[]", "{}", '{"processes": [{"pid": 1}]}', '{"processes": []}', "\xff"])
def test_an_unreadable_state_is_removed(fake: Fake, cache: Path, damaged: str) -> None:
    run("up", "fake")
    (cache / "runs" / "fake" / "state.json").write_bytes(damaged.encode("latin-1"))
    assert ["fake", "1.0", "yes", "no"] in [line.split() for line in run("status").stdout.splitlines()]
    assert run("down").stderr == "removed the remains of fake\n"
    assert [*(cache / "runs").iterdir(), *inside(cache)] == []


def test_an_invalid_setting_is_named(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JMSBRIDGE_BROKERS", "dockr")
    assert run("up", "fake", code=1).stderr.endswith("error: JMSBRIDGE_BROKERS may be docker or unset, not 'dockr'\n")
    monkeypatch.setenv("JMSBRIDGE_BROKERS", "")
    run("up", "fake")


def test_ctrl_c_ends_with_130_and_one_line(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(say: object) -> Path:
        raise KeyboardInterrupt

    monkeypatch.setattr(fake, "fetch", interrupted)
    assert "stopped by Ctrl-C" in run("up", "fake", code=130).stderr


def test_ctrl_c_in_a_restart_points_to_status(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    run("up", "fake")
    ask(FAKE.ports["main"], b"a")
    with monkeypatch.context() as patch:
        patch.setattr("integration.lab.broker.wait_ready", interrupted)
        said = run("restart", "fake", "--kill", code=130).stderr
    assert said == "stopped by Ctrl-C; to see what is up: python -m integration.lab status\n"
    assert "crashed" in run("status").stdout
    run("up", "fake")
    assert ask(FAKE.ports["main"], b"") == b"kept a"


def test_help_has_examples_of_commands_that_exist() -> None:
    text = run("--help").stdout
    commands = {line.split("integration.lab ")[1].split()[0] for line in text.splitlines() if "m integration" in line}
    assert {"fetch", "up", "env", "restart", "logs", "down"} <= commands
    for command in commands:
        run(command, "--help")


def test_help_fits_eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    about = run("--help").stdout.partition("╭")[0].splitlines()
    examples = [line for line in about if "-m integration" in line and "Usage" not in line]
    start, end = about.index(examples[0]), about.index(examples[-1])
    assert about[start : end + 1] == examples, "nothing is broken into a second line"
    assert about[end + 1].strip() == ""


def test_the_compose_command_writes_what_is_committed(tmp_path: Path) -> None:
    run("compose", str(tmp_path))
    assert (tmp_path / "compose.yaml").read_text() == (ROOT / "docker" / "compose.yaml").read_text()
    assert (tmp_path / "tls" / "server.key").stat().st_mode & 0o077 == 0

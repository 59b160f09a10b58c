"""``up`` for a broker that was started before with another setting."""

import pytest
from typer.testing import CliRunner

from integration.lab.cli import app
from integration.lab.running.state import load
from integration.lab.starting import find
from integration.lab.tests.fake import FAKE, Fake, ask


def up(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["up", *arguments, "fake"])
    assert result.exit_code == 0, result.output
    return result.stderr


def synchronous() -> bool:
    state = load("fake")
    assert state is not None
    return state.sync


@pytest.mark.parametrize(("before", "after"), [((), ("--no-sync",)), (("--no-sync",), ())])
def test_up_restarts_a_crashed_broker_with_the_new_setting(
    fake: Fake, before: tuple[str, ...], after: tuple[str, ...]
) -> None:
    up(*before)
    assert synchronous() is not bool(before)
    ask(FAKE.ports["main"], b"a")
    broker = find("fake")
    assert broker is not None
    broker.kill()
    up(*after)
    assert synchronous() is not bool(after)
    assert ask(FAKE.ports["main"], b"") == b"kept a"
    broker = find("fake")
    assert broker is not None
    broker.restart()
    assert synchronous() is not bool(after), "an ordinary restart changes nothing"


def test_up_reports_a_broker_that_runs_with_another_setting(fake: Fake) -> None:
    up()
    assert up() == "Fake broker is up already\n"
    assert up("--no-sync") == "Fake broker is up already, without --no-sync: take it down first to change that\n"
    assert synchronous()

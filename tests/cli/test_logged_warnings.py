"""What the library logs while a command runs: warnings are printed as warnings, and each error once."""

import logging
from collections.abc import Callable

import pytest
import typer
from typer.testing import CliRunner, Result

from jmsbridge.cli.running import guarded
from jmsbridge.errors import JMSError
from jmsbridge.spi import AddressRefused
from jmsbridge.testing.scripted import Call, ScriptedBackend

log = logging.getLogger("jmsbridge.test")


def stderr(command: Callable[[], int]) -> str:
    app = typer.Typer()
    app.command()(guarded(command))
    return CliRunner().invoke(app, []).stderr


def test_a_logged_warning_is_printed_as_a_warning() -> None:
    def command() -> int:
        log.warning("%s: certificate and host name are not checked", "rabbitmqs://h")
        return 0

    assert stderr(command) == "warning: rabbitmqs://h: certificate and host name are not checked\n"


@pytest.mark.parametrize("text", ["the queue was deleted", "message 3: the queue was deleted"])
def test_the_error_that_ends_the_command_is_printed_once(text: str) -> None:
    def command() -> int:
        log.error("no exception listener for: %s", JMSError("the queue was deleted"))
        raise JMSError(text)

    assert stderr(command) == f"error: {text}\n"


def test_other_logged_errors_are_printed_at_the_end() -> None:
    def command() -> int:
        for _ in range(2):
            log.error("no exception listener for: %s", JMSError("the queue was deleted"))
        log.error("no answer")
        raise JMSError("another one")

    assert stderr(command) == "warning: no answer\nerror: another one\nwarning: the queue was deleted\n"
    log.warning("after the end")
    assert stderr(lambda: 0) == ""


def test_a_queue_deleted_meanwhile_is_reported_once(run: Callable[..., Result]) -> None:
    backend = ScriptedBackend()

    def delete(_: Call) -> None:
        backend.subscription.lose(AddressRefused("queue:q was deleted"))

    backend.script.before["grant"] = delete
    with backend.installed():
        result = run("receive", "q", "--follow", "-t", "scripted:")
    assert (result.exit_code, result.stderr) == (1, "error: queue:q was deleted\n")

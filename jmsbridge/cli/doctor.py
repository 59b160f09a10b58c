"""``jmsbridge doctor``: shows a target and its settings, and tests the connection."""

import sys
from typing import Annotated

import msgspec
import typer
from rich.text import Text

from jmsbridge.cli.backends import print_capabilities
from jmsbridge.cli.configuring import print_settings, settings_document
from jmsbridge.cli.printing import plain, print_json, screen
from jmsbridge.cli.probing import Step, probe, there_and_back
from jmsbridge.cli.running import ERROR, OK
from jmsbridge.cli.target import Broker, PositionalTarget
from jmsbridge.config import Target, config_files
from jmsbridge.core.plan import Plan
from jmsbridge.errors import JMSError
from jmsbridge.spi import Native

__all__ = ["doctor"]


def doctor(
    broker: Broker,
    target: PositionalTarget = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print settings, steps and capabilities as JSON.")] = False,
) -> int:
    """Show a target and every setting with its origin, and test the broker step by step.

    The steps: name, TCP and TLS for a host, folder and file for a file; then login, capabilities, and a message sent
    and received. The first step that fails suggests a remedy. Exits with 0 if the message was received, with 1 if not,
    with 2 if the target is invalid. Secrets are masked.

    Examples:

      jmsbridge doctor

      jmsbridge doctor -t orders

      jmsbridge doctor rabbitmqs://broker-a,rabbitmqs://broker-b -o prefetch=10
    """
    broker = broker.at(target)
    resolved = broker.resolve()
    report = _Report(resolved, as_json)
    reached: dict[str, Native] = {}
    for endpoint in resolved.endpoints:
        native = probe(resolved, endpoint, report.tell)
        if native is not None:
            reached[str(endpoint)] = native
    if reached:
        where, native = next(iter(reached.items()))  # the first one that works, as for a connection
        report.capabilities(native)
        try:
            with broker.connect() as connection:
                report.broker(connection.meta_data.broker)
                last = there_and_back(connection, where)
        except JMSError as error:
            last = Step(where, "message", False, str(error), "the steps above succeeded: try again")
        report.tell(last)
    else:
        last = None
    report.end()
    return OK if last is not None and last.good else ERROR


class _Report:
    """Prints as it goes, or collects for JSON."""

    def __init__(self, resolved: Target, as_json: bool) -> None:
        self._resolved = resolved
        self._console = None if as_json else screen(sys.stdout)
        self._document = {**settings_document(resolved), "steps": [], "capabilities": {}}
        if self._console is not None:
            files = ", ".join(map(str, config_files())) or "none"
            where = ", ".join(map(str, resolved.endpoints))
            self._console.print(plain(f"configuration files: {files}"))
            self._console.print(plain(f"target: {where} ({resolved.origins['target']})"))
            print_settings(resolved, lead="setting")

    def tell(self, step: Step) -> None:
        """Report one step."""
        self._document["steps"].append(msgspec.structs.asdict(step))
        if self._console is None:
            return
        mark = ("✓", "green") if step.good else ("?", "yellow") if step.doubtful else ("✗", "red")
        self._console.print(Text.assemble(mark, " ", plain(f"{step.endpoint}: {step.name}: {step.text}")))
        if step.advice:
            self._console.print(plain(f"  → {step.advice}"))

    def capabilities(self, native: Native) -> None:
        """Report what the first broker that answered supports."""
        rows = Plan(native, self._resolved.options.emulation).capabilities()
        self._document["capabilities"] = {name: row.outcome for name, row in rows.items()}
        if self._console is not None:
            print_capabilities(rows.values(), "capabilities of this broker", "capability")

    def broker(self, name: str) -> None:
        """Report the name of the broker."""
        self._document["broker"] = name

    def end(self) -> None:
        """Report the end of the test."""
        if self._console is None:
            print_json(self._document, indent=2)

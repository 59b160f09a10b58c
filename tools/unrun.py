"""A pytest plugin of this checkout: at the end of a run, what this machine did not run and what would make it run."""

import importlib.util
import shutil
from collections.abc import Iterator

import pytest

from jmsbridge.config.backends import EXTRAS

__all__ = ["not_run", "pytest_deselected", "pytest_terminal_summary"]

_CLIENTS = {"amqp": "proton", "rabbitmq": "pika", "stomp": "stomp", "pulsar": "pulsar"}
_deselected: dict[str, int] = {}


def pytest_deselected(items: list[pytest.Item]) -> None:
    """Remember what was left out on purpose."""
    for item in items:
        if item.get_closest_marker("long"):
            _deselected["long"] = _deselected.get("long", 0) + 1


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say it, above pytest's closing line."""
    skipped = terminalreporter.stats.get("skipped", [])
    lines = list(not_run(_reasons(skipped), _deselected.get("long", 0)))
    terminalreporter.section("not run on this machine")
    for line in lines or ["nothing: every test that exists was run"]:
        terminalreporter.write_line(line)


def not_run(skipped: dict[str, int], long: int) -> Iterator[str]:
    """One line for each thing that was not run: what, and what would make it run."""
    for reason, count in sorted(skipped.items()):
        yield f"{count} skipped: {reason}"
    if long:
        yield f"{long} long runs (repetition, faults, soak): `make test-long`"
    if long and shutil.which("make") is None:
        yield "`make` itself is missing: install it with the system's package manager"


def _reasons(reports: list[pytest.TestReport]) -> dict[str, int]:
    reasons: dict[str, int] = {}
    for report in reports:
        # A skip's longrepr is (path, line, "Skipped: reason").
        detail = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        reason = detail.removeprefix("Skipped: ")
        reasons[reason] = reasons.get(reason, 0) + 1
    return reasons

"""A pytest plugin of this checkout: at the end of a run, what this machine did not run and what would make it run."""

from collections.abc import Iterator
from typing import Any

import pytest

from jmsbridge.config.backends import install_hint
from jmsbridge.spi import registry

__all__ = ["Unrun", "not_run", "pytest_configure"]

_KEY = "jmsbridge-long"


class Unrun:
    """Counts what was left out and says so; one per run, and one per worker of pytest-xdist."""

    def __init__(self) -> None:
        self.long = 0

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        """Remember what was left out on purpose."""
        self.long += sum(item.get_closest_marker("long") is not None for item in items)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """In a worker: hand over to the run that started it."""
        output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
        if output is not None:
            output[_KEY] = self.long

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take over: every worker leaves out the same."""
        self.long = max(self.long, getattr(node, "workeroutput", {}).get(_KEY, 0))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say it, above pytest's closing line."""
        terminalreporter.section("not run on this machine")
        skipped = _reasons(terminalreporter.stats.get("skipped", []))
        for line in list(not_run(skipped, self.long)) or ["nothing: every test that exists was run"]:
            terminalreporter.write_line(line)


def pytest_configure(config: pytest.Config) -> None:
    """Begin to count."""
    config.pluginmanager.register(Unrun(), "jmsbridge-unrun")


def not_run(skipped: dict[str, int], long: int) -> Iterator[str]:
    """One line for each thing that was not run: what, and what would make it run."""
    for reason, count in sorted(skipped.items()):
        yield f"{count} skipped: {reason}"
    for scheme in registry.names():
        try:
            registry.load(scheme)
        except ImportError as error:
            yield f"everything on {scheme}: {error.name or error} is missing; {install_hint(scheme)}"
    if long:
        yield f"{long} long runs (repetition, faults, soak): make test-long"


def _reasons(reports: list[pytest.TestReport]) -> dict[str, int]:
    reasons: dict[str, int] = {}
    for report in reports:
        # A skip's longrepr is (path, line, "Skipped: reason").
        detail = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        reason = detail.removeprefix("Skipped: ")
        reasons[reason] = reasons.get(reason, 0) + 1
    return reasons

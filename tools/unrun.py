"""A pytest plugin of this checkout: at the end of a run, what this machine did not run and what would make it run."""

from collections.abc import Iterator

import pytest

from jmsbridge.config.backends import install_hint
from jmsbridge.spi import registry

__all__ = ["not_run", "pytest_deselected", "pytest_terminal_summary"]

_long = 0


def pytest_deselected(items: list[pytest.Item]) -> None:
    """Remember what was left out on purpose."""
    global _long
    _long += sum(item.get_closest_marker("long") is not None for item in items)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say it, above pytest's closing line."""
    terminalreporter.section("not run on this machine")
    skipped = _reasons(terminalreporter.stats.get("skipped", []))
    for line in list(not_run(skipped, _long)) or ["nothing: every test that exists was run"]:
        terminalreporter.write_line(line)


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

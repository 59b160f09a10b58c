"""A pytest plugin of this checkout: lists at the end of a run the tests that did not run, and how to run them."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from integration.lab.fixtures import reachable
from integration.lab.table import KINDS
from jmsbridge.config.backends import install_hint
from jmsbridge.spi import registry

__all__ = ["MARKS", "Unrun", "not_run", "pytest_configure"]

_KEY = "jmsbridge-left-out"

MARKS = {
    "server": "tests on real brokers and with Java: make test-brokers",
    "long": "long runs (repetition, faults, soak): make test-long",
}
"""Marks of tests that a run deselects, and the command that runs them; a test with both belongs to the last."""

_INAPPLICABLE = "no promise depends on it here"


class Unrun:
    """Counts and reports tests that did not run; one per run, and one per worker of pytest-xdist."""

    def __init__(self) -> None:
        self.left_out: dict[str, int] = {}

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        """Record deselected tests."""
        found = Counter(mark for item in items for mark in [_mark(item)] if mark)
        self.left_out = dict(Counter(self.left_out) + found)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """In a worker: pass the counts to the main process."""
        output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
        if output is not None:
            output[_KEY] = self.left_out

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take the counts of one worker, since all workers deselect the same tests."""
        self.left_out = getattr(node, "workeroutput", {}).get(_KEY, self.left_out)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the report above pytest's last line."""
        terminalreporter.section("not run on this machine")
        skipped = _reasons(terminalreporter.stats.get("skipped", []))
        absent = [each.title for each in KINDS.values() if not reachable(each.name)]
        for line in list(not_run(skipped, self.left_out, absent)) or ["nothing: every test was run"]:
            terminalreporter.write_line(line)


def pytest_configure(config: pytest.Config) -> None:
    """Install the plugin."""
    config.pluginmanager.register(Unrun(), "jmsbridge-unrun")


def not_run(skipped: dict[str, int], left_out: dict[str, int], absent: Iterable[str] = ()) -> Iterator[str]:
    """One line for each group of tests that did not run: what, and how to run it."""
    brokers = ", ".join(absent)
    if brokers:
        yield f"everything on {brokers}: `make brokers` fetches those that are available"
    inapplicable = sum(count for reason, count in skipped.items() if reason.endswith(_INAPPLICABLE))
    if inapplicable:
        yield f"{inapplicable} cases of the compliance suite that do not apply to their broker: listed under compliance"
    for reason, count in sorted(skipped.items()):
        if not reason.endswith(_INAPPLICABLE):
            yield f"{count} skipped: {reason}"
    for scheme in registry.names():
        try:
            registry.load(scheme)
        except ImportError as error:
            yield f"everything on {scheme}: {error.name or error} is missing; {install_hint(scheme)}"
    for mark, what in MARKS.items():
        if left_out.get(mark):
            yield f"{left_out[mark]} {what}"


def _mark(item: pytest.Item) -> str | None:
    return next((mark for mark in reversed(MARKS) if item.get_closest_marker(mark)), None)


def _reasons(reports: list[pytest.TestReport]) -> dict[str, int]:
    reasons: Counter[str] = Counter()
    for report in reports:
        # A skip's longrepr is (path, line, "Skipped: reason").
        detail = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        reasons[detail.removeprefix("Skipped: ")] += 1
    return dict(reasons)

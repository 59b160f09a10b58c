"""A pytest plugin for CI: lists tests that passed only when they were run again, and fails the run if there are many.

Tests of real brokers and of deadlines share two cores with others, so now and then one is late. With
``--reruns`` (pytest-rerunfailures) a single one does not fail the whole run, and it is listed with its error.
"""

import pytest

__all__ = ["LEAST", "ONE_IN", "Reruns", "pytest_configure"]

LEAST = 5
"""So many tests may fail at first in every run: more are a defect."""
ONE_IN = 1000
"""In a run with many tests, so often one of them may, too."""

_LINES = 25  # of an error


class Reruns:
    """Collects the first failures; in the main process, which receives the reports of all workers."""

    def __init__(self) -> None:
        self._errors: dict[str, str] = {}
        self._passed = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember the error of each failure that led to another run."""
        self._passed += report.when == "call" and report.passed
        if report.outcome == "rerun":  # type: ignore[comparison-overlap]  # the plugin's own outcome
            crash = getattr(report.longrepr, "reprcrash", None)
            text = crash.message if crash is not None else report.longreprtext
            self._errors[report.nodeid] = "\n  ".join(text.strip().splitlines()[:_LINES])

    def _limit(self) -> int:
        return max(LEAST, self._passed // ONE_IN)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail the run beyond the limit."""
        if len(self._errors) > self._limit() and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the list above pytest's last line."""
        if not self._errors:
            return
        terminalreporter.section("failed at first and run again")
        for name, error in self._errors.items():
            terminalreporter.write_line(f"{name}: {error}")
        if len(self._errors) > (most := self._limit()):
            terminalreporter.write_line(f"{len(self._errors)} tests, more than {most}: the run has failed")


def pytest_configure(config: pytest.Config) -> None:
    """Install the plugin, but not in the workers of pytest-xdist."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Reruns(), "jmsbridge-reruns")

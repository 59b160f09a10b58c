"""The tests of the examples count as tests with servers, except the contract level."""

import os
from pathlib import Path

import pytest

from integration.lab.collecting import is_contract
from integration.lab.fixtures import required
from redis_harness import program

__all__ = ["collect_ignore", "pytest_collection_modifyitems", "pytest_terminal_summary"]

_HERE = f"{Path(__file__).parent}{os.sep}"

collect_ignore = [] if required() or program() else ["redis_streams"]


@pytest.hookimpl(tryfirst=True)  # before pytest evaluates the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests above the contract level for ``make test-brokers``."""
    for item in items:
        if str(item.path).startswith(_HERE) and not is_contract(item):
            item.add_marker(pytest.mark.server)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was not collected."""
    if collect_ignore:
        terminalreporter.write_line("not run: examples/redis_streams, because this machine has no redis-server")

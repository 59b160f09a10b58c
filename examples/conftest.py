"""The tests of the examples count as tests with servers, except the contract level.

Above it, the suite on an example is for long runs: on the brokers of the product it runs whole.
"""

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
    """Mark tests above the contract level for ``make test-brokers``, or for ``make test-long``."""
    for item in items:
        if str(item.path).startswith(_HERE) and not is_contract(item):
            item.add_marker(pytest.mark.long if item.path.name == "test_suite.py" else pytest.mark.server)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was not collected."""
    if collect_ignore:
        terminalreporter.write_line("not run: examples/redis_streams, because this machine has no redis-server")

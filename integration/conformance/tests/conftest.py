"""The fixture that runs Java tests, and a summary line for each backend: how many of Joram's tests passed."""

import importlib.util
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from integration.conformance.backends import BACKENDS
from integration.conformance.harness import END, JavaTest, Suite, outcome
from integration.lab.fixtures import unavailable
from jmsbridge.spi import registry

__all__ = ["java_test", "pytest_terminal_summary"]


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark all of these tests ``server``, because they need a JDK; some need a broker as well, some are long."""
    item.add_marker(pytest.mark.server)
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    row = BACKENDS.get(parameters.get("backend", ""))
    if row is not None and row.broker:
        item.add_marker(pytest.mark.broker(row.broker))
    if row is not None and row.long:
        item.add_marker(pytest.mark.long)


@pytest.fixture
def java_test(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    record_property: Callable[[str, Any], None],
) -> JavaTest:
    """Run a Java test on a backend; its failure is a failure of the pytest test."""
    folder = tmp_path_factory.getbasetemp()
    if hasattr(request.config, "workerinput"):
        folder = folder.parent  # shared by all workers of a run

    def run(suite: Suite, backend: str, test: str) -> None:
        url = _url(request, backend, folder)
        record = outcome(suite, test, url, backend, _wanted(request, suite, backend), folder)
        if test != END:
            record_property(suite.name, (backend, not record["trace"]))
        if record["trace"]:
            pytest.fail(record["trace"], pytrace=False)

    return run


def _url(request: pytest.FixtureRequest, backend: str, folder: Path) -> str:
    row = BACKENDS[backend]
    if not row.broker:
        return row.url.format(folder=folder)
    if row.module is not None and importlib.util.find_spec(row.module) is None:
        unavailable(f"{row.name}: its client library {row.module} is not installed: pip install jmsbridge[brokers]")
    broker = request.getfixturevalue(row.broker)
    url: str = broker.url(row.scheme)
    registry.load(url.partition(":")[0])
    options = ["emulation.message_groups=allow", row.options]  # the suite sends JMSXGroupID to check that it arrives
    if row.has_rest:
        options.append(f"admin_url={broker.url('http')}")
    return f"{url}?{'&'.join(filter(None, options))}"


def _wanted(request: pytest.FixtureRequest, suite: Suite, backend: str) -> list[str]:
    """The tests of this run that need the same Java process."""
    found = []
    for item in request.session.items:
        given = getattr(item, "callspec", None)
        if given is not None and (given.params.get("suite"), given.params.get("backend")) == (suite.name, backend):
            found.append(given.params["test"])
    return [test for test in found if test != END] or list(suite.tests)


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say it."""
    passed: Counter[str] = Counter()
    run: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            for key, value in getattr(report, "user_properties", ()):
                if key == "joram" and getattr(report, "when", "") == "call":
                    run[value[0]] += 1
                    passed[value[0]] += value[1]
    if run:
        terminalreporter.section("Joram's JMS tests")
    for backend in sorted(run):
        terminalreporter.write_line(f"{backend}: {passed[backend]} of {run[backend]}")

"""Each named case runs on its faulty variants; here it passes if it fails there and quotes the broken promise."""

import os
from collections.abc import Generator, Iterator

import pytest

from jmsbridge.testing import Harness
from jmsbridge.testing.promises import quoted
from tests.suites.faulty.support import be_impatient, broken_harness
from tests.suites.faulty.table import TABLE, Row

WHOLE = os.environ.get("JMSBRIDGE_FAULTY")
"""The variant on which all cases run, with their results unchanged."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A case runs once for each row that names it."""
    if "harness" in metafunc.fixturenames:
        name = metafunc.function.__name__
        rows = [row for row in TABLE if any(case.partition("[")[0] == name for case in row.cases)]
        if WHOLE is not None:
            rows = [next(row for row in TABLE if row.name == WHOLE)]
        metafunc.parametrize("harness", rows, indirect=True, ids=[row.name for row in rows])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep only the named parameter of a case, if a row names one."""
    if WHOLE is not None:
        return
    items[:] = [item for item in items if (row := _row(item)) is None or _is_named(item, row)]


def _row(item: pytest.Item) -> Row | None:
    callspec = getattr(item, "callspec", None)
    row = None if callspec is None else callspec.params.get("harness")
    return row if isinstance(row, Row) else None


def _is_named(item: pytest.Item, row: Row) -> bool:
    name, _, parameters = item.name.partition("[")
    others = parameters.rstrip("]").split("-")
    return any(case in (name, *(f"{name}[{other}]" for other in others)) for case in row.cases)


@pytest.fixture
def harness(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Harness]:
    """A broker with one fault."""
    be_impatient(monkeypatch)
    with broken_harness(request.param.fault) as made:
        yield made


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Invert the result: a failure that quotes the promise passes, anything else fails."""
    report = yield
    row = _row(item)
    if row is None or report.when != "call" or WHOLE is not None:
        return report
    if not report.failed:
        report.outcome = "failed"
        report.longrepr = f"{item.name} does not detect: {row.fault.__doc__}"
    elif quoted(row.broken) in report.longreprtext:
        report.outcome = "passed"
    else:
        report.longrepr = f"{report.longreprtext}\n{item.name} fails, and does not quote: {quoted(row.broken)}"
    return report

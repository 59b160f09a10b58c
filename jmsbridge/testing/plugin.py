"""The pytest plugin of the compliance suite: ``-p jmsbridge.testing.plugin``.

It registers the marks, determines from the plan that production uses what each ``@requires`` case must do, and prints a
summary of the cases that ran natively, were emulated, were refused, or do not apply, with the reasons.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from jmsbridge.errors import UnsupportedFeature
from jmsbridge.spi.errors import NotSupported
from jmsbridge.spi.native import Native
from jmsbridge.testing.harness import Harness
from jmsbridge.testing.promises import quoted
from jmsbridge.testing.proxy import FaultProxy
from jmsbridge.testing.rule_texts import RULES

__all__ = [
    "REFUSABLE",
    "fault_proxy",
    "pytest_addoption",
    "pytest_collection_modifyitems",
    "pytest_configure",
    "pytest_pyfunc_call",
    "pytest_runtest_makereport",
    "pytest_terminal_summary",
]

pytest.register_assert_rewrite("jmsbridge.testing.suite")

_MARKS = (
    "rule(*ids): the rules of the specification that the case proves, at most three",
    "promise(*promises): the promises of a backend that the case tests, quoted when it fails",
    "pitfall(*numbers): the known mistakes that the case catches",
    "requires(feature): the capability that the case needs; native, emulated and refused each have an outcome",
    "level(name): contract (the SPI alone) or semantics (through the facade)",
)
_PROPERTY = "jmsbridge"
REFUSABLE = Native.SEND_TRANSACTIONS | Native.BROWSE | Native.DURABLE | Native.SHARED | Native.SHARED_DURABLE
"""Features that a backend must refuse with ``NotSupported`` if it lacks them; the SPI promises nothing for others."""


@pytest.fixture
def fault_proxy() -> Iterator[Callable[..., FaultProxy]]:
    """``fault_proxy(url)`` creates a ``FaultProxy`` in front of that broker, closed when the test ends."""
    with ExitStack() as proxies:
        yield lambda url, **settings: proxies.enter_context(FaultProxy.to(url, **settings))


class _Tally:
    """How often each outcome occurred, per backend, and why cases did not apply."""

    def __init__(self) -> None:
        self.outcomes: dict[str, Counter[str]] = {}
        self.reasons: dict[str, Counter[str]] = {}

    def add(self, backend: str, outcome: str, reason: str) -> None:
        self.outcomes.setdefault(backend, Counter())[outcome] += 1
        if reason:
            self.reasons.setdefault(backend, Counter())[reason] += 1


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--level``, which selects one level of the suite."""
    group = parser.getgroup("jmsbridge")
    group.addoption("--level", choices=("contract", "semantics"), help="run only this level of the compliance suite")


def pytest_configure(config: pytest.Config) -> None:
    """Register the marks."""
    for line in _MARKS:
        config.addinivalue_line("markers", line)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Apply ``--level``; keep an EmulationWarning a warning where the project turns warnings into errors."""
    wanted = config.getoption("--level")
    kept: list[pytest.Item] = []
    dropped: list[pytest.Item] = []
    for item in items:
        if "harness" not in getattr(item, "fixturenames", ()):
            kept.append(item)
            continue
        item.add_marker(pytest.mark.filterwarnings("ignore::jmsbridge.errors.EmulationWarning"))
        (kept if wanted in (None, _level(item)) else dropped).append(item)
    if dropped:
        config.hook.pytest_deselected(items=dropped)
        items[:] = kept


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Run a case of the suite; if its feature is refused, it must end in ``UnsupportedFeature``."""
    harness = pyfuncitem.funcargs.get("harness")
    if not isinstance(harness, Harness):
        return (yield)
    outcome, because = _outcome(harness, pyfuncitem)
    reason = f"{_names(because)} {outcome}" if because else ""
    pyfuncitem.user_properties.append((_PROPERTY, (harness.label, outcome, reason)))
    if outcome == "not applicable":
        pytest.skip(f"{harness.label} lacks {_names(because)}, and no promise depends on it here")
    if outcome != "refused":
        return (yield)
    expected = NotSupported if _level(pyfuncitem) == "contract" else UnsupportedFeature
    try:
        yield
    except expected:
        return True
    pytest.fail(f"{_names(because)} is refused on {harness.label}, yet the case did not end in {expected.__name__}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add to the report of a failed case which promise is broken, and where it is written."""
    report = yield
    broken = list(_promised(item))
    if report.failed and broken and "harness" in getattr(item, "fixturenames", ()):
        add_section = getattr(report.longrepr, "addsection", None)
        if add_section is not None:
            add_section("broken promise", "\n".join(broken))
    return report


def _promised(item: pytest.Item) -> Iterator[str]:
    """The rules and promises that the case tests, in words."""
    for mark in item.iter_markers("promise"):
        yield from map(quoted, mark.args)
    yield from map(quoted, _required(item))
    for mark in item.iter_markers("rule"):
        for name in mark.args:
            yield f"rule {name} of the specification: {RULES[name]}"


def _required(item: pytest.Item, *, only_native: bool = False) -> Native:
    required = Native.NONE
    for mark in item.iter_markers("requires"):
        if not only_native or mark.kwargs.get("native"):
            required |= mark.args[0]
    return required


def _level(item: pytest.Item) -> str:
    mark = item.get_closest_marker("level")
    return str(mark.args[0]) if mark else "semantics"


def _outcome(harness: Harness, item: pytest.Item) -> tuple[str, Native]:
    """The outcome that the case must have, and the features that decide it."""
    required = _required(item)
    missing = required & ~harness.native if required else Native.NONE
    if not missing:
        return "native", Native.NONE
    if _level(item) == "contract":
        return ("refused" if missing & REFUSABLE else "not applicable"), missing
    from jmsbridge.core.plan import Plan

    resolved = Plan(harness.native, harness.emulation)
    found = {"refused": Native.NONE, "not applicable": Native.NONE, "emulated": Native.NONE}
    exact = _required(item, only_native=True)
    for feature in missing:
        outcome = str(resolved.outcome(feature))
        if outcome == "emulated" and feature in exact:
            outcome = "not applicable"
        found[outcome] |= feature
    return next((outcome, features) for outcome, features in found.items() if features)


def _names(features: Native) -> str:
    return " and ".join(str(feature.name) for feature in features)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print a line per backend with the numbers of native, emulated and refused cases, then the reasons."""
    tally = _Tally()
    for backend, outcome, reason in _reported(terminalreporter.stats):
        tally.add(backend, outcome, reason)
    if not tally.outcomes:
        return
    terminalreporter.section("compliance")
    for backend, counts in sorted(tally.outcomes.items()):
        line = ", ".join(f"{counts[outcome]} {outcome}" for outcome in ("native", "emulated", "refused"))
        extra = "".join(f", {counts[outcome]} {outcome}" for outcome in ("not applicable", "failed") if counts[outcome])
        terminalreporter.write_line(f"{backend}: {line}{extra}")
        for reason, count in sorted(tally.reasons.get(backend, {}).items()):
            terminalreporter.write_line(f"  {reason}: {count}")


def _reported(stats: dict[str, list[Any]]) -> Iterator[tuple[str, str, str]]:
    for category in ("passed", "failed", "skipped", "error"):
        for report in stats.get(category, ()):
            for key, value in getattr(report, "user_properties", ()):
                if key == _PROPERTY and getattr(report, "when", "") == "call":
                    backend, outcome, reason = value
                    yield backend, ("failed" if category == "failed" else outcome), reason

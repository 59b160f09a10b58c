"""The embedded broker, with the sends of every session confirmed in groups; also behind a slow I/O thread, and there
over several links at a time."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, Final

import pytest

import jmsbridge_embedded
from jmsbridge.core.sending import grouped
from jmsbridge.spi import registry
from jmsbridge.testing import Harness
from tests.suites.grouped.several import SeveralBackend
from tests.suites.layered.harness import EmbeddedHarness
from tests.suites.layered.slow import SlowBackend

_SLOW: Final = SlowBackend("slowgrouped", jmsbridge_embedded.backend)
registry.register("slowgrouped", _SLOW)
registry.register("severalgrouped", SeveralBackend("severalgrouped", _SLOW))

_HERE: Final = Path(__file__).parent
_ALWAYS: Final = {
    "embedded": ("sending", "closing", "faults"),
    "slowgrouped": ("sending",),
    "severalgrouped": ("sending",),
}
"""The subjects that run not only in long runs."""


class GroupedHarness(EmbeddedHarness):
    """As the memory broker's own, but for the option."""

    facade_options: ClassVar[dict[str, Any]] = {"send_confirmation": "group"}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A case runs on both."""
    if "harness" in metafunc.fixturenames:
        subject = metafunc.function.__module__.split(".")[-2]
        schemes = [
            pytest.param(scheme, marks=() if subject in subjects else pytest.mark.long)
            for scheme, subjects in _ALWAYS.items()
        ]
        metafunc.parametrize("harness", schemes, indirect=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The contract is below the option."""
    items[:] = [item for item in items if item.path.parent != _HERE or not _is_contract(item)]


def _is_contract(item: pytest.Item) -> bool:
    return any(mark.args[0] == "contract" for mark in item.iter_markers("level"))


@pytest.fixture(autouse=True)
def few(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over several links, small groups: otherwise few cases would need more than one link."""
    if "severalgrouped" in request.node.name:
        monkeypatch.setattr(grouped, "_MOST", 30)
        monkeypatch.setattr(grouped, "_WORTH", 2)


@pytest.fixture
def harness(request: pytest.FixtureRequest) -> Iterator[Harness]:
    """What every case of the suite asks for."""
    with GroupedHarness(request.param, networked=request.param != "embedded") as made:
        yield made

"""The embedded broker, whose connections are those of ``jmsbridge.aio`` behind synchronous methods."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from jmsbridge.testing import Harness
from jmsbridge.testing.through_aio import INDIFFERENT, ThroughAio, why_not
from tests.suites.layered.harness import EmbeddedHarness

_HERE = Path(__file__).parent


class AioHarness(ThroughAio, EmbeddedHarness):
    """As the memory broker's own, but in an event loop."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What does not apply is not collected: the table of ``why_not`` has the reasons."""
    ours = [item for item in items if item.path.parent == _HERE]
    for item in ours:
        if getattr(item, "function", item).__module__.split(".")[-2] in INDIFFERENT:
            item.add_marker(pytest.mark.long)
    others = {item for item in ours if _reason(item) is not None}
    config.hook.pytest_deselected(items=list(others))
    items[:] = [item for item in items if item not in others]


def _reason(item: pytest.Item) -> str | None:
    function = getattr(item, "function", None)
    return why_not(getattr(function, "__module__", ""), item.name)


@pytest.fixture
def harness() -> Iterator[Harness]:
    """What every case of the suite asks for."""
    with AioHarness() as made:
        yield made

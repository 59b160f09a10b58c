"""How the compliance suite reaches each real broker: the shared brokers of the run, one target a row."""

from collections.abc import Iterator

import pytest

from integration.compliance.targets import TARGETS, Target, TargetHarness
from integration.lab.collecting import is_contract
from jmsbridge.testing import Harness

__all__ = ["harness"]


def pytest_itemcollected(item: pytest.Item) -> None:
    """Say which broker the case needs; above the contract level, some targets are only for long runs."""
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    target: Target | None = parameters.get("harness")
    if target is None:  # a case that needs no broker at all
        return
    item.add_marker(pytest.mark.broker(target.broker))
    if target.long and not is_contract(item):
        item.add_marker(pytest.mark.long)


@pytest.fixture(params=TARGETS, ids=[target.name for target in TARGETS])
def harness(request: pytest.FixtureRequest) -> Iterator[Harness]:
    """What every case of the suite asks for."""
    target: Target = request.param
    with TargetHarness(target, request.getfixturevalue(target.broker).url()) as made:
        yield made

"""The harness of each target of the compliance suite, on the shared brokers of the run."""

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest

from integration.compliance.targets import TARGETS, WITHOUT_SERVERS, AioHarness, Target, TargetHarness
from integration.lab.collecting import is_contract
from integration.lab.fixtures import unavailable
from jmsbridge.testing import Harness
from jmsbridge.testing.through_aio import INDIFFERENT, why_not

__all__ = ["harness"]

_HERE = Path(__file__).parent


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A case runs on every target; one target is enough for a case that ``make test`` then deselects."""
    if "harness" in metafunc.fixturenames:
        idle = metafunc.config.option.markexpr == WITHOUT_SERVERS and not is_contract(metafunc.definition)
        targets = TARGETS[:1] if idle else TARGETS
        metafunc.parametrize("harness", targets, ids=[target.name for target in targets], indirect=True)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark which broker the case needs; above the contract level, some targets are only for long runs."""
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    target: Target | None = parameters.get("harness")
    if target is None:  # a case that needs no broker at all
        return
    item.add_marker(pytest.mark.broker(target.broker))
    for name, miss in target.misses.items():
        if item.name.startswith(name):
            reason = f"{target.name}: {miss.reason}"
            item.add_marker(pytest.mark.xfail(reason=reason, raises=miss.raises, strict=miss.always))
    part = getattr(item, "function", item).__module__.split(".")[-2]
    indifferent = target.aio and part in INDIFFERENT
    if (target.long and not is_contract(item) and part not in target.also) or indifferent:
        item.add_marker(pytest.mark.long)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What does not apply to ``jmsbridge.aio`` is not collected: the table of ``why_not`` has the reasons."""
    others = {item for item in items if item.path.parent == _HERE and not _applies(item)}
    config.hook.pytest_deselected(items=list(others))
    items[:] = [item for item in items if item not in others]


def _applies(item: pytest.Item) -> bool:
    target: Target | None = item.callspec.params.get("harness") if hasattr(item, "callspec") else None
    if target is None or not target.aio:
        return True
    case = item.name.replace(f"[{target.name}]", "").replace(f"{target.name}-", "")
    return why_not(getattr(item, "function", item).__module__, case) is None


@pytest.fixture
def harness(request: pytest.FixtureRequest) -> Iterator[Harness]:
    """The fixture that every case of the suite uses."""
    target: Target = request.param
    if target.module is not None and importlib.util.find_spec(target.module) is None:
        unavailable(f"{target.name}: the client library {target.module} is not installed: pip install jmsbridge[amqp]")
    kind = AioHarness if target.aio else TargetHarness
    with kind(target, request.getfixturevalue(target.broker)) as made:
        yield made

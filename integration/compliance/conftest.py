"""How the compliance suite reaches each real broker: the shared brokers of the run, one target a row."""

from collections.abc import Iterator

import pytest

from integration.compliance.targets import TARGETS, Target, TargetHarness
from integration.lab.fixtures import rabbitmq, rabbitmq3
from jmsbridge.testing import Harness

__all__ = ["harness", "rabbitmq", "rabbitmq3"]


def _row(target: Target) -> object:
    return pytest.param(target, id=target.name, marks=[pytest.mark.long] if target.long else [])


@pytest.fixture(params=[_row(target) for target in TARGETS])
def harness(request: pytest.FixtureRequest) -> Iterator[Harness]:
    """What every case of the suite asks for."""
    target: Target = request.param
    with TargetHarness(target, request.getfixturevalue(target.broker).url()) as made:
        yield made

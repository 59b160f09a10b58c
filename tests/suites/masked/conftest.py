"""The harness of the embedded broker behind a mask, where the facade emulates many features."""

from collections.abc import Iterator
from typing import Any, ClassVar, Final

import pytest

from jmsbridge.spi import registry
from jmsbridge.testing import Harness
from jmsbridge_rabbitmq.broker.capabilities import NATIVE
from tests.suites.layered.harness import EmbeddedHarness
from tests.suites.masked.masked import LATE, LEAST, ORDERED, MaskedBackend

_MASKS: Final = {"masked": NATIVE, "barest": LEAST, "late": LATE, "sendtx": ORDERED}
"""What is left: of RabbitMQ; the fewest possible; all but FAIL; all but FAIL, with transactions of sends only."""

_SUBJECTS: Final = {
    "masked": {"contract", "selectors", "subscriptions", "sending"},
    "late": {"contract", "receiving", "closing", "faults", "transactions"},
    "sendtx": {"contract", "faults", "transactions", "sending"},
}
"""The subjects that run not only in long runs; all, if not named. RabbitMQ itself runs what ``masked`` leaves out."""

for _name, _native in _MASKS.items():
    registry.register(_name, MaskedBackend(_name, _native))


class BarestHarness(EmbeddedHarness):
    """Every feature that can be emulated is emulated."""

    emulation: ClassVar[Any] = "allow"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A case runs behind every mask."""
    if "harness" in metafunc.fixturenames:
        subject = metafunc.function.__module__.split(".")[-2]
        masks = [
            pytest.param(mask, marks=() if subject in _SUBJECTS.get(mask, {subject}) else pytest.mark.long)
            for mask in _MASKS
        ]
        metafunc.parametrize("harness", masks, indirect=True)


@pytest.fixture
def harness(request: pytest.FixtureRequest) -> Iterator[Harness]:
    """The fixture that every case uses."""
    with BarestHarness("barest") if request.param == "barest" else EmbeddedHarness(request.param) as made:
        yield made

"""The harness of the embedded broker behind a mask, where the facade emulates many features."""

from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

from jmsbridge.spi import registry
from jmsbridge.testing import Harness
from jmsbridge_rabbitmq.broker.capabilities import NATIVE
from tests.suites.layered.harness import EmbeddedHarness
from tests.suites.masked.masked import LEAST, MaskedBackend

registry.register("masked", MaskedBackend("masked", NATIVE))
registry.register("barest", MaskedBackend("barest", LEAST))


class BarestHarness(EmbeddedHarness):
    """Every feature that can be emulated is emulated."""

    emulation: ClassVar[Any] = "allow"


@pytest.fixture(params=["masked", "barest"])
def harness(request: pytest.FixtureRequest) -> Iterator[Harness]:
    """The fixture that every case uses: once with the capabilities of RabbitMQ, once with the fewest possible."""
    made = EmbeddedHarness("masked") if request.param == "masked" else BarestHarness("barest")
    with made:
        yield made

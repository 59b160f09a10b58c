"""How the compliance suite reaches the embedded broker behind a mask, where the facade has to emulate much."""

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
    """Everything is emulated that can be."""

    emulation: ClassVar[Any] = "allow"


@pytest.fixture(params=["masked", "barest"])
def harness(request: pytest.FixtureRequest) -> Iterator[Harness]:
    """What every case of the suite asks for, once as RabbitMQ would be, once with as little as there can be."""
    made = EmbeddedHarness("masked") if request.param == "masked" else BarestHarness("barest")
    with made:
        yield made

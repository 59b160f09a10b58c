"""How the compliance suite reaches the embedded broker behind a mask, where the facade has to emulate much."""

import itertools
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

import jmsbridge_embedded
from jmsbridge.spi import registry
from jmsbridge.testing import Harness
from jmsbridge_rabbitmq.broker.capabilities import NATIVE
from tests.suites.masked.masked import LEAST, MaskedBackend

_numbers = itertools.count(1)

registry.register("masked", MaskedBackend("masked", NATIVE))
registry.register("barest", MaskedBackend("barest", LEAST))


class MaskedHarness(Harness):
    """A memory broker of its own for each test."""

    def __init__(self, scheme: str) -> None:
        self._broker = f"{scheme}-{next(_numbers)}"
        super().__init__(f"{scheme}:?broker={self._broker}")

    def cut(self) -> None:
        """All links of this test's broker die; its messages stay."""
        jmsbridge_embedded.cut(self._broker)

    def close(self) -> None:
        """Close what was opened, and drop the broker."""
        try:
            super().close()
        finally:
            jmsbridge_embedded.discard(self._broker)


class BarestHarness(MaskedHarness):
    """Everything is emulated that can be."""

    emulation: ClassVar[Any] = "allow"


@pytest.fixture(params=["masked", "barest"])
def harness(request: pytest.FixtureRequest) -> Iterator[Harness]:
    """What every case of the suite asks for, once as RabbitMQ would be, once with as little as there can be."""
    made = MaskedHarness("masked") if request.param == "masked" else BarestHarness("barest")
    with made:
        yield made

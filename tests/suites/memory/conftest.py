"""How the compliance suite reaches the embedded broker."""

import itertools
from collections.abc import Iterator

import pytest

import jmsbridge_embedded
from jmsbridge.spi import registry
from jmsbridge.testing import Harness

_numbers = itertools.count(1)

if "embedded" not in registry.names():  # a bare checkout: nothing is installed, so there is no entry point
    registry.register("embedded", jmsbridge_embedded.backend)


class EmbeddedHarness(Harness):
    """A memory broker of its own for each test."""

    def __init__(self) -> None:
        self._broker = f"suite-{next(_numbers)}"
        super().__init__(f"embedded:?broker={self._broker}")

    def cut(self) -> None:
        """All links of this test's broker die; its messages stay."""
        jmsbridge_embedded.cut(self._broker)

    def close(self) -> None:
        """Close what was opened, and drop the broker."""
        try:
            super().close()
        finally:
            jmsbridge_embedded.discard(self._broker)


@pytest.fixture
def harness() -> Iterator[Harness]:
    """What every case of the suite asks for."""
    with EmbeddedHarness() as made:
        yield made

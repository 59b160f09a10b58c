"""How the compliance suite reaches the sample broker."""

import importlib
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jmsbridge.spi import registry
from jmsbridge.testing import Harness

try:
    acme: Any = importlib.import_module("acme_jms")
except ModuleNotFoundError:  # not installed, as in jmsbridge's own checkout
    sys.path.insert(0, str(Path(__file__).parent))
    acme = importlib.import_module("acme_jms")
    registry.register("sample", acme.backend)

_numbers = itertools.count(1)


class SampleHarness(Harness):
    """A broker of its own for each test."""

    def __init__(self) -> None:
        self._broker = f"suite-{next(_numbers)}"
        super().__init__(f"sample:?broker={self._broker}")

    def cut(self) -> None:
        """All links of this test's broker die."""
        acme.backend.broker(self._broker).cut()


@pytest.fixture
def harness() -> Iterator[Harness]:
    """What every case of the suite asks for."""
    with SampleHarness() as made:
        yield made

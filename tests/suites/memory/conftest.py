"""How the compliance suite reaches the embedded broker."""

from collections.abc import Iterator

import pytest

from jmsbridge.testing import Harness
from tests.suites.layered.harness import EmbeddedHarness


@pytest.fixture
def harness() -> Iterator[Harness]:
    """The fixture that every case of the suite uses."""
    with EmbeddedHarness() as made:
        yield made

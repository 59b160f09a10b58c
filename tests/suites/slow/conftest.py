"""The sample and the embedded broker, each with every verb through a slow I/O thread."""

from collections.abc import Iterator
from typing import Any

import pytest

import jmsbridge_embedded
from jmsbridge.spi import Channel, registry
from jmsbridge.testing import Harness
from jmsbridge.testing.proxy import Direction
from tests.suites.layered.harness import EmbeddedHarness
from tests.suites.layered.slow import SlowBackend
from tests.suites.sample.acme import SampleHarness, acme

_sample = SlowBackend("slowsample", acme.backend)
registry.register("slowsample", _sample)
registry.register("slowembedded", SlowBackend("slowembedded", jmsbridge_embedded.backend))


class SlowSampleHarness(SampleHarness):  # type: ignore[misc]  # a copy of the sample has no types here
    """The harness of the sample, which can also freeze the wire."""

    def freeze(self, direction: Direction | None = None) -> None:
        """Stop one direction of all existing links."""
        _sample.freeze(direction)

    def lose_channel(self, channel: Channel) -> bool:
        """Not possible: the layer does not pass on the loss of a single channel."""
        return False


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """The sample runs the contract, and in long runs the whole suite; the embedded broker runs the contract."""
    if "harness" in metafunc.fixturenames:
        level: Any = next((mark.args[0] for mark in metafunc.definition.iter_markers("level")), "semantics")
        sample: Any = "sample" if level == "contract" else pytest.param("sample", marks=pytest.mark.long)
        schemes = [sample, "embedded"] if level == "contract" else [sample]
        metafunc.parametrize("harness", schemes, indirect=True)


@pytest.fixture
def harness(request: pytest.FixtureRequest) -> Iterator[Harness]:
    """The fixture that every case of the suite uses."""
    sample: Harness = SlowSampleHarness("slowsample")
    with sample if request.param == "sample" else EmbeddedHarness("slowembedded", networked=True) as made:
        yield made

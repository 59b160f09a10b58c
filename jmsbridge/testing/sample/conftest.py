"""How the compliance suite reaches the sample broker."""

import itertools
from collections.abc import Iterator

import acme_jms
import pytest

from jmsbridge.spi import Channel, registry
from jmsbridge.testing import Harness

_numbers = itertools.count(1)

registry.register("sample", acme_jms.backend)  # so that it is found before it is installed, too


class SampleHarness(Harness):
    """A new broker for each test."""

    def __init__(self, scheme: str = "sample") -> None:
        self._broker = f"suite-{next(_numbers)}"
        super().__init__(f"{scheme}:?broker={self._broker}")

    def cut(self) -> None:
        """End all links of this test's broker."""
        acme_jms.backend.broker(self._broker).cut()

    def lose_channel(self, channel: Channel) -> bool:
        """The broker closes it."""
        assert isinstance(channel, acme_jms.link.Channel)
        channel.die("the broker closed the channel")
        return True

    def stored(self) -> int:
        """The number of messages in the broker, including those delivered and not settled."""
        return acme_jms.backend.broker(self._broker).stored


@pytest.fixture
def harness() -> Iterator[Harness]:
    """The harness that every case of the suite uses."""
    with SampleHarness() as made:
        yield made

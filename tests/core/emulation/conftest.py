from collections.abc import Iterator

import pytest

from tests.core.emulation.support import Broker

__all__ = ["broker"]


@pytest.fixture
def broker() -> Iterator[Broker]:
    """A broker like RabbitMQ: without selectors and browsers."""
    with Broker() as made:
        yield made

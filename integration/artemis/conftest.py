"""For the pairs of programs in two languages."""

import fcntl
from collections.abc import Iterator

import pytest

from integration.lab.broker import Broker

__all__ = ["alone"]


@pytest.fixture
def alone(artemis: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The programs have queues of fixed names, on a broker that all workers share."""
    with (tmp_path_factory.getbasetemp().parent / "pairs.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield

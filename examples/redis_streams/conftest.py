"""How the compliance suite reaches Redis: one server for the run, keys of its own for each test."""

from collections.abc import Iterator

import pytest

from redis_harness import RedisHarness, running


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    with running() as url:
        yield url


@pytest.fixture
def harness(redis_url: str) -> Iterator[RedisHarness]:
    """What every case of the suite asks for."""
    with RedisHarness(redis_url) as made:
        yield made

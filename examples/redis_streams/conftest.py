"""The harness for Redis: one server for the run, separate keys for each test."""

from collections.abc import Iterator

import pytest

from redis_harness import RedisHarness, running


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    with running() as url:
        yield url


@pytest.fixture
def harness(redis_url: str) -> Iterator[RedisHarness]:
    """The fixture that every case of the suite uses."""
    with RedisHarness(redis_url) as made:
        yield made

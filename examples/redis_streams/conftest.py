"""How the compliance suite reaches Redis: one server for the run, keys of its own for each test."""

import uuid
from collections.abc import Iterator

import pytest
import redis

import redis_jms
import redis_server
from jmsbridge.spi import registry
from jmsbridge.testing.proxy import ProxiedHarness

registry.register("redis", redis_jms.backend)  # so that it is found before it is installed, too


class RedisHarness(ProxiedHarness):
    """Through a fault proxy, with a short lease."""

    def __init__(self, url: str) -> None:
        self._server = url
        self._prefix = uuid.uuid4().hex
        super().__init__(f"{url}?prefix={self._prefix}&lease=1.5")

    def stored(self) -> int:
        """The entries of all streams."""
        with redis.Redis.from_url(self._server) as client:
            return sum(client.xlen(name) for name in client.scan_iter(f"{self._prefix}:stream:*"))


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    with redis_server.running() as url:
        yield url


@pytest.fixture
def harness(redis_url: str) -> Iterator[RedisHarness]:
    """What every case of the suite asks for."""
    with RedisHarness(redis_url) as made:
        yield made

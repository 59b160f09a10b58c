"""Free ports on the loopback interface."""

import random
import socket
import time
from collections.abc import Iterable

from integration.lab.errors import BrokerFailed
from integration.lab.table import HOST, Kind

__all__ = ["choose", "is_free", "wait_free"]

_LOW, _HIGH = 20000, 32000  # below the range of the local ports of outgoing connections


def is_free(port: int) -> bool:
    """Whether a server could listen there now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True


def choose(kind: Kind, taken: Iterable[int] = (), *, usual: bool = False) -> dict[str, int]:
    """A free port for each listener, with `usual` the default ones if possible; `taken` are reserved already."""
    used = set(taken)
    if usual and used.isdisjoint(kind.ports.values()) and all(is_free(port) for port in kind.ports.values()):
        return dict(kind.ports)
    chosen: dict[str, int] = {}
    candidates = iter(random.sample(range(_LOW, _HIGH), _HIGH - _LOW))
    for listener in kind.ports:
        chosen[listener] = next(port for port in candidates if port not in used and is_free(port))
    return chosen


def wait_free(ports: Iterable[int], timeout: float = 15.0) -> None:
    """Wait until the ports are free: the sockets of a killed process may outlive it for a moment."""
    deadline = time.monotonic() + timeout
    waiting = list(ports)
    while waiting := [port for port in waiting if not is_free(port)]:
        if time.monotonic() > deadline:
            raise BrokerFailed(f"ports {waiting} are still taken after {timeout:g} s")
        time.sleep(0.02)  # sleep: nothing notifies of a free port

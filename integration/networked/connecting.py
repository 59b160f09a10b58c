"""Connections that are checked for leaks, for tests of one broker; ``conftest.py`` has the same for each scheme."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import jmsbridge
from integration.lab.broker import Broker
from jmsbridge import Connection
from jmsbridge.testing.suite.support import eventually

__all__ = ["connect", "connections"]


@contextlib.contextmanager
def connections(scheme: str | None = None, **usual: Any) -> Iterator[Callable[..., Connection]]:
    """Make started connections; at the end they are closed, and none of their threads may be left."""
    before = set(threading.enumerate())
    made: list[Connection] = []

    def begin(to: Broker | str, **options: Any) -> Connection:
        url = to if isinstance(to, str) else to.url(scheme)
        made.append(jmsbridge.connect(url, **{"reconnect_delay": 0.05, "send_timeout": 20.0, **usual, **options}))
        made[-1].start()
        return made[-1]

    yield begin
    for each in made:
        each.close()
    eventually(lambda: not [one for one in threading.enumerate() if one not in before and "jmsbridge-" in one.name], 15)


@pytest.fixture
def connect() -> Iterator[Callable[..., Connection]]:
    """``connections`` of the broker's first scheme."""
    with connections() as begin:
        yield begin

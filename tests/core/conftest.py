"""Fixtures for tests of the core: the scripted backend, and a new embedded broker for each test."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import jmsbridge
import jmsbridge_embedded
from jmsbridge import Connection
from jmsbridge.testing.scripted import ScriptedBackend
from tests.core.support import Embedded

__all__ = ["Connect", "backend", "broker", "connect"]

_names = itertools.count(1)

Connect = Callable[..., Connection]


@pytest.fixture
def backend() -> Iterator[ScriptedBackend]:
    """The scripted backend behind ``scripted:``; open tickets are answered when the test ends."""
    with ScriptedBackend().installed() as made:
        yield made


@pytest.fixture
def connect(backend: ScriptedBackend) -> Iterator[Connect]:
    """Make connections that reconnect at once; they are closed at the end."""
    opened: list[Connection] = []

    def connect(*, start: bool = True, **options: Any) -> Connection:
        options = {"reconnect_delay": 0.001, "reconnect_delay_max": 0.005, "close_timeout": 2.0, **options}
        connection = jmsbridge.connect("scripted:", **options)
        opened.append(connection)
        if start:
            connection.start()
        return connection

    yield connect
    backend.script.before.clear()
    backend.script.answer_inline("send", "commit", "rollback", "settle", "drain")
    backend.refuse(0)
    backend.script.release()
    for connection in opened:
        connection.close()


@pytest.fixture
def broker() -> Iterator[Embedded]:
    """A new embedded broker."""
    made = Embedded(f"core-{next(_names)}")
    yield made
    made.close()
    jmsbridge_embedded.discard(made.name)

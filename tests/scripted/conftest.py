"""The facade on a backend whose every move is the test's."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import jmsbridge
from jmsbridge import Connection
from jmsbridge.testing.scripted import ScriptedBackend

Connect = Callable[..., Connection]


@pytest.fixture
def backend() -> Iterator[ScriptedBackend]:
    """The scripted backend behind ``scripted:``; what is still held when the test ends is answered."""
    with ScriptedBackend().installed() as made:
        yield made


@pytest.fixture
def connect(backend: ScriptedBackend) -> Iterator[Connect]:
    """Connections that reconnect at once and are closed at the end."""
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

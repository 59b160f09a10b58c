"""The facade under the conditions of a strict review: a scripted backend, and an embedded broker for each test."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import jmsbridge
import jmsbridge_embedded
from jmsbridge import Connection
from jmsbridge.testing.scripted import ScriptedBackend
from tests.review.support import Embedded

Connect = Callable[..., Connection]

_names = itertools.count(1)


@pytest.fixture
def backend() -> Iterator[ScriptedBackend]:
    with ScriptedBackend().installed() as made:
        yield made


@pytest.fixture
def connect(backend: ScriptedBackend) -> Iterator[Connect]:
    """Connections to the script that reconnect at once and are closed at the end."""
    opened: list[Connection] = []

    def connect(**options: Any) -> Connection:
        options = {"reconnect_delay": 0.001, "reconnect_delay_max": 0.005, "close_timeout": 2.0, **options}
        connection = jmsbridge.connect("scripted:", **options)
        opened.append(connection)
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
    """An embedded broker of the test's own."""
    made = Embedded(f"review-{next(_names)}")
    yield made
    made.close()
    jmsbridge_embedded.discard(made.name)

"""A broker for each test: the embedded one, and the scripted one, whose answers the test decides."""

import itertools
from collections.abc import Iterator

import pytest

import jmsbridge_embedded
from jmsbridge import Queue
from jmsbridge.testing.scripted import ScriptedBackend

_names = itertools.count(1)


@pytest.fixture
def target() -> Iterator[str]:
    """The URL of an embedded broker of the test's own."""
    name = f"aio-{next(_names)}"
    yield f"embedded:?broker={name}"
    jmsbridge_embedded.discard(name)


@pytest.fixture
def queue() -> Queue:
    """A queue of that broker."""
    return Queue("orders")


@pytest.fixture
def backend() -> Iterator[ScriptedBackend]:
    """The scripted backend behind ``scripted:``."""
    with ScriptedBackend().installed() as made:
        yield made

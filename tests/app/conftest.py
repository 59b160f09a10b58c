"""Like the conftest of an application, except ``pytest_plugins``, which only the topmost conftest may have."""

import itertools
from collections.abc import Iterator

import pytest

import jmsbridge_embedded
from jmsbridge.testing.broker import jms_broker

__all__ = ["jms_broker", "target"]

_names = itertools.count(1)


@pytest.fixture
def target() -> Iterator[str]:
    """The URL of an embedded broker of the test's own."""
    name = f"app-{next(_names)}"
    yield f"embedded:?broker={name}"
    jmsbridge_embedded.discard(name)

"""The facade under the conditions of a strict review: a scripted backend, and an embedded broker for each test."""

import itertools
from collections.abc import Iterator

import pytest

import jmsbridge_embedded
from tests.review.support import Embedded
from tests.scripted.conftest import backend, connect

__all__ = ["backend", "broker", "connect"]

_names = itertools.count(1)


@pytest.fixture
def broker() -> Iterator[Embedded]:
    """An embedded broker of the test's own."""
    made = Embedded(f"review-{next(_names)}")
    yield made
    made.close()
    jmsbridge_embedded.discard(made.name)

"""The facade's machinery on a scripted backend, and on an embedded broker for each test."""

from tests.review.conftest import broker
from tests.scripted.conftest import backend, connect

__all__ = ["backend", "broker", "connect"]

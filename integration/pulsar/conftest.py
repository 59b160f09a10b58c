"""A real Pulsar and its client library for all of these tests."""

import importlib.util

import pytest

_MARKS = (
    pytest.mark.broker("pulsar"),
    pytest.mark.skipif(importlib.util.find_spec("_pulsar") is None, reason="pulsar-client is not installed"),
)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark them."""
    for mark in _MARKS:
        item.add_marker(mark)

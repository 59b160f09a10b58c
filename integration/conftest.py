"""For all tests."""

import pytest

_OWN_BROKER = 180  # seconds: it starts a server, and many call rabbitmqctl, which takes seconds itself


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test with a broker of its own has more time than the others."""
    for item in items:
        if "own_broker" in getattr(item, "fixturenames", ()) and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(_OWN_BROKER))

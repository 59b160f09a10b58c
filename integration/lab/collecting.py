"""Which tests run where: hooks for the ``conftest.py`` above the tests that need brokers.

A test needs the brokers whose fixtures it uses, and those that its mark ``broker(name)`` names. Where one of them
is unavailable, the test is not collected (with ``JMSBRIDGE_REQUIRE_BROKERS=1`` it is, and fails). A test that needs a
broker gets the mark ``server``, which ``make test`` leaves to ``make test-brokers``; a case of the contract level does
not.
"""

import pytest

from integration.lab.fixtures import reachable, required
from integration.lab.table import KINDS

__all__ = ["is_contract", "needed", "pytest_collection_modifyitems"]

_OWN_BROKER = 400  # seconds: such a test starts a server, and many run rabbitmqctl, which takes seconds


@pytest.hookimpl(tryfirst=True)  # before pytest evaluates the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Deselect tests whose broker is missing, and mark the others that need one."""
    there = {name: required() or reachable(name) for name in KINDS}
    items[:] = [item for item in items if all(there[name] for name in needed(item))]
    for item in items:
        own_broker = "own_broker" in getattr(item, "fixturenames", ())
        if (own_broker or needed(item)) and not is_contract(item):
            item.add_marker(pytest.mark.server)
        if own_broker and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(_OWN_BROKER))


def needed(item: pytest.Item) -> set[str]:
    """The names of the brokers without which the test cannot run."""
    marked = {name for mark in item.iter_markers("broker") for name in mark.args}
    return marked | (KINDS.keys() & getattr(item, "fixturenames", ()))


def is_contract(item: pytest.Item) -> bool:
    """Whether it is a case of the compliance suite that uses the SPI alone."""
    mark = item.get_closest_marker("level")
    return mark is not None and mark.args == ("contract",)

"""Which tests run where: hooks for the ``conftest.py`` above the tests that need brokers.

A test needs the brokers whose fixtures it uses, and those that its mark ``broker(name)`` names. Where one of them
cannot be had, the test is not collected (with ``JMSBRIDGE_REQUIRE_BROKERS=1`` it is, and fails). What needs a broker
gets the mark ``server``, which ``make test`` leaves to ``make test-brokers``; cases of the contract level do not.
"""

import pytest

from integration.lab.fixtures import reachable, required
from integration.lab.table import KINDS

__all__ = ["is_contract", "needed", "pytest_collection_modifyitems"]

_OWN_BROKER = 180  # seconds: it starts a server, and many call rabbitmqctl, which takes seconds itself


@pytest.hookimpl(tryfirst=True)  # before pytest looks at the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what has no broker here, and mark what has one."""
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
    """Whether it is a case of the compliance suite that talks to the SPI alone."""
    mark = item.get_closest_marker("level")
    return mark is not None and mark.args == ("contract",)

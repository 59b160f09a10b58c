"""For all tests: no deadline of hypothesis, which a busy machine would miss, and fast collection."""

import gc

from hypothesis import settings

__all__ = ["pytest_collection_finish", "pytest_configure"]

settings.register_profile("jmsbridge", deadline=None)
settings.load_profile("jmsbridge")


def pytest_configure() -> None:
    """Collect no garbage while tests are collected: that would take half of the time, in each worker."""
    gc.disable()


def pytest_collection_finish() -> None:
    """From now on, but never look at the tests: all of them stay to the end."""
    gc.enable()
    gc.freeze()

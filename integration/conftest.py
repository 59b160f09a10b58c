"""For all tests that may need brokers or a JDK."""

from integration.lab.collecting import pytest_collection_modifyitems

__all__ = ["pytest_collection_modifyitems"]

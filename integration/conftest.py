"""For all tests that may need brokers or a JDK: the brokers as fixtures, and the rules of collection."""

from integration.lab.collecting import pytest_collection_modifyitems
from integration.lab.fixtures import *  # noqa: F403

__all__ = ["pytest_collection_modifyitems"]

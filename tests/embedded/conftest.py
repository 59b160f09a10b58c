import pytest

from tests.embedded.support import World

__all__ = ["world"]


@pytest.fixture
def world() -> World:
    return World()

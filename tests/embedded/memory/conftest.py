import pytest

from tests.embedded.memory.support import World

__all__ = ["world"]


@pytest.fixture
def world() -> World:
    return World()

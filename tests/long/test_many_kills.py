"""Thousands of sends while the link dies sixty times, a hundred times over, each with another seed."""

import random

import pytest

from jmsbridge.testing.scripted import ScriptedBackend
from tests.scripted import test_kills
from tests.scripted.conftest import Connect, backend, connect

__all__ = ["backend", "connect"]

_start = random.SystemRandom().randrange(1 << 30)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(_start, _start + 100))
def test_kills_with_another_seed(backend: ScriptedBackend, connect: Connect, seed: int) -> None:
    test_kills.test_kills_with_shuffled_answers(backend, connect, seed)
    assert len(backend.links) == test_kills.KILLS + 1

"""Each networked backend on its broker, and connections that leave nothing behind."""

import itertools
import os

import pytest

from integration.lab.broker import Broker
from integration.lab.connections import connect
from integration.lab.external import External
from integration.lab.fixtures import unavailable
from integration.networked.schemes import SCHEMES, Scheme

__all__ = ["broker", "connect", "name", "scheme"]

_numbers = itertools.count(1)


def _row(scheme: Scheme) -> object:
    return pytest.param(scheme, id=scheme.name, marks=pytest.mark.broker(scheme.broker))


@pytest.fixture(scope="session", params=[_row(scheme) for scheme in SCHEMES])
def scheme(request: pytest.FixtureRequest) -> Scheme:
    """The backend under test; every test of this folder runs once for each."""
    row: Scheme = request.param
    return row


@pytest.fixture(scope="session")
def broker(scheme: Scheme, request: pytest.FixtureRequest) -> Broker:
    """Its broker, which all tests share, with its administration."""
    shared: Broker | External = request.getfixturevalue(scheme.broker)
    if isinstance(shared, External):
        unavailable(f"these tests administer the broker: unset {shared.kind.variable}")
    assert isinstance(shared, Broker)
    return shared


@pytest.fixture
def name() -> str:
    """A name that nobody used before."""
    return f"networked-{os.getpid()}-{os.urandom(3).hex()}-{next(_numbers)}"

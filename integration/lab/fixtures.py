"""pytest fixtures: one real broker of each kind for all workers of a run, and private brokers.

A fixture named as the broker gives a `Broker` that other tests use at the same time: take fresh names, and never kill
it. `own_broker("rabbitmq")` starts one that only this test has, `own_broker("rabbitmq", "client-certificates")` with an
option of its kind. With `JMSBRIDGE_RABBITMQ_URL` set, the shared one is
that external server. An unavailable broker skips the test with the remedy; with
`JMSBRIDGE_REQUIRE_BROKERS=1` that is a failure. In a conftest.py:

    from integration.lab.fixtures import own_broker, rabbitmq
"""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import NoReturn, Protocol

import pytest

from integration.lab.broker import SERVERS, Broker
from integration.lab.errors import BrokerError, BrokerUnavailable
from integration.lab.external import External
from integration.lab.running.docker import engine_wanted
from integration.lab.starting import join, leave, start
from integration.lab.table import kind

__all__ = [
    "StartBroker",
    "activemq",
    "artemis",
    "brokerj",
    "own_broker",
    "pulsar",
    "rabbitmq",
    "rabbitmq3",
    "reachable",
    "required",
    "unavailable",
]


class StartBroker(Protocol):
    """The type of `own_broker`."""

    def __call__(self, name: str, *options: str) -> Broker:
        """Start a broker of that name with options of its kind."""


def _shared(name: str) -> Callable[[], Iterator[Broker | External]]:
    @pytest.fixture(scope="session", name=name)
    def shared() -> Iterator[Broker | External]:
        yield from _join(name)

    shared.__doc__ = f"{kind(name).title}, shared."
    return shared


activemq = _shared("activemq")
artemis = _shared("artemis")
brokerj = _shared("brokerj")
pulsar = _shared("pulsar")
rabbitmq = _shared("rabbitmq")
rabbitmq3 = _shared("rabbitmq3")


@pytest.fixture
def own_broker() -> Iterator[StartBroker]:
    """Start private brokers: the test may kill and restart them; they end with the test."""
    with ExitStack() as stack:
        yield lambda name, *options: stack.enter_context(_try(lambda: start(name, options=options)))


def required() -> bool:
    """Whether an unavailable broker is a failure here."""
    return os.environ.get("JMSBRIDGE_REQUIRE_BROKERS", "0") not in ("", "0")


def reachable(name: str) -> bool:
    """Whether the broker is available: fetched, in a container, or as a server that a variable names."""
    return bool(os.environ.get(kind(name).variable)) or engine_wanted() or SERVERS[name].installed() is not None


def unavailable(why: str) -> NoReturn:
    """Skip the test because its broker is missing, or fail if every broker is required."""
    if required():
        pytest.fail(f"{why} (required by JMSBRIDGE_REQUIRE_BROKERS)", pytrace=False)
    pytest.skip(why)


def _join(name: str) -> Iterator[Broker | External]:
    address = os.environ.get(kind(name).variable)
    if address:
        yield _external(name, address)
        return
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    broker = _try(lambda: join(name, f"{name}-shared-{run[:16]}"))
    yield broker
    leave(broker)


def _external(name: str, address: str) -> External:
    try:
        return External(kind(name), address)
    except BrokerError as error:
        why = str(error)
    pytest.fail(why, pytrace=False)  # the trace would show the address, with its password


def _try(begin: Callable[[], Broker]) -> Broker:
    try:
        return begin()
    except BrokerUnavailable as error:
        why = str(error)
    unavailable(why)

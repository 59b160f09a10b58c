"""``connection.admin``: the verbs of the command line, with the errors of the API, over reconnects."""

from collections.abc import Callable
from typing import Any

import pytest

import jmsbridge_embedded
from jmsbridge import (
    Connection,
    ConnectionFactory,
    DestinationInfo,
    IllegalState,
    IllegalStateException,
    InvalidDestination,
    InvalidSelector,
    JMSContext,
    JMSException,
    JMSRuntimeException,
    Queue,
    Session,
    Topic,
    UnsupportedFeature,
    UnsupportedFeatureException,
    connect,
)
from jmsbridge.spi import Address, BackendError, LinkLost
from jmsbridge.testing.scripted import ScriptedBackend
from jmsbridge.testing.suite.support import send_texts

ORDERS, OTHERS, NEWS = Queue("orders"), Queue("others"), Topic("news")


def test_the_verbs_of_the_command_line(connection: Connection, session: Session) -> None:
    admin = connection.admin
    admin.create(ORDERS)
    admin.create(NEWS)
    send_texts(session, ORDERS, "a", "b", "c")
    session.create_shared_durable_consumer(NEWS, "archive").close()
    assert admin.depth(ORDERS) == 3
    listed = admin.list()
    assert [(info.destination, info.depth, info.subscription) for info in listed] == [
        (NEWS, 0, None),
        (NEWS, 0, "archive"),
        (ORDERS, 3, None),
    ]
    assert {type(info) for info in listed} == {DestinationInfo}
    assert admin.move(ORDERS, OTHERS, limit=1) == 1
    assert admin.purge(ORDERS, "JMSPriority = 4") == 2
    assert (admin.depth(ORDERS), admin.depth(OTHERS)) == (0, 1)
    admin.remove(OTHERS)
    assert admin.depth(OTHERS) == 0
    assert admin.dead_letters == Queue("DLQ")


def test_an_address_of_the_spi_is_accepted(connection: Connection, session: Session) -> None:
    send_texts(session, ORDERS, "a")
    assert connection.admin.depth(Address("orders")) == 1
    assert [info.address for info in connection.admin.list()] == [Address("orders")]


ERRORS: dict[str, tuple[Callable[[Any], object], type[Exception]]] = {
    "in use": (lambda admin: admin.remove(ORDERS), IllegalState),
    "not there": (lambda admin: admin.purge(Queue("nowhere")), InvalidDestination),
    "a selector with a mistake": (lambda admin: admin.purge(ORDERS, "x ="), InvalidSelector),
    "another one": (lambda admin: admin.move(ORDERS, OTHERS, "x ="), InvalidSelector),
    "to a topic": (lambda admin: admin.move(ORDERS, NEWS), UnsupportedFeature),
    "a name": (lambda admin: admin.depth("orders"), InvalidDestination),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors_are_those_of_the_classic_api(connection: Connection, session: Session, case: str) -> None:
    act, expected = ERRORS[case]
    session.create_consumer(ORDERS)
    with pytest.raises(expected) as caught:
        act(connection.admin)
    assert isinstance(caught.value, JMSException)
    assert not isinstance(caught.value, BackendError)


@pytest.mark.parametrize("case", ERRORS)
def test_errors_are_those_of_the_simplified_api(context: JMSContext, case: str) -> None:
    act, expected = ERRORS[case]
    context.create_consumer(ORDERS)
    with pytest.raises(expected) as caught:
        act(context.admin)
    assert isinstance(caught.value, JMSRuntimeException)


def test_it_works_after_a_reconnect(connection: Connection, session: Session) -> None:
    admin = connection.admin
    admin.create(ORDERS)
    options: Any = connection._core.target.backend_options
    jmsbridge_embedded.cut(options.broker)
    send_texts(session, ORDERS, "a")
    assert admin.depth(ORDERS) == 1


def test_it_ends_with_its_connection(factory: ConnectionFactory) -> None:
    connection = factory.create_connection()
    admin = connection.admin
    connection.close()
    for act in (lambda: admin.list(), lambda: admin.dead_letters, lambda: connection.admin):
        with pytest.raises(IllegalStateException):
            act()


def test_a_backend_without_it_says_so() -> None:
    with (
        ScriptedBackend().installed(),
        connect("scripted:") as connection,
        pytest.raises(UnsupportedFeatureException, match="offers no administration"),
    ):
        _ = connection.admin


class Losing:
    """An Admin whose link is lost during every call."""

    dead_letters = None

    def list_destinations(self) -> list[Any]:
        raise LinkLost("gone")

    depth = create = remove = purge = move = lambda self, *_: self.list_destinations()


def test_a_lost_link_is_a_jms_error(connection: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    admin = connection.admin
    monkeypatch.setattr(connection._core, "wait_link", lambda: (Losing(), None, 0))
    for act in (admin.list, lambda: admin.depth(ORDERS), lambda: admin.create(ORDERS)):
        with pytest.raises(JMSException, match="gone"):
            act()

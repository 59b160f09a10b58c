"""``create_session`` and its relatives take the forms of JMS 2.0 and of JMS 1.1, and nothing between the two."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import jmsbridge
from jmsbridge import (
    AUTO_ACKNOWLEDGE,
    CLIENT_ACKNOWLEDGE,
    DUPS_OK_ACKNOWLEDGE,
    INDIVIDUAL_ACKNOWLEDGE,
    SESSION_TRANSACTED,
    Connection,
    ConnectionFactory,
    DeliveryMode,
    InvalidArgument,
    InvalidCall,
    JMSContext,
    JMSError,
    JMSRuntimeException,
    Session,
)
from jmsbridge.domain import QueueConnectionFactory, TopicConnectionFactory
from jmsbridge.testing.suite.support import receive_texts, send_texts

Create = Callable[..., Any]

FORMS: list[tuple[Callable[[Create], Any], int]] = [
    (lambda create: create(), AUTO_ACKNOWLEDGE),
    (lambda create: create(SESSION_TRANSACTED), SESSION_TRANSACTED),
    (lambda create: create(AUTO_ACKNOWLEDGE), AUTO_ACKNOWLEDGE),
    (lambda create: create(CLIENT_ACKNOWLEDGE), CLIENT_ACKNOWLEDGE),
    (lambda create: create(DUPS_OK_ACKNOWLEDGE), DUPS_OK_ACKNOWLEDGE),
    (lambda create: create(INDIVIDUAL_ACKNOWLEDGE), INDIVIDUAL_ACKNOWLEDGE),
    (lambda create: create(session_mode=SESSION_TRANSACTED), SESSION_TRANSACTED),
    (lambda create: create(session_mode=CLIENT_ACKNOWLEDGE), CLIENT_ACKNOWLEDGE),
    (lambda create: create(True), SESSION_TRANSACTED),
    (lambda create: create(False), AUTO_ACKNOWLEDGE),
    (lambda create: create(True, AUTO_ACKNOWLEDGE), SESSION_TRANSACTED),
    (lambda create: create(True, SESSION_TRANSACTED), SESSION_TRANSACTED),
    (lambda create: create(True, -1), SESSION_TRANSACTED),  # ignored arguments may have any value
    (lambda create: create(False, CLIENT_ACKNOWLEDGE), CLIENT_ACKNOWLEDGE),
    (lambda create: create(False, acknowledge_mode=CLIENT_ACKNOWLEDGE), CLIENT_ACKNOWLEDGE),
    (lambda create: create(transacted=True), SESSION_TRANSACTED),
    (lambda create: create(transacted=False, acknowledge_mode=DUPS_OK_ACKNOWLEDGE), DUPS_OK_ACKNOWLEDGE),
    (lambda create: create(acknowledge_mode=CLIENT_ACKNOWLEDGE), CLIENT_ACKNOWLEDGE),
]

SENSELESS: list[tuple[Callable[[Create], Any], type[Exception], str]] = [
    (lambda create: create(1, 1), InvalidCall, "session mode alone"),
    (lambda create: create(0, CLIENT_ACKNOWLEDGE), InvalidCall, "True or False"),
    (lambda create: create(CLIENT_ACKNOWLEDGE, True), InvalidCall, "session mode alone"),
    (lambda create: create(CLIENT_ACKNOWLEDGE, transacted=True), InvalidCall, "session mode alone"),
    (lambda create: create(CLIENT_ACKNOWLEDGE, session_mode=CLIENT_ACKNOWLEDGE), InvalidCall, "twice"),
    (lambda create: create(True, session_mode=AUTO_ACKNOWLEDGE), InvalidCall, "session mode alone"),
    (lambda create: create(True, transacted=False), InvalidCall, "twice"),
    (lambda create: create(False, 1, acknowledge_mode=2), InvalidCall, "twice"),
    (lambda create: create(session_mode=1, acknowledge_mode=1), InvalidCall, "session mode alone"),
    (lambda create: create(transacted=1), InvalidCall, "True or False"),
    (lambda create: create(transacted=0, acknowledge_mode=2), InvalidCall, "True or False"),
    (lambda create: create(False, 1, 2), InvalidCall, "by name"),
    (lambda create: create(False, SESSION_TRANSACTED), InvalidArgument, r"\(SESSION_TRANSACTED\)"),
    (lambda create: create(acknowledge_mode=SESSION_TRANSACTED), InvalidArgument, r"\(SESSION_TRANSACTED\)"),
    (lambda create: create(False, True), InvalidArgument, "SESSION_TRANSACTED"),
    (lambda create: create(session_mode=True), InvalidArgument, "SESSION_TRANSACTED"),
    (lambda create: create(4), InvalidArgument, "AUTO_ACKNOWLEDGE"),
    (lambda create: create(-1), InvalidArgument, "AUTO_ACKNOWLEDGE"),
    (lambda create: create(None), InvalidArgument, "None is not a session mode"),
    (lambda create: create("AUTO_ACKNOWLEDGE"), InvalidArgument, "is not a session mode"),
    (lambda create: create(DeliveryMode.PERSISTENT), InvalidArgument, "DeliveryMode.PERSISTENT"),
]


@pytest.fixture(params=["session", "queue session", "topic session"])
def create(request: pytest.FixtureRequest, factory: ConnectionFactory) -> Iterator[Create]:
    target = factory._given
    if request.param == "session":
        made: Any = factory.create_connection()
        found: Create = made.create_session
    elif request.param == "queue session":
        made = QueueConnectionFactory(target).create_queue_connection()
        found = made.create_queue_session
    else:
        made = TopicConnectionFactory(target).create_topic_connection()
        found = made.create_topic_session
    yield found
    made.close()


@pytest.mark.parametrize(("call", "mode"), FORMS)
def test_the_forms_of_both_versions(create: Create, call: Callable[[Create], Any], mode: int) -> None:
    with call(create) as session:
        assert (session.acknowledge_mode, session.transacted) == (mode, mode == SESSION_TRANSACTED)


@pytest.mark.parametrize(("call", "error", "text"), SENSELESS)
def test_impossible_arguments_are_explained(
    create: Create, call: Callable[[Create], Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text) as caught:
        call(create)
    assert isinstance(caught.value, JMSError)
    assert isinstance(caught.value, TypeError if error is InvalidCall else ValueError)


def test_a_session_of_the_newer_form_is_really_transacted(connection: Connection) -> None:
    session = connection.create_session(SESSION_TRANSACTED)
    queue = session.create_queue("orders")
    consumer = connection.create_session().create_consumer(queue)
    send_texts(session, queue, "gone")
    session.rollback()
    send_texts(session, queue, "there")
    session.commit()
    assert receive_texts(consumer, 1) == ["there"]


def test_a_session_of_the_newer_form_acknowledges_as_asked(connection: Connection) -> None:
    with connection.create_session(CLIENT_ACKNOWLEDGE) as session:
        queue = session.create_queue("orders")
        send_texts(session, queue, "kept")
        assert receive_texts(session.create_consumer(queue), 1) == ["kept"]
    assert receive_texts(connection.create_session().create_consumer(queue), 1) == ["kept"]


CONTEXTS: list[tuple[Callable[[Create], JMSContext], int]] = [
    (lambda create: create(), AUTO_ACKNOWLEDGE),
    (lambda create: create(CLIENT_ACKNOWLEDGE), CLIENT_ACKNOWLEDGE),
    (lambda create: create(SESSION_TRANSACTED), SESSION_TRANSACTED),
    (lambda create: create(session_mode=DUPS_OK_ACKNOWLEDGE), DUPS_OK_ACKNOWLEDGE),
    (lambda create: create("user", "password"), AUTO_ACKNOWLEDGE),
    (lambda create: create("user", "password", CLIENT_ACKNOWLEDGE), CLIENT_ACKNOWLEDGE),
    (lambda create: create(None, None, CLIENT_ACKNOWLEDGE), CLIENT_ACKNOWLEDGE),
    (lambda create: create("user", password="password", session_mode=2), CLIENT_ACKNOWLEDGE),
    (lambda create: create(CLIENT_ACKNOWLEDGE, user_name="user", password="password"), CLIENT_ACKNOWLEDGE),
    (lambda create: create(user_name="user"), AUTO_ACKNOWLEDGE),
]


@pytest.mark.parametrize(("call", "mode"), CONTEXTS)
def test_a_factory_makes_contexts_in_the_forms_of_java(
    factory: ConnectionFactory, call: Callable[[Create], JMSContext], mode: int
) -> None:
    with call(factory.create_context) as context:
        assert context.session_mode == mode


WRONG_CONTEXTS: list[tuple[Callable[[Create], Any], type[Exception], str]] = [
    (lambda create: create(CLIENT_ACKNOWLEDGE, "user", "password"), InvalidCall, r"\(user_name, password, mode\)"),
    (lambda create: create("user", CLIENT_ACKNOWLEDGE), InvalidCall, r"\(user_name, password, mode\)"),
    (lambda create: create("user", "password", 1, 2), InvalidCall, r"\(user_name, password, mode\)"),
    (lambda create: create(CLIENT_ACKNOWLEDGE, session_mode=1), InvalidCall, "twice"),
    (lambda create: create("user", "password", password="other"), InvalidCall, "twice"),
    (lambda create: create(True), JMSRuntimeException, "True is not a session mode"),
    (lambda create: create("user", "password", 17), JMSRuntimeException, "17 is not a session mode"),
    (lambda create: create("user", "password", "AUTO"), JMSRuntimeException, "'AUTO' is not a session mode"),
]


@pytest.mark.parametrize(("call", "error", "text"), WRONG_CONTEXTS)
def test_a_factory_names_the_right_order_of_arguments(
    factory: ConnectionFactory, call: Callable[[Create], Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        call(factory.create_context)


def test_a_context_makes_its_siblings(context: JMSContext) -> None:
    for mode in (AUTO_ACKNOWLEDGE, CLIENT_ACKNOWLEDGE, SESSION_TRANSACTED):
        with context.create_context(mode) as sibling:
            assert sibling.session_mode == mode
    with pytest.raises(InvalidArgument, match="SESSION_TRANSACTED"):
        context.create_context(True)


def test_the_module_function_takes_a_mode() -> None:
    with jmsbridge.context("embedded:", CLIENT_ACKNOWLEDGE) as by_place:
        assert by_place.session_mode == CLIENT_ACKNOWLEDGE
    with jmsbridge.context("embedded:", session_mode=SESSION_TRANSACTED) as by_name:
        assert by_name.transacted


WRONG_WAYS_IN: list[Callable[[Any], Any]] = [
    lambda module: module.context(CLIENT_ACKNOWLEDGE),
    lambda module: module.context("user", "password"),
    lambda module: module.context("user", "password", CLIENT_ACKNOWLEDGE),
    lambda module: module.connect("user", "password"),
    lambda module: module.connect("user", "password", "embedded:"),
    lambda module: module.connect(CLIENT_ACKNOWLEDGE),
    lambda module: module.ConnectionFactory("user", "password", "embedded:"),
]


@pytest.mark.parametrize("call", WRONG_WAYS_IN)
def test_the_broker_comes_first(call: Callable[[Any], Any]) -> None:
    with pytest.raises(InvalidCall, match=r"pass the target first and everything else by name: \w+\(target"):
        call(jmsbridge)


@pytest.mark.parametrize("kind", [Session, JMSContext])
def test_the_constants_are_where_java_has_them(kind: Any) -> None:
    names = [name for name in jmsbridge.__all__ if name.endswith("_ACKNOWLEDGE") or name == "SESSION_TRANSACTED"]
    assert len(names) == 7
    for name in names:
        assert getattr(kind, name) == getattr(jmsbridge, name)


def test_a_session_has_the_constants_too(session: Session, context: JMSContext) -> None:
    assert (session.AUTO_ACKNOWLEDGE, context.CLIENT_ACKNOWLEDGE) == (AUTO_ACKNOWLEDGE, CLIENT_ACKNOWLEDGE)
    assert (DeliveryMode.NON_PERSISTENT, DeliveryMode.PERSISTENT) == (1, 2)

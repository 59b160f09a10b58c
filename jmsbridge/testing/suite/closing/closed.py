"""Every public method and property of a closed object, one case each (rules CL-1 and CL-2).

The tables name every public attribute of the classes; a case checks that none is missing.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from jmsbridge import (
    AUTO_ACKNOWLEDGE,
    Connection,
    IllegalStateException,
    IllegalStateRuntimeException,
    JMSConsumer,
    JMSContext,
    JMSProducer,
    MessageConsumer,
    MessageProducer,
    Queue,
    QueueBrowser,
    Session,
    Topic,
)
from jmsbridge.spi.native import Native
from jmsbridge.testing.harness import Harness
from jmsbridge.testing.marks import pitfall, requires, rule

Call = Callable[[Any], object]

QUEUE, TOPIC = Queue("closed-queue"), Topic("closed-topic")


class Kind(NamedTuple):
    """A class under test: how to make one, what closes it, the exception, its calls by public name."""

    cls: type
    make: Callable[[Harness], tuple[Any, dict[str, Any]]]
    error: type[Exception]
    calls: dict[str, Call]


def call(name: str, *args: Any, **kwargs: Any) -> Call:
    """Call the method."""
    return lambda target: getattr(target, name)(*args, **kwargs)


def get(name: str) -> Call:
    """Read the property."""
    return lambda target: getattr(target, name)


def put(name: str, value: Any) -> Call:
    """Assign the property."""
    return lambda target: setattr(target, name, value)


def getters(*names: str) -> dict[str, Call]:
    """Cases that read these properties."""
    return {name: get(name) for name in names}


def calls(**arguments: tuple[Any, ...]) -> dict[str, Call]:
    """Cases that call these methods with these arguments."""
    return {name: call(name, *args) for name, args in arguments.items()}


def setters(**values: Any) -> dict[str, Call]:
    """Cases that assign these properties."""
    return {f"{name}=": put(name, value) for name, value in values.items()}


SHARED_CALLS: dict[str, Call] = {
    **getters("transacted"),
    **calls(
        create_message=(),
        create_bytes_message=(),
        create_map_message=(),
        create_stream_message=(),
        create_object_message=(),
        create_text_message=("text",),
        create_queue=("name",),
        create_topic=("name",),
        create_temporary_queue=(),
        create_temporary_topic=(),
        create_browser=(QUEUE,),
        create_consumer=(QUEUE,),
        create_shared_consumer=(TOPIC, "name"),
        create_durable_consumer=(TOPIC, "name"),
        create_shared_durable_consumer=(TOPIC, "name"),
        unsubscribe=("name",),
        commit=(),
        rollback=(),
        recover=(),
        acknowledge=(),
    ),
}

CONNECTION_CALLS: dict[str, Call] = {
    **getters("client_id", "meta_data", "capabilities", "admin", "positions", "exception_listener"),
    **setters(client_id="name", exception_listener=None),
    **calls(start=(), stop=()),
}

PRODUCER_GETTERS = getters(
    "disable_message_id",
    "disable_message_timestamp",
    "delivery_mode",
    "priority",
    "time_to_live",
    "delivery_delay",
)

CONSUMER_CALLS: dict[str, Call] = {
    **getters("message_selector", "message_listener"),
    **setters(message_listener=None),
    **calls(receive=(), receive_no_wait=()),
}


def make_session(harness: Harness) -> tuple[Session, dict[str, Any]]:
    """A session and what may close it."""
    connection = harness.connect()
    session = connection.create_session()
    return session, {"connection": connection}


def make_child(create: Callable[[Session, Queue], Any]) -> Callable[[Harness], tuple[Any, dict[str, Any]]]:
    """How to make a child of a session, with its parents."""

    def make(harness: Harness) -> tuple[Any, dict[str, Any]]:
        session, parents = make_session(harness)
        return create(session, harness.queue()), {"session": session, **parents}

    return make


def make_of_context(create: Callable[[JMSContext, Queue], Any]) -> Callable[[Harness], tuple[Any, dict[str, Any]]]:
    """How to make a child of a context, with its parent."""

    def make(harness: Harness) -> tuple[Any, dict[str, Any]]:
        context = harness.context()
        return create(context, harness.queue()), {"context": context}

    return make


KINDS: dict[str, Kind] = {
    "Connection": Kind(
        Connection,
        lambda harness: (harness.connect(), {}),
        IllegalStateException,
        {
            **CONNECTION_CALLS,
            **calls(
                create_session=(),
                create_connection_consumer=(QUEUE, None, None, 1),
                create_shared_connection_consumer=(TOPIC, "name", None, None, 1),
                create_durable_connection_consumer=(TOPIC, "name", None, None, 1),
                create_shared_durable_connection_consumer=(TOPIC, "name", None, None, 1),
            ),
        },
    ),
    "Session": Kind(
        Session,
        make_session,
        IllegalStateException,
        {
            **SHARED_CALLS,
            **getters("acknowledge_mode", "send_acknowledgement_handler", "failed_sends", "group_ack_threshold"),
            **getters("message_listener"),
            **setters(send_acknowledgement_handler=None, group_ack_threshold=5, message_listener=None),
            **calls(create_producer=(QUEUE,), create_durable_subscriber=(TOPIC, "name"), run=()),
        },
    ),
    "MessageProducer": Kind(
        MessageProducer,
        make_child(lambda session, queue: session.create_producer(queue)),
        IllegalStateException,
        {
            **PRODUCER_GETTERS,
            **getters("destination"),
            **setters(disable_message_id=True, disable_message_timestamp=True, delivery_mode=1, priority=1),
            **setters(time_to_live=1, delivery_delay=1),
            **calls(send=("text",), send_async=("text",)),
        },
    ),
    "MessageConsumer": Kind(
        MessageConsumer,
        make_child(lambda session, queue: session.create_consumer(queue)),
        IllegalStateException,
        CONSUMER_CALLS,
    ),
    "QueueBrowser": Kind(
        QueueBrowser,
        make_child(lambda session, queue: session.create_browser(queue)),
        IllegalStateException,
        {
            **getters("queue", "message_selector", "enumeration"),
            "__iter__": lambda target: next(iter(target)),
        },
    ),
    "JMSContext": Kind(
        JMSContext,
        lambda harness: (harness.context(), {}),
        IllegalStateRuntimeException,
        {
            **CONNECTION_CALLS,
            **SHARED_CALLS,
            **getters("auto_start", "session_mode"),
            **setters(auto_start=False),
            **calls(create_context=(AUTO_ACKNOWLEDGE,), create_producer=()),
        },
    ),
    "JMSProducer": Kind(
        JMSProducer,
        make_of_context(lambda context, queue: context.create_producer()),
        IllegalStateRuntimeException,
        {
            **PRODUCER_GETTERS,
            **getters("async_listener", "jms_correlation_id", "jms_correlation_id_as_bytes", "jms_type"),
            **getters("jms_reply_to", "property_names", "duplicate_id"),
            **calls(
                send=(QUEUE, "text"),
                set_delivery_mode=(1,),
                set_priority=(1,),
                set_time_to_live=(1,),
                set_delivery_delay=(1,),
                set_disable_message_id=(True,),
                set_disable_message_timestamp=(True,),
                set_async=(None,),
                set_property=("name", 1),
                set_jms_correlation_id=("id",),
                set_jms_correlation_id_as_bytes=(b"id",),
                set_jms_type=("type",),
                set_jms_reply_to=(QUEUE,),
                set_duplicate_id=("id",),
                clear_properties=(),
                property_exists=("name",),
            ),
            **{
                f"get_{kind}_property": call(f"get_{kind}_property", "name")
                for kind in ("boolean", "byte", "short", "int", "long", "float", "double", "string", "object")
            },
        },
    ),
    "JMSConsumer": Kind(
        JMSConsumer,
        make_of_context(lambda context, queue: context.create_consumer(queue)),
        IllegalStateRuntimeException,
        {**CONSUMER_CALLS, **calls(receive_body=(str,), receive_body_no_wait=(str,))},
    ),
}


def needs(kind: str) -> list[pytest.MarkDecorator]:
    """What the broker must offer for there to be such an object."""
    return [requires(Native.BROWSE)] if kind == "QueueBrowser" else []


CASES = [(kind, name) for kind, entry in KINDS.items() for name in entry.calls]


@rule("CL-2")
@pitfall(15)
@pytest.mark.parametrize(
    ("kind", "name"), [pytest.param(*case, marks=needs(case[0]), id=".".join(case)) for case in CASES]
)
def test_closed_object_refuses(harness: Harness, kind: str, name: str) -> None:
    """IllegalState of the right tree from each call on a closed object; closing it again is fine."""
    entry = KINDS[kind]
    target, parents = entry.make(harness)
    # a JMSProducer has no close of its own: it is closed with its context
    (parents["context"] if entry.cls is JMSProducer else target).close()
    with pytest.raises(entry.error):
        entry.calls[name](target)
    if entry.cls is not JMSProducer:
        target.close()


PARENTS = [
    ("Session", "connection"),
    ("MessageProducer", "session"),
    ("MessageProducer", "connection"),
    ("MessageConsumer", "session"),
    ("MessageConsumer", "connection"),
    ("QueueBrowser", "session"),
    ("QueueBrowser", "connection"),
    ("JMSConsumer", "context"),
]


@rule("CL-2", "CL-4")
@pitfall(15)
@pytest.mark.parametrize(("kind", "parent"), [pytest.param(*pair, marks=needs(pair[0])) for pair in PARENTS])
def test_closed_parent_closes_every_call(harness: Harness, kind: str, parent: str) -> None:
    """The same after the close of a parent; the answers are collected, so that a failure shows all of them."""
    entry = KINDS[kind]
    target, parents = entry.make(harness)
    parents[parent].close()
    answers: dict[str, object] = {}
    for name, run in entry.calls.items():
        try:
            answers[name] = run(target)
        except Exception as error:
            answers[name] = type(error)
    assert {name: answer for name, answer in answers.items() if answer is not entry.error} == {}
    target.close()


EXEMPT = {
    # constants
    "AUTO_ACKNOWLEDGE",
    "CLIENT_ACKNOWLEDGE",
    "DUPS_OK_ACKNOWLEDGE",
    "SESSION_TRANSACTED",
    # unsupported in every state: UnsupportedFeature
    "create_xa_context",
    # extensions for looking back, which are asked after the end, too: what a producer could not confirm, whether a
    # browser or a selecting consumer left something out, what has become of a connection
    "connection",
    "is_truncated",
    "state",
    "unacknowledged",
}


@rule("CL-2")
@pytest.mark.parametrize("kind", KINDS)
def test_closed_table_is_complete(kind: str) -> None:
    """Each public name of the class has a case above, and each settable property one for the assignment."""
    entry = KINDS[kind]
    public = {name for name in dir(entry.cls) if not name.startswith("_") and not name.isupper()} - {"close"} - EXEMPT
    assert public - set(entry.calls) == set()
    settable = {
        f"{name}="
        for name in public
        if isinstance(attribute := getattr(entry.cls, name), property) and attribute.fset is not None
    }
    assert settable - set(entry.calls) == set()

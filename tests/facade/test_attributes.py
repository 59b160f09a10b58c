"""No public object accepts an unknown attribute; the error names the one that was probably meant."""

import inspect
import pickle
import pydoc
import re
from collections.abc import Callable, Iterator
from pkgutil import iter_modules
from typing import Any

import pytest

import jmsbridge
from jmsbridge import (
    Connection,
    ConnectionFactory,
    JMSContext,
    MessageConsumer,
    Queue,
    Session,
    TextMessage,
    domain,
    java_api,
)
from jmsbridge.strict import JavaNames, Strict

Make = Callable[[Connection, JMSContext], Any]
QUEUE = Queue("orders")

OBJECTS: dict[str, Make] = {
    "ConnectionFactory": lambda connection, context: ConnectionFactory("embedded:"),
    "Connection": lambda connection, context: connection,
    "ConnectionMetaData": lambda connection, context: connection.meta_data,
    "Administration": lambda connection, context: connection.admin,
    "DestinationInfo": lambda connection, context: jmsbridge.DestinationInfo(destination=QUEUE, depth=0, consumers=0),
    "Capability": lambda connection, context: connection.capabilities["transactions"],
    "Session": lambda connection, context: connection.create_session(),
    "JMSContext": lambda connection, context: context,
    "MessageProducer": lambda connection, context: connection.create_session().create_producer(QUEUE),
    "JMSProducer": lambda connection, context: context.create_producer(),
    "property names": lambda connection, context: context.create_producer().property_names,
    "MessageConsumer": lambda connection, context: connection.create_session().create_consumer(QUEUE),
    "JMSConsumer": lambda connection, context: context.create_consumer(QUEUE),
    "QueueBrowser": lambda connection, context: connection.create_session().create_browser(QUEUE),
    "TemporaryQueue": lambda connection, context: context.create_temporary_queue(),
    "TemporaryTopic": lambda connection, context: context.create_temporary_topic(),
    "Queue": lambda connection, context: QUEUE,
    "Topic": lambda connection, context: jmsbridge.Topic("news"),
    "QueueRequestor": lambda connection, context: domain.QueueRequestor(connection.create_session(), QUEUE),
    **{
        kind.__name__: lambda connection, context, kind=kind: kind()  # type: ignore[misc]
        for kind in (
            jmsbridge.Message,
            jmsbridge.TextMessage,
            jmsbridge.BytesMessage,
            jmsbridge.MapMessage,
            jmsbridge.StreamMessage,
            jmsbridge.ObjectMessage,
        )
    },
    "properties": lambda connection, context: jmsbridge.Message().properties,
    "body": lambda connection, context: jmsbridge.MapMessage().body,
}


@pytest.mark.parametrize("name", OBJECTS)
def test_an_unknown_attribute_is_refused(connection: Connection, context: JMSContext, name: str) -> None:
    target = OBJECTS[name](connection, context)
    with pytest.raises(AttributeError, match=r"brand_new|immutable"):
        target.brand_new = 1
    assert not hasattr(target, "brand_new")
    assert not hasattr(target, "__dict__")


def public_classes() -> Iterator[type]:
    """All strict classes of this library."""
    for module in iter_modules(jmsbridge.__path__, "jmsbridge."):
        if not module.ispkg and module.name != "jmsbridge.__main__":
            __import__(module.name)
    todo: list[type] = [JavaNames]
    while todo:
        kind = todo.pop()
        todo += kind.__subclasses__()
        if kind.__module__.startswith("jmsbridge"):
            yield kind


def test_no_public_class_has_a_dict() -> None:
    assert [kind for kind in public_classes() if kind.__dictoffset__] == []
    names = {kind.__name__ for kind in public_classes()}
    assert {"Connection", "Session", "QueueSession", "TopicSubscriber", "TextMessage", "TemporaryTopic"} <= names


def test_every_class_that_the_package_offers_is_strict() -> None:
    """Except values, errors, modes, and classes for typing only."""
    other = (BaseException, int, float, str)
    offered = [getattr(jmsbridge, name) for name in jmsbridge.__all__]
    loose = [
        kind
        for kind in offered
        if isinstance(kind, type)
        and not issubclass(kind, (JavaNames, *other))
        and kind
        not in (jmsbridge.Capability, jmsbridge.JavaObject, jmsbridge.DestinationInfo, jmsbridge.PositionedMessage)
        and not getattr(kind, "_is_protocol", False)
    ]
    assert loose == []


SET: list[tuple[str, str, str]] = [
    ("MessageConsumer", "messageListener", "message_listener = …"),
    ("MessageConsumer", "on_message", "message_listener = …"),
    ("MessageConsumer", "onMessage", "message_listener = …"),
    ("MessageConsumer", "mesage_listener", "message_listener = …"),
    ("MessageConsumer", "MessageListener", "message_listener = …"),
    ("JMSConsumer", "messageListener", "message_listener = …"),
    ("JMSConsumer", "on_message", "message_listener = …"),
    ("JMSConsumer", "message_listner", "message_listener = …"),
    ("Connection", "exceptionListener", "exception_listener = …"),
    ("Connection", "on_exception", "exception_listener = …"),
    ("Connection", "clientID", "client_id = …"),
    ("Connection", "clientId", "client_id = …"),
    ("Connection", "cliend_id", "client_id = …"),
    ("JMSContext", "exceptionListener", "exception_listener = …"),
    ("JMSContext", "autoStart", "auto_start = …"),
    ("MessageProducer", "timeToLive", "time_to_live = …"),
    ("MessageProducer", "ttl", "time_to_live"),
    ("MessageProducer", "deliveryMode", "delivery_mode = …"),
    ("MessageProducer", "priorty", "priority = …"),
    ("MessageProducer", "disableMessageID", "disable_message_id = …"),
    ("JMSProducer", "priority", "set_priority(…)"),
    ("JMSProducer", "timeToLive", "time_to_live"),
    ("Session", "groupAckThreshold", "group_ack_threshold = …"),
    ("TextMessage", "JMSPriority", "jms_priority = …"),
    ("TextMessage", "jmsCorrelationID", "jms_correlation_id = …"),
    ("TextMessage", "correlation_id", "jms_correlation_id"),
    ("TextMessage", "replyTo", "jms_reply_to = …"),
    ("Queue", "queueName", "queue_name"),
]


@pytest.mark.parametrize(("name", "attribute", "meant"), SET)
def test_setting_a_wrong_name_raises_with_the_right_one(
    connection: Connection, context: JMSContext, name: str, attribute: str, meant: str
) -> None:
    target = OBJECTS[name](connection, context)
    with pytest.raises(AttributeError) as caught:
        setattr(target, attribute, lambda *_: None)
    assert attribute in str(caught.value)
    assert meant in str(caught.value)


READ: list[tuple[str, str, str]] = [
    ("Connection", "createSession", "create_session(…)"),
    ("Connection", "setClientID", "client_id = …"),
    ("Connection", "setExceptionListener", "exception_listener = …"),
    ("Connection", "getMetaData", "meta_data"),
    ("Session", "createQueue", "create_queue(…)"),
    ("Session", "createTextMessage", "create_text_message(…)"),
    ("Session", "createDurableSubscriber", "create_durable_subscriber(…)"),
    ("Session", "getTransacted", "transacted"),
    ("Session", "sendMessage", "create_producer(destination).send(message)"),
    ("JMSContext", "createContext", "create_context(…)"),
    ("JMSContext", "getSessionMode", "session_mode"),
    ("ConnectionFactory", "createXAContext", "create_xa_context(…)"),
    ("MessageProducer", "sendMessage", "send(…)"),
    ("MessageProducer", "setTimeToLive", "time_to_live = …"),
    ("MessageProducer", "set_priority", "priority = …"),
    ("JMSProducer", "setTimeToLive", "set_time_to_live(…)"),
    ("JMSProducer", "setJMSCorrelationID", "set_jms_correlation_id(…)"),
    ("JMSProducer", "getAsync", "async_listener"),
    ("JMSProducer", "close", "does not need to be closed"),
    ("MessageConsumer", "receiveNoWait", "receive_no_wait(…)"),
    ("MessageConsumer", "setMessageListener", "message_listener = …"),
    ("JMSConsumer", "receiveBody", "receive_body(…)"),
    ("QueueBrowser", "getEnumeration", "enumeration"),
    ("Queue", "getQueueName", "queue_name"),
    ("ConnectionMetaData", "getJMSXPropertyNames", "jmsx_property_names"),
    ("TextMessage", "setText", "text = …"),
    ("TextMessage", "getText", "text"),
    ("TextMessage", "setStringProperty", "set_string_property(…)"),
    ("TextMessage", "getJMSMessageID", "jms_message_id"),
    ("TextMessage", "setJMSCorrelationIDAsBytes", "jms_correlation_id_as_bytes = …"),
    ("TextMessage", "isBodyAssignableTo", "is_body_assignable_to(…)"),
    ("BytesMessage", "readUTF", "read_utf(…)"),
    ("MapMessage", "itemExists", "item_exists(…)"),
    ("StreamMessage", "writeObject", "write_object(…)"),
    ("ObjectMessage", "getObject", "object"),
]


@pytest.mark.parametrize(("name", "attribute", "meant"), READ)
def test_calling_java_s_name_raises_with_python_s(
    connection: Connection, context: JMSContext, name: str, attribute: str, meant: str
) -> None:
    target = OBJECTS[name](connection, context)
    with pytest.raises(AttributeError) as caught:
        getattr(target, attribute)
    assert str(caught.value).startswith(f"{type(target).__name__} has no attribute {attribute!r}; ")
    assert str(caught.value).endswith(meant)
    assert (caught.value.name, caught.value.obj) == (attribute, target)
    assert not hasattr(target, attribute)


@pytest.mark.parametrize("kind", [TextMessage, MessageConsumer, Session, Queue])
def test_wrong_names_are_not_listed(kind: type) -> None:
    """Neither completion in an interpreter nor ``help`` nor mocks of a class show them."""
    shown = [name for name in dir(kind) if name != name.lower() and not name.isupper()]
    assert shown == []
    assert "messageListener" not in pydoc.render_doc(MessageConsumer)
    assert "createQueue" not in dict(inspect.getmembers(kind))


def test_an_object_shows_its_names_only(session: Session) -> None:
    assert "create_queue" in dir(session)
    assert "createQueue" not in dir(session)
    assert "setText" not in dir(TextMessage())


def test_a_class_names_the_right_attribute_as_its_objects_do() -> None:
    kind: Any = Session
    with pytest.raises(AttributeError, match=r"write create_queue\(…\)"):
        _ = kind.createQueue


def test_an_attribute_that_cannot_be_set_says_so(session: Session) -> None:
    target: Any = session
    for name in ("transacted", "create_queue", "AUTO_ACKNOWLEDGE"):
        with pytest.raises(AttributeError, match=f"{name} of Session cannot be set"):
            setattr(target, name, True)
    with pytest.raises(AttributeError, match="createQueue"):
        target.createQueue = None


def test_a_subclass_of_the_application_may_have_any_attribute() -> None:
    class Order(TextMessage):
        def __init__(self) -> None:
            super().__init__("order")
            self.priority = 7  # an attribute that a message has under the name jms_priority
            self.customer = "c"

    order = Order()
    assert (order.priority, order.customer, order.text) == (7, "c", "order")

    class Orders(ConnectionFactory):
        def __init__(self) -> None:
            super().__init__("embedded:")
            self.what = "orders"

    assert Orders().what == "orders"


def test_pickled_objects_stay_what_they_are() -> None:
    for each in (Queue("q"), Queue("a,b", literal=True), TextMessage("x"), ConnectionFactory("embedded:")):
        copy = pickle.loads(pickle.dumps(each))
        assert type(copy) is type(each)
    assert pickle.loads(pickle.dumps(Queue("a,b", literal=True))) == Queue("a,b", literal=True)


def test_frequent_objects_are_not_strict() -> None:
    """Setting an attribute of a class with ``__setattr__`` takes ten times as long."""
    assert [kind for kind in (TextMessage, Queue) if issubclass(kind, Strict)] == []
    assert "__setattr__" not in {name for kind in TextMessage.__mro__[:-1] for name in vars(kind)}


METHODS = [(interface, row) for interface in java_api.INTERFACES for row in java_api.rows(interface)]


@pytest.mark.parametrize(("interface", "row"), METHODS, ids=[f"{each}-{row.java}-{row.shown}" for each, row in METHODS])
def test_every_method_of_java_is_here_or_leads_to_what_the_table_says(interface: str, row: java_api.Row) -> None:
    kind = getattr(jmsbridge, interface, None) or getattr(domain, interface)
    if row.java in dir(kind):
        assert row.shown.startswith(f"{row.java}(")
        return
    with pytest.raises(AttributeError) as caught:
        getattr(kind, row.java)
    name = row.shown.removesuffix(" = …").partition("(")[0]
    assert re.search(rf"; write {name}(\(…\)| = …)?$", str(caught.value))

"""Client ids: when they may be set, and to what (section 6.1.2; rules CI-1 to CI-5)."""

from collections.abc import Callable
from typing import Any

import pytest

from jmsbridge import (
    Connection,
    IllegalStateException,
    IllegalStateRuntimeException,
    InvalidClientID,
    InvalidClientIDException,
    InvalidClientIDRuntimeException,
    Queue,
    Topic,
)
from jmsbridge.spi.native import Native
from jmsbridge.testing.harness import Harness
from jmsbridge.testing.marks import pitfall, requires, rule
from jmsbridge.testing.suite.support import LONG, SHORT, receive_texts, send_texts, text_of


def client_id_users() -> dict[str, Callable[[Connection], object]]:
    """The actions after which a client id can no longer be set."""
    return {
        "create_session": lambda connection: connection.create_session(),
        "start": lambda connection: connection.start(),
        "stop": lambda connection: connection.stop(),
    }


@rule("CI-1")
@pitfall(30)
@pytest.mark.parametrize("use", client_id_users())
def test_connect_client_id_only_before_use(harness: Harness, use: str) -> None:
    """A client id can be set only before the connection is used."""
    connection = harness.connect(start=False)
    client_id_users()[use](connection)
    with pytest.raises(IllegalStateException):
        connection.client_id = harness.name("client")
    assert connection.client_id is None


@rule("CI-1")
@pitfall(30)
def test_connect_client_id_reading_does_not_count_as_use(harness: Harness, queue: Queue) -> None:
    """Reading the client id or the metadata does not count as use: the id can be set afterwards."""
    connection = harness.connect(start=False)
    assert connection.client_id is None
    assert connection.meta_data.jms_version == "3.1"
    name = harness.name("client")
    connection.client_id = name
    assert connection.client_id == name
    connection.start()
    session = connection.create_session()
    send_texts(session, queue, "text")
    assert receive_texts(session.create_consumer(queue), 1) == ["text"]
    assert connection.client_id == name


@rule("CL-2")
@pitfall(15)
def test_connect_client_id_of_a_closed_connection_is_refused(harness: Harness) -> None:
    """Also of one that was never used, and so could take an id until then."""
    connection = harness.connect(start=False)
    connection.close()
    with pytest.raises(IllegalStateException):
        connection.client_id = harness.name("late")


@rule("CI-2")
def test_connect_client_id_of_the_administrator_stays(harness: Harness) -> None:
    """A configured client id can be read but not replaced, in both APIs."""
    name = harness.name("client")
    connection = harness.connect(start=False, client_id=name)
    assert connection.client_id == name
    with pytest.raises(IllegalStateException):
        connection.client_id = harness.name("other")
    assert connection.client_id == name
    other = harness.name("client")
    context = harness.context(client_id=other)
    assert context.client_id == other
    with pytest.raises(IllegalStateRuntimeException):
        context.client_id = harness.name("other")


@rule("CI-3")
def test_connect_client_id_cannot_be_set_twice(harness: Harness) -> None:
    """The second setting is refused, also of the same id."""
    connection = harness.connect(start=False)
    name = harness.name("client")
    connection.client_id = name
    for again in (name, harness.name("other")):
        with pytest.raises(IllegalStateException):
            connection.client_id = again
    assert connection.client_id == name


@rule("CI-3")
@pytest.mark.parametrize("invalid", [None, ""], ids=["null", "empty"])
def test_connect_client_id_invalid_is_refused_by_the_setter(harness: Harness, invalid: Any) -> None:
    """None and the empty string are refused as client ids, in both APIs."""
    connection = harness.connect(start=False)
    with pytest.raises(InvalidClientIDException):
        connection.client_id = invalid
    assert connection.client_id is None
    with pytest.raises(InvalidClientIDRuntimeException):
        harness.context().client_id = invalid


@rule("CI-3")
@pitfall(30)
@requires(Native.CLIENT_ID)
def test_connect_client_id_duplicate_is_refused_by_the_setter(harness: Harness) -> None:
    """Setting a client id that is in use raises at once; another id can still be set."""
    name = harness.name("client")
    first = harness.connect(client_id=name)
    second = harness.connect(start=False)
    with pytest.raises(InvalidClientIDException):
        second.client_id = name
    with pytest.raises(InvalidClientIDRuntimeException):
        harness.context().client_id = name
    other = harness.name("other")
    second.client_id = other
    assert (first.client_id, second.client_id) == (name, other)


@rule("CI-4")
@requires(Native.CLIENT_ID)
def test_connect_client_id_is_free_after_close(harness: Harness) -> None:
    """When a connection is closed, another one may use its client id."""
    name = harness.name("client")
    first = harness.connect(client_id=name)
    second = harness.connect(start=False)
    with pytest.raises(InvalidClientID):
        second.client_id = name
    first.close()
    third = harness.connect(start=False)
    third.client_id = name
    third.start()
    assert third.client_id == name


@rule("CI-5")
def test_connect_client_id_is_none_until_set(harness: Harness) -> None:
    """The client id of a connection is None until it is set, also while the connection is used."""
    connection = harness.connect()
    connection.create_session()
    assert connection.client_id is None
    assert harness.context().client_id is None


@rule("CI-5")
@requires(Native.SHARED)
def test_connect_client_id_not_needed_for_shared_subscriptions(harness: Harness, topic: Topic) -> None:
    """Clients without an id share a subscription by its name."""
    name = harness.name("shared")
    session = harness.connect().create_session()
    first = session.create_shared_consumer(topic, name)
    second = harness.connect().create_session().create_shared_consumer(topic, name)
    send_texts(session, topic, "a", "b", "c", "d")
    texts: list[str] = []
    for _ in range(4):
        message = first.receive(timeout=SHORT) or second.receive(timeout=LONG)
        assert message is not None
        texts.append(text_of(message))
    assert sorted(texts) == ["a", "b", "c", "d"]


@rule("CI-1", "CI-3")
def test_connect_client_id_of_the_context_follows_the_same_rules(harness: Harness, queue: Queue) -> None:
    """The client id of a JMSContext can be set once, before its first use."""
    context = harness.context()
    name = harness.name("client")
    context.client_id = name
    with pytest.raises(IllegalStateRuntimeException):
        context.client_id = harness.name("other")
    late = harness.context()
    late.create_producer().send(queue, "used")
    with pytest.raises(IllegalStateRuntimeException):
        late.client_id = harness.name("late")
    assert (context.client_id, late.client_id) == (name, None)


@rule("CI-1")
@pytest.mark.parametrize(
    "use",
    [
        "create_producer",
        "create_consumer",
        pytest.param("create_browser", marks=requires(Native.BROWSE)),
        pytest.param("create_temporary_queue", marks=requires(Native.TEMPORARY)),
    ],
)
def test_connect_client_id_of_the_context_not_after(harness: Harness, queue: Queue, use: str) -> None:
    """What a context creates at the broker uses the connection, also what does not start it."""
    context = harness.context()
    context.auto_start = False
    arguments = {"create_consumer": [queue], "create_browser": [queue]}
    getattr(context, use)(*arguments.get(use, []))
    with pytest.raises(IllegalStateRuntimeException):
        context.client_id = harness.name("late")
    assert context.client_id is None

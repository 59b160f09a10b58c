"""Which error is raised if an argument is wrong and the broker lacks the feature as well (rule SE-3)."""

from collections.abc import Callable
from typing import Any

import pytest

from jmsbridge import (
    Connection,
    InvalidDestinationException,
    InvalidSelectorException,
    Queue,
    Session,
    Topic,
    UnsupportedFeature,
)
from jmsbridge.spi import Native
from jmsbridge.testing.marks import pitfall, rule
from jmsbridge.testing.scripted import ScriptedBackend

Connect = Callable[..., Connection]
BAD = "a = = b"

MISSING = Native.BROWSE | Native.DURABLE | Native.SHARED | Native.SHARED_DURABLE
MISSING |= Native.QUEUE_SELECTORS | Native.TOPIC_SELECTORS | Native.NO_LOCAL

CREATE: dict[str, tuple[Any, Callable[[Session, Any, str], object]]] = {
    "browser": (Queue("q"), lambda session, queue, text: session.create_browser(queue, text)),
    "consumer": (Queue("q"), lambda session, queue, text: session.create_consumer(queue, text)),
    "topic consumer": (Topic("t"), lambda session, topic, text: session.create_consumer(topic, text, True)),
    "durable": (Topic("t"), lambda session, topic, text: session.create_durable_consumer(topic, "s", text)),
    "subscriber": (Topic("t"), lambda session, topic, text: session.create_durable_subscriber(topic, "s", text)),
    "shared": (Topic("t"), lambda session, topic, text: session.create_shared_consumer(topic, "s", text)),
    "shared durable": (
        Topic("t"),
        lambda session, topic, text: session.create_shared_durable_consumer(topic, "s", text),
    ),
}


@rule("SE-3")
@pitfall(40)
@pytest.mark.parametrize("kind", CREATE)
def test_arguments_are_checked_before_capabilities(backend: ScriptedBackend, connect: Connect, kind: str) -> None:
    """The feature is neither native nor emulated; still a wrong argument is reported as a wrong argument."""
    backend.lower(MISSING)
    session = connect(client_id="client", emulation="refuse").create_session()
    destination, create = CREATE[kind]
    with pytest.raises(InvalidDestinationException):
        create(session, None, "a = 1")
    with pytest.raises(InvalidSelectorException):
        create(session, destination, BAD)
    with pytest.raises(UnsupportedFeature):
        create(session, destination, "a = 1")

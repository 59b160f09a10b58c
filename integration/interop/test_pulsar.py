"""What is to be had with Starlight for JMS alone: messages that Java received and sent on, whose headers come twice."""

from collections.abc import Callable

import pytest

import jmsbridge
from integration.interop.describing import describe
from integration.interop.way import PATIENCE, Way, ways

Connect = Callable[..., jmsbridge.Connection]


@pytest.mark.parametrize("way", ways(lambda row: row.name == "pulsar-starlight"), indirect=True)
def test_java_sends_on_what_it_received(way: Way, connect: Connect, name: str) -> None:
    session = connect().create_session()
    first = session.create_text_message("a text")
    first.jms_type, first.jms_correlation_id, first.jms_reply_to = "type-1", "id-1", session.create_queue("answers-1")
    first.set_int_property("p", 7)
    producer = session.create_producer(session.create_queue(name))
    consumer = session.create_consumer(session.create_queue(f"{name}-on"))
    told = {"queue": name, "to": f"{name}-on", "type": "type-2", "correlation_id": "id-2", "reply_to": "answers-2"}
    headers = ("type", "correlation_id", "reply_to", "priority")
    seen = {}
    for clear in (False, True):
        producer.send(first, priority=7)
        way.java("forward", **told, priority=2, clear=clear)
        message = consumer.receive(timeout=PATIENCE)
        assert message is not None
        there = describe(message)
        assert (there["body"], there["message_id"]) == (["String", "a text"], first.jms_message_id)
        assert there["properties"] == ({} if clear else {"p": ["Integer", "7"]})
        seen[clear] = [there[header] for header in headers]
    assert seen == {
        # as pulsar-client shows them; to Java they are the new ones
        False: ["type-1", "id-1", ["queue", False, "answers-1"], 7],
        True: ["type-2", "id-2", ["queue", False, "answers-2"], 2],
    }

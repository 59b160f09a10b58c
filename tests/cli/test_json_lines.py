"""A message that goes through ``receive | send`` does not change."""

import json
import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import Result

import jmsbridge
from jmsbridge import Message, Queue, Session, Topic
from jmsbridge.cli.lines import from_line, to_line
from jmsbridge.values import Byte, Char, Double, Float, Int, Long, Short
from tests.documents.test_values import SCALARS

PROPERTIES: dict[str, Any] = {
    "boolean": True,
    "byte": Byte(-128),
    "short": Short(5),
    "int": Int(-(2**31)),
    "long": Long(2**63 - 1),
    "float": Float(0.1),
    "double": Double(1.0),
    "text": "ü\nline\ud800",
    "nothing": None,
    "JMSXGroupID": "group",
    "JMSXGroupSeq": Int(3),
}
FIELDS: list[Any] = [*PROPERTIES.values(), Char("x"), Char("\udc00"), b"\0\xff", Double(-math.inf)]


def text(session: Session) -> Message:
    return session.create_text_message("line\nline ü \U0001f600")


def null_text(session: Session) -> Message:
    return session.create_text_message()


def plain(session: Session) -> Message:
    return session.create_message()


def some_bytes(session: Session) -> Message:
    message = session.create_bytes_message()
    message.write_bytes(bytes(range(256)))
    return message


def some_map(session: Session) -> Message:
    message = session.create_map_message()
    for number, value in enumerate(FIELDS):
        message.set_object(f"field {number}", value)
    return message


def stream(session: Session) -> Message:
    message = session.create_stream_message()
    for value in FIELDS:
        message.write_object(value)
    return message


def an_object(session: Session) -> Message:
    return session.create_object_message({"list": [1, Long(1), None, b"x", {"k": Float(0.5)}], "x": "y"})


def null_object(session: Session) -> Message:
    return session.create_object_message()


MAKERS = [text, null_text, plain, some_bytes, some_map, stream, an_object, null_object]


@pytest.mark.parametrize("make", MAKERS)
def test_a_message_survives_the_pipe(make: Callable[[Session], Message], run: Callable[..., Result]) -> None:
    with jmsbridge.connect() as connection:
        connection.start()
        session = connection.create_session()
        message = make(session)
        for name, value in PROPERTIES.items():
            message.set_object_property(name, value)
        message.jms_correlation_id_as_bytes = b"\x00\xffid"
        message.jms_reply_to = Topic("answers")
        message.jms_type = "a type"
        producer = session.create_producer(Queue("from"))
        producer.send(message, priority=7, time_to_live=3600, delivery_mode=jmsbridge.DeliveryMode.NON_PERSISTENT)
    received = run("receive", "from")
    assert received.exit_code == 0
    assert run("send", "to", text=received.stdout_bytes).exit_code == 0
    again = run("receive", "to")
    before, after = json.loads(received.stdout), json.loads(again.stdout)
    changed = {"jms_message_id", "jms_timestamp", "jms_destination", "jms_delivery_time", "jms_expiration"}
    assert abs(after["headers"]["jms_expiration"] - before["headers"]["jms_expiration"]) < 2000
    for document in (before, after):
        document["headers"] = {name: value for name, value in document["headers"].items() if name not in changed}
    assert after == before
    assert after["headers"]["jms_correlation_id"] == {"bytes": "AP9pZA=="}
    assert (after["headers"]["jms_priority"], after["headers"]["jms_delivery_mode"]) == (7, "NON_PERSISTENT")
    expected = {"boolean", "byte", "short", "int", "long", "float", "double", "text", "nothing"}
    assert expected <= set(after["properties"])


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with jmsbridge.connect("embedded:?broker=lines") as connection:
        yield connection.create_session()


@given(
    properties=st.dictionaries(
        st.from_regex(r"[a-z]{1,5}_", fullmatch=True), SCALARS.filter(lambda v: not isinstance(v, bytes | Char))
    ),
    fields=st.lists(SCALARS, max_size=5),
)
@settings(max_examples=50)
def test_any_values_survive_the_line(session: Session, properties: dict[str, Any], fields: list[Any]) -> None:
    message = session.create_stream_message()
    for field in fields:
        message.write_object(field)
    for name, value in properties.items():
        message.set_object_property(name, value)
    line = to_line(message)
    assert line.count(b"\n") == 1
    outgoing = from_line(line, session)
    assert to_line(outgoing.message) == line


def test_the_kind_is_optional(session: Session) -> None:
    kinds = {'{"body": "x"}': "text", '{"body": {"a": 1}}': "map", "{}": "message"}
    for line, kind in kinds.items():
        assert json.loads(to_line(from_line(line, session).message))["kind"] == kind


def test_what_the_provider_sets_is_ignored_on_the_way_in(session: Session) -> None:
    headers = {"jms_message_id": "ID:x", "jms_timestamp": 1, "jms_redelivered": True}
    line = json.dumps({"headers": headers, "properties": {"JMSXDeliveryCount": 9}})
    outgoing = from_line(line, session)
    assert outgoing.message.jms_message_id is None
    assert list(outgoing.message.property_names) == []


def test_properties_that_only_other_providers_allow_are_passed_on(session: Session) -> None:
    given = {"x-request-id": "7", "NULL": "n", "JMSXGroupSeq": "3"}
    outgoing = from_line(json.dumps({"body": "x", "properties": given}), session)
    assert dict(outgoing.message.properties) == given

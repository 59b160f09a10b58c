"""Messages of AMQP programs that know nothing of JMS: Qpid JMS and jmsbridge make the same of them."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import pytest

import jmsbridge
from integration.interop.describing import describe
from integration.interop.way import PATIENCE, Way, ways

proton = pytest.importorskip("proton", reason="the client library for AMQP 1.0 is not installed")
utils = pytest.importorskip("proton.utils", reason="the client library for AMQP 1.0 is not installed")

Connect = Callable[..., jmsbridge.Connection]
_ID = UUID("3db7149c-34e7-4132-9c82-23d8cd725a0b")
MESSAGES: dict[str, dict[str, Any]] = {
    "a text": {"body": "héllo 😀"},
    "no value": {"body": None},
    "an id without prefix": {"body": "x", "id": "order-1", "correlation_id": "order-0"},
    "a UUID as id": {"body": "x", "id": _ID, "correlation_id": _ID},
    "a number as id": {"body": "x", "id": proton.ulong(1 << 63), "correlation_id": proton.ulong(7)},
    "text as data": {"body": b"h\xe9llo", "inferred": True, "content_type": "text/plain; charset=iso-8859-1"},
    "data of a type": {"body": b"\0\1\xff", "inferred": True, "content_type": "image/png"},
    "data": {"body": b"\0\1\xff", "inferred": True},
    "a binary value": {"body": b"\0\1\xff"},
    "properties": {"body": "x", "properties": {"text": "é", "flag": True, "number": 1 << 40, "double": 1.5}},
    "headers": {"body": "x", "subject": "order", "group_id": "g", "group_sequence": 2, "priority": 7, "durable": True},
}
COMPARED = ("kind", "body", "properties", "correlation_id", "delivery_mode", "message_id", "priority", "type")


@pytest.mark.parametrize("way", ways(lambda row: row.client.folder == "qpid"), indirect=True)
def test_both_languages_read_the_same(way: Way, connect: Connect, name: str) -> None:
    session = connect().create_session()
    messages = {said: told for said, told in MESSAGES.items() if told["body"] is not None or not way.row.needs_a_body}
    queues = {f"{name}-{number}": told for number, told in enumerate(messages.values())}
    for queue in queues:
        for end in ("java", "python"):
            session.create_consumer(session.create_queue(f"{queue}-{end}")).close()  # now the queue is there
            send(way, f"{queue}-{end}", queues[queue])
    there = way.java("read", queues=[{"queue": f"{queue}-java", "patience": int(PATIENCE * 1000)} for queue in queues])
    wrong = {}
    for said, queue, seen in zip(messages, queues, there, strict=True):
        message = session.create_consumer(session.create_queue(f"{queue}-python")).receive(timeout=PATIENCE)
        assert message is not None
        here = describe(message)
        if "id" not in queues[queue]:
            seen["message_id"] = here["message_id"]  # some brokers give each message one
        cells = {field: (here[field], seen.get(field)) for field in COMPARED if here[field] != seen.get(field)}
        if cells:
            wrong[said] = cells
    assert wrong == {}


def send(way: Way, queue: str, told: dict[str, Any]) -> None:
    """One message by proton alone."""
    url = urlsplit(way.broker.url("amqp"))
    login = {"user": url.username, "password": url.password, "allowed_mechs": "PLAIN"}
    connection = utils.BlockingConnection(f"{url.hostname}:{url.port}", **login)
    try:
        connection.create_sender(f"{way.row.queue_address}{queue}").send(proton.Message(**told))
    finally:
        connection.close()

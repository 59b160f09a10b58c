"""Values at the limits of AMQP 0-9-1 and RabbitMQ: each arrives or is refused, and the link stays."""

import math
import os
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
import pika
import pytest

from integration.lab.broker import Broker
from integration.rabbitmq.support import Client
from jmsbridge.spi import (
    Address,
    AddressRefused,
    BackendError,
    Byte,
    ClientIdRefused,
    Envelope,
    Float,
    Interest,
    Long,
    Outcome,
    SendRefused,
    Short,
)
from jmsbridge.testing.suite.contract.support import Answer, Box, envelope, settle
from jmsbridge_rabbitmq import RabbitOptions
from jmsbridge_rabbitmq.messages.wire import Dialect
from jmsbridge_rabbitmq.protocol.names import DIRECT_REPLY
from tests.rabbitmq.messages.envelopes import typed

Clients = Callable[..., Client]
FAR = time.time_ns() // 1_000_000 + 3_600_000

EDGES: dict[str, Any] = {
    "false": False,
    "byte_least": Byte(-128),
    "byte_most": Byte(127),
    "short_least": Short(-(1 << 15)),
    "short_most": Short((1 << 15) - 1),
    "int_least": -(1 << 31),
    "int_most": (1 << 31) - 1,
    "long_least": Long(-(1 << 63)),
    "long_most": Long((1 << 63) - 1),
    "float_most": Float(3.4028234663852886e38),
    "float_least": Float(1.401298464324817e-45),
    "float_zero": Float(-0.0),
    "float_nan": Float(math.nan),
    "float_infinity": Float(math.inf),
    "float_minus": Float(-math.inf),
    "double_most": 1.7976931348623157e308,
    "double_least": 5e-324,
    "double_zero": -0.0,
    "double_nan": math.nan,
    "double_infinity": math.inf,
    "double_minus": -math.inf,
    "text_empty": "",
    "text_nul": "a\0b",
    "text_surrogate": "\ud800",
    "text_long": "x" * 60_000,
    "nothing": None,
    "CC": math.nan,
    "n" * 255: "a name of 255 bytes",
    "": "no name",
    "nul\0": 1,
    "\ud800": 2,
    "x-match": "all",
    "x-delay": 5,
}
UNSEEN = {"", "x-delay"}  # AMQP allows headers of such names, JMS no properties
EDGES_OF_HEADERS: dict[str, dict[str, Any]] = {
    "long correlation": {"correlation_id": "c" * 60_000},
    "odd correlation": {"correlation_id": b"\0\xff" * 200},
    "empty correlation": {"correlation_id": ""},
    "long type": {"jms_type": "t" * 60_000},
    "odd type": {"jms_type": "a\0\ud800"},
    "empty id": {"message_id": ""},
    "no id": {"message_id": None},
    "no time": {"timestamp": 0},
    "late expiration": {"expiration": (1 << 63) - 1},
    "late delivery": {"timestamp": (1 << 63) - 1},
    "reply-to of 255 bytes": {"reply_to": Address("r" * 255, topic=True)},
    "odd reply-to": {"reply_to": Address("\0\ud800")},
}


def alive(client: Client, name: str) -> None:
    """Check that the link still sends and receives."""
    queue = Address(f"{name}-alive")
    client.send(queue, "still here")
    _, box = client.consume(queue, 1)
    assert box.wait(1)[0].envelope.body == "still here"
    assert client.log.losses == []


def arrives_or_is_refused(client: Client, message: Envelope, name: str) -> Envelope | None:
    """Send a message; return the arrival, or None if it was refused."""
    box = Box()
    subscription = client.channel.subscribe(Interest(address=message.address), box)
    subscription.grant(1)
    answer = Answer()
    client.channel.send(message, answer)
    error = answer.outcome(10.0)
    assert error is None or (isinstance(error, SendRefused) and not error.in_doubt), error
    found = None if error is not None else box.wait(1)[0].envelope
    alive(client, name)
    return found


@pytest.mark.parametrize("topic", [False, True], ids=["queue", "topic"])
@pytest.mark.parametrize("dialect", ["amqp", "jms"])
def test_properties(broker: Broker, clients: Clients, name: str, dialect: Dialect, topic: bool) -> None:
    client = clients(broker, options=RabbitOptions(dialect=dialect))
    wrong = {}
    for number, (each, value) in enumerate(EDGES.items()):
        address = Address(f"{name}-{number}", topic=topic)
        found = arrives_or_is_refused(client, envelope(address, properties={each: value}), f"{name}-{number}")
        if each in UNSEEN and dialect == "amqp":
            assert found is not None
            assert found.properties == {}
        elif found is None or typed(found.properties) != typed({each: value}):
            wrong[each] = found and found.properties
    assert wrong == {}


@pytest.mark.parametrize("dialect", ["amqp", "jms"])
def test_headers(broker: Broker, clients: Clients, name: str, dialect: Dialect) -> None:
    client = clients(broker, options=RabbitOptions(dialect=dialect))
    wrong = {}
    for number, (each, fields) in enumerate(EDGES_OF_HEADERS.items()):
        address = Address(f"{name}-{number}")
        sent = envelope(address, **fields)
        found = arrives_or_is_refused(client, sent, f"{name}-{number}")
        if found is None or typed(found) != typed(sent):
            wrong[each] = found
    assert wrong == {}


NAMES = {
    "empty": "",
    "nul": "a\0b{name}",
    "surrogate": "\ud800{name}",
    "lines": "a\r\nb{name}",
    "256 bytes": "n" * 256,
    "300 bytes": "ü" * 150,
    "reserved": "amq.{name}",
    "direct reply": "amq.rabbitmq.reply-to",
    "unknown direct reply": "amq.rabbitmq.reply-to.g1h2.{name}",
    "wildcards": "#.*.{name}",
}
VERBS: dict[str, Callable[[Client, str], Any]] = {
    "send to a queue": lambda client, name: client.send(Address(name), "x"),
    "send to a queue later": lambda client, name: client.send(Address(name), "x", delivery_time=FAR),
    "send to a topic": lambda client, name: client.send(Address(name, topic=True), "x"),
    "send to a temporary queue": lambda client, name: client.send(Address(name, temporary=True), "x"),
    "send to a temporary topic": lambda client, name: client.send(Address(name, True, True), "x"),
    "reply-to": lambda client, name: client.send(Address(f"to-{os.urandom(4).hex()}"), "x", reply_to=Address(name)),
    "consume a queue": lambda client, name: client.consume(Address(name), 1),
    "consume a topic": lambda client, name: client.consume(Address(name, topic=True), 1),
    "consume a temporary queue": lambda client, name: client.consume(Address(name, temporary=True), 1),
    "consume a temporary topic": lambda client, name: client.consume(Address(name, True, True), 1),
    "durable": lambda client, name: client.consume(Address("t", topic=True), 1, key=name, durable=True),
    "shared": lambda client, name: client.consume(Address("t", topic=True), 1, key=name, shared=True),
    "unsubscribe": lambda client, name: client.link.unsubscribe(name, None),
    "declare a queue": lambda client, name: client.link.declare(Address(name, temporary=True)),
    "declare a topic": lambda client, name: client.link.declare(Address(name, True, True)),
    "delete": lambda client, name: client.link.delete(Address(name, temporary=True)),
    "admin: create": lambda client, name: client.link.create(Address(name)),
    "admin: describe": lambda client, name: client.link.describe(Address(name)),
    "admin: purge": lambda client, name: client.link.purge(Address(name)),
    "admin: remove": lambda client, name: client.link.remove(Address(name)),
}


REFUSED = {"empty", "surrogate", "lines", "256 bytes", "300 bytes"}


def attempt(act: Callable[[], Any]) -> BackendError | None:
    """The refusal, or None."""
    try:
        act()
    except BackendError as error:
        return error
    return None


@pytest.mark.parametrize("verb", VERBS)
def test_names(broker: Broker, clients: Clients, name: str, verb: str) -> None:
    client = clients(broker, options=RabbitOptions(subscription_names="java"))
    for number, (each, form) in enumerate(NAMES.items()):
        error = attempt(partial(VERBS[verb], client, form.format(name=name)))
        assert error is None or not error.in_doubt, each
        if each in REFUSED and verb not in ("reply-to", "shared"):
            assert isinstance(error, AddressRefused), each
        assert client.log.losses == [], each
        alive(client, f"{name}-{number}")


@pytest.mark.parametrize("each", NAMES)
def test_client_ids(broker: Broker, clients: Clients, name: str, each: str) -> None:
    made: list[Client] = []
    error = attempt(lambda: made.append(clients(broker, client_id=NAMES[each].format(name=name))))
    if each in REFUSED - {"empty"}:  # the empty id means no client id
        assert isinstance(error, ClientIdRefused)
    else:
        alive(made[0], name)


def test_direct_replies_arrive(broker: Broker, client: Client, name: str) -> None:
    got: list[bytes] = []
    connection = pika.BlockingConnection(pika.URLParameters(broker.url("amqp")))
    try:
        channel = connection.channel()
        channel.basic_consume(DIRECT_REPLY, lambda *delivered: got.append(delivered[-1]), auto_ack=True)
        channel.queue_declare(name, durable=True)
        channel.basic_publish("", name, b"question", pika.BasicProperties(reply_to=DIRECT_REPLY))
        _, box = client.consume(Address(name), 1)
        reply_to = box.wait(1)[0].envelope.reply_to
        assert reply_to is not None
        client.send(reply_to, "answer")
        connection.process_data_events(10)
        assert got == [b"answer"]
        token = reply_to.name
        mangled = (token[:-30], token[:40], f"{token}.x", token.replace(".g", ".h"), DIRECT_REPLY, f"{DIRECT_REPLY}.")
        for number, each in enumerate(mangled):
            attempt(partial(client.send, Address(each, temporary=True), "nowhere"))
            alive(client, f"{name}-{number}")
    finally:
        connection.close()


@pytest.mark.parametrize("spare", [0, 1000])
@pytest.mark.parametrize("later", [False, True], ids=["now", "later"])
def test_headers_about_as_large_as_a_frame(
    broker: Broker, clients: Clients, name: str, spare: int, later: bool
) -> None:
    client = clients(broker, options=RabbitOptions(dead_letter_queue=f"{name}-dead"))
    message = envelope(Address(name), "large", delivery_time=time.time_ns() // 1_000_000 + 50 if later else 0)
    empty = len(client.link.encoder.encode(with_text(message, ""), 0).properties)
    room = client.link.pair.header_room - empty
    client.channel.send(with_text(message, "x" * (room + 1)), too_large := Answer())
    assert isinstance(too_large.outcome(), SendRefused)
    client.channel.send(with_text(message, "x" * (room - spare)), fits := Answer())
    fits.wait()
    subscription, box = client.consume(Address(name), 1)
    settle(subscription, [box.wait(1)[0].token], Outcome.REJECTED)
    _, dead = client.consume(Address(f"{name}-dead"), 1)
    assert dead.wait(1)[0].envelope.body == "large"
    alive(client, name)


def with_text(message: Envelope, text: str) -> Envelope:
    """The message with one property."""
    return msgspec.structs.replace(message, properties={"large": text})

"""RabbitMQ's plugin for STOMP: what it refuses and how that is told, and why there are no transactions."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import pytest

from integration.lab.broker import Broker
from integration.lab.table import PASSWORD, USER
from integration.rabbitmq.administration import remove_queue, set_password
from integration.stomp.opening import check_late_settlements, check_long_listener, check_tls, new_queue, open_link
from jmsbridge.spi import (
    Address,
    AddressRefused,
    AuthenticationFailed,
    BackendError,
    BodyKind,
    Link,
    Outcome,
    SendRefused,
)
from jmsbridge.testing.harness import LinkLog
from jmsbridge.testing.suite.contract.support import Answer, envelope, fetch, send, send_texts_to, settle, subscribe
from jmsbridge.testing.suite.support import eventually
from jmsbridge_stomp.connection.options import WithoutTls
from jmsbridge_stomp.protocol.frames import Frame, encode
from jmsbridge_stomp.protocol.parsing import Parser

pytestmark = pytest.mark.broker("rabbitmq")


@pytest.fixture
def log() -> LinkLog:
    return LinkLog()


@pytest.fixture
def link(rabbitmq: Broker, log: LinkLog) -> Iterator[Link]:
    made = open_link(rabbitmq, log, user=USER, password=PASSWORD)
    yield made
    made.close()


def _refusal(link: Link, address: Address, body: Any = "text", kind: BodyKind = BodyKind.TEXT) -> BackendError:
    answer = Answer()
    link.channel(False).send(envelope(address, body, kind), answer)
    error = answer.outcome()
    assert error is not None
    return error


def test_the_virtual_host_is_the_usual_one_unless_it_is_named(rabbitmq: Broker, link: Link) -> None:
    assert link.broker == "RabbitMQ 4.0.5"
    with pytest.raises(AuthenticationFailed, match="virtual_host"):
        open_link(rabbitmq, LinkLog(), options=WithoutTls(virtual_host="none"), user=USER, password=PASSWORD)


def test_a_wrong_password(rabbitmq: Broker) -> None:
    with pytest.raises(AuthenticationFailed, match="password"):
        open_link(rabbitmq, LinkLog(), user=USER, password="wrong")


@pytest.mark.parametrize("password", ["a\\b", "\\c\\\\:\\n", "p:w"])
def test_a_password_with_a_backslash(rabbitmq: Broker, password: str) -> None:
    """The plugin takes it for an escape, although CONNECT has none in STOMP 1.2."""
    user = f"user\\{new_queue().name}"
    set_password(rabbitmq, quote(user), password)
    link = open_link(rabbitmq, LinkLog(), user=user, password=password)
    send(link.channel(False), envelope(new_queue()))  # over another socket
    link.close()
    with pytest.raises(AuthenticationFailed, match="check user and password"):
        open_link(rabbitmq, LinkLog(), user=user, password=f"{password}x")


@pytest.mark.parametrize("topic", [False, True])
def test_names_are_literal(link: Link, topic: bool) -> None:
    for part in ("/a/b", "%", "%25", " ä 😀", ":\\", "x" * 200):
        address = Address(f"{new_queue().name}{part}", topic)
        _, box = subscribe(link.channel(False), address, 1)
        send_texts_to(link, address, part)
        assert box.wait(1)[0].envelope.body == part


@pytest.mark.parametrize("name", ["a%2Fb", "a\nb", "x" * 256, "amq.own"])
def test_names_that_the_broker_would_change_or_refuse(link: Link, name: str) -> None:
    error = _refusal(link, Address(name))
    assert type(error) is AddressRefused
    assert not error.in_doubt


def test_a_queue_of_another_type_is_refused_and_costs_nobody_else_anything(
    rabbitmq: Broker, link: Link, log: LinkLog
) -> None:
    """A quorum queue would drop what is returned too often; ERROR does not name its frame, and a receipt follows it."""
    other, quorum = new_queue(), new_queue()
    rabbitmq.admin.put(f"/api/queues/%2F/{quorum.name}", {"durable": True, "arguments": {"x-queue-type": "quorum"}})
    channel = link.channel(False)
    subscription, box = subscribe(channel, other, 2)
    error = _refusal(link, quorum)
    assert type(error) is AddressRefused
    assert not error.in_doubt
    assert "quorum" in str(error)
    subscribe(channel, quorum, 1)
    eventually(lambda: log.subscriptions)
    assert type(log.subscriptions[0][1]) is AddressRefused
    send(channel, envelope(other, "goes on"))
    assert box.wait(1)[0].envelope.body == "goes on"
    settle(subscription, box.tokens, Outcome.ACCEPTED)
    assert (log.losses, log.channels, len(log.subscriptions)) == ([], [], 1)


def test_a_deleted_queue_ends_its_consumer(rabbitmq: Broker, link: Link, log: LinkLog) -> None:
    name = new_queue()
    subscribe(link.channel(False), name, 1)
    send_texts_to(link, name, "there")
    remove_queue(rabbitmq, name.name)
    eventually(lambda: log.subscriptions)
    assert "canceled" in str(log.subscriptions[0][1])
    assert log.losses == []


def test_more_than_a_frame_takes_is_refused_before_it_is_sent(link: Link, log: LinkLog) -> None:
    """The broker closes the connection for it, and does not say why."""
    name = new_queue()
    error = _refusal(link, name, b"\0" * (4 << 20), BodyKind.BYTES)
    assert type(error) is SendRefused
    assert not error.in_doubt
    body = b"\0\xff" * ((2 << 20) - 500)
    send(link.channel(False), envelope(name, body, BodyKind.BYTES))
    assert fetch(link, name, 1) == [body]
    assert log.losses == []


def test_a_closed_consumer_returns_all_in_order_and_marked(link: Link) -> None:
    name, texts = new_queue(), [str(number) for number in range(20)]
    send_texts_to(link, name, *texts)
    channel = link.channel(False)
    subscription, box = subscribe(channel, name, 5, window=10)
    box.wait(5)
    settle(subscription, box.tokens[1:2], Outcome.ACCEPTED)
    settle(subscription, box.tokens[:1] + box.tokens[2:], Outcome.FAILED)
    subscription.close()
    _, again = subscribe(channel, name, 19)
    assert [arrival.envelope.body for arrival in again.wait(19)] == ["0", *texts[2:]]
    assert [arrival.redelivered for arrival in again.arrivals[:4]] == [True] * 4


@contextmanager
def _raw(broker: Broker) -> Iterator[tuple[Any, Any]]:
    """Functions that write a frame, and that read one."""
    parser, frames = Parser(), list[Frame]()
    with socket.create_connection(("127.0.0.1", broker.ports["stomp"]), 10) as connected:

        def write(command: str, **headers: str) -> None:
            connected.sendall(encode(command, headers.items()))

        def read() -> Frame:
            while not frames:
                frames.extend(parser.feed(connected.recv(1 << 16)))
            return frames.pop(0)

        write("CONNECT", login=USER, passcode=PASSWORD, **{"accept-version": "1.2", "host": "/"})
        assert read().command == "CONNECTED"
        yield write, read


def test_a_transaction_of_the_plugin_is_not_one(rabbitmq: Broker, link: Link) -> None:
    """It commits without a message that was refused, and its receipt comes before the broker has the messages."""
    first, last = new_queue(), new_queue()
    with _raw(rabbitmq) as (write, read):
        write("BEGIN", transaction="t")
        for number, destination in enumerate((f"/queue/{first.name}", "/nowhere", f"/queue/{last.name}")):
            write("SEND", transaction="t", destination=destination, receipt=f"send {number}")
        assert read().headers["message"] == "Unknown destination"
        write("COMMIT", transaction="t", receipt="commit")
        answers = [read().headers["receipt-id"] for _ in range(3)]
    assert answers[0] == "commit"
    assert sorted(answers[1:]) == ["send 0", "send 2"]
    assert fetch(link, first, 1) == fetch(link, last, 1) == [b""]


def test_a_message_of_another_client(rabbitmq: Broker, link: Link) -> None:
    """AMQP 0-9-1: the body is bytes unless its content type is that of a text, and what has no type is a text."""
    name = new_queue()
    _, box = subscribe(link.channel(False), name, 2)
    send_texts_to(link, name, "makes the queue")
    box.wait(1)
    sent = {
        "routing_key": name.name,
        "payload": "hé",
        "payload_encoding": "string",
        "properties": {
            "content_type": "text/plain",
            "delivery_mode": 2,
            "priority": 7,
            "timestamp": 1_700_000_000,
            "message_id": "m",
            "correlation_id": "c",
            "type": "t",
            "reply_to": "/queue/an%2Fswers",
            "expiration": "60000",
            "headers": {"n": 42, "s": "text", "b": True},
        },
    }
    rabbitmq.admin.post("/api/exchanges/%2F/amq.default/publish", sent)
    found = box.wait(2)[1].envelope
    assert (found.kind, found.body, found.priority, found.persistent) == (BodyKind.TEXT, "hé", 7, True)
    assert (found.timestamp, found.message_id, found.correlation_id) == (1_700_000_000_000, "m", "c")
    assert (found.jms_type, found.reply_to, found.expiration) == ("t", Address("an/swers"), 0)
    assert found.properties == {"n": "42", "s": "text"}  # the plugin leaves out what is no text and no number


def test_a_message_over_tls(rabbitmq: Broker) -> None:
    check_tls(rabbitmq)


def test_late_settlements_stop_nothing(rabbitmq: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    check_late_settlements(rabbitmq, monkeypatch, "_RABBITMQ", 25, ordered=True, user=USER, password=PASSWORD)


def test_a_long_listener(rabbitmq: Broker) -> None:
    check_long_listener(rabbitmq)

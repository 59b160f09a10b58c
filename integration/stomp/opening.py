"""Opens links over STOMP to a broker of the tests; and the checks that the tests of several brokers share."""

import os
import threading
import warnings
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner

import jmsbridge
from integration.lab.admin.stomp import Stomp
from integration.lab.broker import Broker
from jmsbridge import EmulationWarning, Topic
from jmsbridge.cli import app
from jmsbridge.spi import Address, BodyKind, ConnectFailed, Endpoint, Native, Outcome
from jmsbridge.testing.harness import LinkLog
from jmsbridge.testing.suite.contract.support import Answer, drain, envelope, send, settle, subscribe
from jmsbridge.testing.suite.support import send_coloured, text_of
from jmsbridge_stomp.backend import StompOptions, backend, tls_backend
from jmsbridge_stomp.connection import products
from jmsbridge_stomp.connection.options import WithoutTls
from jmsbridge_stomp.link import Link

__all__ = [
    "check_dead_letter_to_odd_answers",
    "check_dead_letters_on_the_command_line",
    "check_large_bytes",
    "check_late_settlements",
    "check_long_listener",
    "check_tls",
    "check_unmatched_in_a_transaction",
    "new_queue",
    "open_link",
]


def new_queue() -> Address:
    """A queue that does not exist yet."""
    return Address(f"stomp-{os.urandom(4).hex()}")


def open_link(broker: Broker, log: LinkLog, listener: str = "stomp", options: Any = None, **fields: Any) -> Link:
    """Connect without TLS, by default to the listener of STOMP and as nobody."""
    endpoint = Endpoint(scheme="stomp", host="127.0.0.1", port=broker.ports[listener], **fields)
    link = backend.open(endpoint, options or WithoutTls(), log)
    assert isinstance(link, Link)
    return link


def check_dead_letter_to_odd_answers(broker: Broker, headers: dict[str, str]) -> None:
    """The copy of a foreign message keeps where answers go, although we would not send there by that name."""
    name, letters = new_queue(), new_queue()
    link = open_link(broker, LinkLog(), options=WithoutTls(dead_letter_queue=letters.name))
    with Stomp(broker.ports["stomp"]) as foreign:
        foreign.send("SEND", {"receipt": "1", **headers, "destination": headers["destination"] + name.name}, "text")
        foreign.expect("RECEIPT")
    subscription, box = subscribe(link.channel(False), name, 1)
    odd = box.wait(1)[0].envelope.reply_to
    settle(subscription, box.tokens, Outcome.REJECTED)
    _, box = subscribe(link.channel(False), letters, 1)
    assert box.wait(1)[0].envelope.reply_to == odd is not None
    link.close()


def check_dead_letters_on_the_command_line(broker: Broker) -> None:
    """Where the broker cannot select by origin, the error says what to do."""
    target = ("--target", broker.url("stomp"))
    result = CliRunner().invoke(app, ["dlq", "return", "--queue", str(new_queue()), *target])
    assert result.exit_code == 2, result.output
    assert "use `jmsbridge dlq return --to QUEUE` without --origin, or `jmsbridge move " in result.stderr
    result = CliRunner().invoke(app, ["dlq", "return", "--queue", str(new_queue()), "--to", "elsewhere", *target])
    assert result.exit_code == 0, result.output


def check_tls(broker: Broker) -> None:
    """A large message passes over TLS, and a certificate that is not trusted is refused."""
    endpoint = Endpoint(scheme="stomp+ssl", host="localhost", port=broker.ports["stomps"])
    link = tls_backend.open(endpoint, StompOptions(ca_file=str(broker.certificates.ca)), LinkLog())
    name, body = new_queue(), "text" * 200_000
    send(link.channel(False), envelope(name, body))
    _, box = subscribe(link.channel(False), name, 1)
    assert box.wait(1)[0].envelope.body == body
    link.close()
    with pytest.raises(ConnectFailed, match="not trusted"):
        tls_backend.open(endpoint, StompOptions(), LinkLog())


def check_large_bytes(broker: Broker) -> None:
    """10 MB that contain NUL and 0xFF arrive as they were; the brokers of the tests have no memory for much more."""
    link, name, body = open_link(broker, LinkLog()), new_queue(), b"\0\xff\n\0" * 2_500_000
    answer = Answer()
    link.channel(False).send(envelope(name, body, kind=BodyKind.BYTES), answer)
    assert answer.outcome(60) is None
    _, box = subscribe(link.channel(False), name, 1)
    assert box.wait(1, timeout=60)[0].envelope.body == body
    link.close()


def check_late_settlements(
    broker: Broker, monkeypatch: pytest.MonkeyPatch, row: str, window: int, *, ordered: bool, **login: Any
) -> None:
    """A session that settles nothing gets all that it wants, and what it does not settle returns.

    ``window`` takes the place of the usual one of this row of products, which is too large for a test. Unless
    ``ordered``, the broker gives what returns to those of its consumers that end a moment later.
    """
    monkeypatch.setattr(products, row, msgspec.structs.replace(getattr(products, row), late_window=window))
    link, name, count = open_link(broker, LinkLog(), **login), new_queue(), 300
    sent = [
        envelope(name, "ä" * (number % 7 * 40), properties={f"p{number % 5}": "x" * (number % 11 * 30), "n": number})
        for number in range(count)
    ]
    send(link.channel(False), *sent)
    channel = link.channel(Native.TRANSACTIONS in link.native)
    subscription, box = subscribe(channel, name, 10, window=10, deferred=True)
    for wanted in range(10, count, 10):
        box.wait(wanted)
        subscription.grant(10)
    box.wait(count, 30)
    assert [arrival.envelope.properties["n"] for arrival in box.arrivals] == list(range(count))
    drain(subscription)
    settle(subscription, box.tokens[:-5], Outcome.ACCEPTED)
    if Native.TRANSACTIONS in link.native:
        answer = Answer()
        channel.commit(answer)
        answer.wait()
    settle(subscription, box.tokens[-5:], Outcome.FAILED)
    subscription.close()
    channel.close()
    _, again = subscribe(link.channel(False), name, 10)
    again.wait(5)
    again.wait_quiet()
    left = [arrival.envelope.properties["n"] for arrival in again.arrivals]
    assert (left if ordered else sorted(left)) == list(range(count - 5, count))
    link.close()


def check_unmatched_in_a_transaction(broker: Broker, monkeypatch: pytest.MonkeyPatch, row: str, window: int) -> None:
    """A transacted session that waits for a match has nothing to commit, and what does not match does not stop it.

    ``window`` is as for ``check_late_settlements``.
    """
    monkeypatch.setattr(products, row, msgspec.structs.replace(getattr(products, row), late_window=window))
    topic = Topic(f"stomp-{os.urandom(4).hex()}")
    with jmsbridge.connect(broker.url("stomp")) as connection, warnings.catch_warnings():
        warnings.simplefilter("ignore", EmulationWarning)
        connection.start()
        consumer = connection.create_session(transacted=True).create_consumer(topic, "colour = 'red'")
        send_coloured(connection.create_session(), topic, *["green"] * 100, "red")
        assert text_of(consumer.receive(timeout=10)) == "red"


def check_long_listener(broker: Broker) -> None:
    """A listener that runs for longer than heart-beats may be missing costs no connection, and loses no message."""
    url = f"stomp://127.0.0.1:{broker.ports['stomp']}?heartbeat=2&reconnect_attempts=0"
    lost: list[BaseException] = []
    never, done = threading.Event(), threading.Event()

    def slow(_: jmsbridge.Message) -> None:
        never.wait(6)
        done.set()

    with jmsbridge.connect(url) as connection:
        connection.exception_listener = lost.append
        session, sending = connection.create_session(), connection.create_session()
        queue = session.create_queue(new_queue().name)
        session.create_consumer(queue).message_listener = slow
        connection.start()
        sending.create_producer(queue).send(sending.create_text_message("slow"))
        assert done.wait(20)
    assert lost == []

"""What a refused frame costs, and what brokers that close the connection without a word would otherwise get."""

import os

import pytest

from integration.lab.broker import Broker
from jmsbridge.spi import Address, AddressRefused, BackendError, ConnectFailed, Endpoint, Outcome, SendRefused
from jmsbridge.testing.harness import LinkLog
from jmsbridge.testing.suite.contract.support import Answer, envelope, send, send_texts_to, settle, subscribe
from jmsbridge_stomp.backend import StompOptions, backend, tls_backend
from jmsbridge_stomp.connection.options import WithoutTls
from jmsbridge_stomp.link import Link

GUARDED = Address("activemq.management")
"""What a guest may not send to on Artemis."""


def _endpoint(broker: Broker, listener: str = "stomp", **fields: object) -> Endpoint:
    scheme = "stomp+ssl" if listener == "stomps" else "stomp"
    host = "localhost" if listener == "stomps" else "127.0.0.1"
    return Endpoint(scheme=scheme, host=host, port=broker.ports[listener], **fields)  # type: ignore[arg-type]


def _open(broker: Broker, log: LinkLog) -> Link:
    link = backend.open(_endpoint(broker), None, log)
    assert isinstance(link, Link)
    return link


def _outcome(link: Link, address: Address) -> BackendError | None:
    answer = Answer()
    link.channel(False).send(envelope(address), answer)
    return answer.outcome()


@pytest.mark.broker("artemis")
def test_a_refused_send_costs_no_other_session_anything(artemis: Broker) -> None:
    """Artemis ends the socket with the ERROR: the channel connects another, and all else goes on."""
    log, name = LinkLog(), Address(f"refusals-{os.urandom(4).hex()}")
    link = _open(artemis, log)
    send_texts_to(link, name, "held")
    channel, other = link.channel(False), link.channel(False)
    subscription, box = subscribe(other, name, 5)
    box.wait(1)
    for text in ("first", "second"):
        answer = Answer()
        channel.send(envelope(GUARDED), answer)
        error = answer.outcome()
        assert type(error) is SendRefused  # Artemis does not say that a right is missing
        assert "message to queue:activemq" in str(error)
        assert "CoreMessage" not in str(error)
        assert not error.in_doubt
        send(channel, envelope(name, text))
        send(other, envelope(name, text))
    box.wait(5)
    settle(subscription, box.tokens, Outcome.ACCEPTED)
    assert (log.losses, log.channels, log.subscriptions) == ([], [], [])
    link.close()


@pytest.mark.broker("artemis")
def test_a_refused_send_rolls_its_transaction_back(artemis: Broker) -> None:
    log, name = LinkLog(), Address(f"refusals-{os.urandom(4).hex()}")
    link = _open(artemis, log)
    channel = link.channel(True)
    send(channel, envelope(name, "with"), envelope(GUARDED))
    answer = Answer()
    channel.commit(answer)
    error = answer.outcome()
    assert error is not None
    assert not error.in_doubt
    _, box = subscribe(link.channel(False), name, 5)
    send_texts_to(link, name, "after")
    assert box.wait(1)[0].envelope.body == "after"
    link.close()


@pytest.mark.broker("activemq")
@pytest.mark.parametrize("name", ["a,b", "a.>", "a?x=1"])
def test_names_with_a_meaning_are_refused_before_they_are_sent(activemq: Broker, name: str) -> None:
    link = _open(activemq, LinkLog())
    assert type(_outcome(link, Address(name))) is AddressRefused
    assert _outcome(link, Address(f"fine-{os.urandom(4).hex()}")) is None
    link.close()


@pytest.mark.broker("activemq")
def test_more_than_a_header_of_classic_takes_is_carried_all_the_same(activemq: Broker) -> None:
    """A header of more than 10 KiB closes the connection to Classic, a number that is none does so without a word."""
    link, name = _open(activemq, LinkLog()), Address(f"long-{os.urandom(4).hex()}")
    properties = {"long": "x\\:ä" * 5000, "expires": "soon", "priority": "high", "AMQ_SCHEDULED_DELAY": "later"}
    send(link.channel(False), envelope(name, properties=properties))
    _, box = subscribe(link.channel(False), name, 1)
    assert box.wait(1)[0].envelope.properties == properties
    link.close()


@pytest.mark.broker("activemq")
@pytest.mark.broker("artemis")
@pytest.mark.parametrize("product", ["activemq", "artemis"])
def test_a_message_over_tls(request: pytest.FixtureRequest, product: str) -> None:
    broker: Broker = request.getfixturevalue(product)
    options = StompOptions(ca_file=str(broker.certificates.ca))
    link = tls_backend.open(_endpoint(broker, "stomps"), options, LinkLog())
    name = Address(f"tls-{os.urandom(4).hex()}")
    body = "text" * 200_000
    send(link.channel(False), envelope(name, body))
    _, box = subscribe(link.channel(False), name, 1)
    assert box.wait(1)[0].envelope.body == body
    link.close()
    with pytest.raises(ConnectFailed, match="not trusted"):
        tls_backend.open(_endpoint(broker, "stomps"), StompOptions(), LinkLog())


@pytest.mark.broker("rabbitmq")
def test_rabbitmq_is_refused_when_the_connection_opens(rabbitmq: Broker) -> None:
    with pytest.raises(ConnectFailed, match="rabbitmq://"):
        backend.open(_endpoint(rabbitmq, user="jb", password="jbpass"), WithoutTls(virtual_host="/"), LinkLog())


@pytest.mark.broker("artemis")
def test_another_protocols_port_is_named_as_the_reason(artemis: Broker) -> None:
    with pytest.raises(ConnectFailed):
        backend.open(_endpoint(artemis, "stomps", connect_timeout=3.0), None, LinkLog())

"""What closes the connection to ActiveMQ Classic without a word over STOMP is not sent."""

import pytest

from integration.lab.broker import Broker
from integration.stomp.opening import check_tls, new_queue, open_link
from jmsbridge.spi import Address, AddressRefused
from jmsbridge.testing.harness import LinkLog
from jmsbridge.testing.suite.contract.support import Answer, envelope, send, subscribe

pytestmark = pytest.mark.broker("activemq")


@pytest.mark.parametrize("name", ["a,b", "a.>", "a?x=1"])
def test_names_with_a_meaning_are_refused_before_they_are_sent(activemq: Broker, name: str) -> None:
    link, answer = open_link(activemq, LinkLog()), Answer()
    channel = link.channel(False)
    channel.send(envelope(Address(name)), answer)
    assert type(answer.outcome()) is AddressRefused
    send(channel, envelope(new_queue()))
    link.close()


def test_more_than_a_header_takes_is_carried_all_the_same(activemq: Broker) -> None:
    """A header of more than 10 KiB ends the connection, and so does a text where the broker expects a number."""
    link, name = open_link(activemq, LinkLog()), new_queue()
    properties = {"long": "x\\:ä" * 5000, "expires": "soon", "priority": "high", "AMQ_SCHEDULED_DELAY": "later"}
    send(link.channel(False), envelope(name, properties=properties))
    _, box = subscribe(link.channel(False), name, 1)
    assert box.wait(1)[0].envelope.properties == properties
    link.close()


def test_a_message_over_tls(activemq: Broker) -> None:
    check_tls(activemq)

"""A broker that is not known by its product: what it says of itself and of its links decides what is used."""

from collections.abc import Callable
from typing import Any

import pytest

from jmsbridge.spi import (
    AccessDenied,
    Address,
    AddressRefused,
    ConnectFailed,
    Native,
    NotSupported,
    SubscriptionRefused,
)
from jmsbridge.spi.envelope import Mode
from jmsbridge.testing.suite.contract.support import envelope, send, subscribe
from tests.amqp.faults.support import QUEUE, Opened
from tests.amqp.peer.script import Attached, Condition

Open = Callable[..., Opened]

UNKNOWN = {"product": "unknown", "version": "1"}


@pytest.fixture
def open_unknown(open_link: Open) -> Open:
    """Opens a link to a peer that is no known product."""
    return lambda **script: open_link({"properties": UNKNOWN, "offered": ("ANONYMOUS-RELAY",)} | script)


@pytest.mark.parametrize("answer", ["end session", Condition("amqp:not-implemented")])
def test_a_refused_coordinator_means_no_transactions(open_unknown: Open, answer: Attached) -> None:
    opened = open_unknown(attach=lambda link: answer if link.coordinator else "attach")
    assert Native.TRANSACTIONS not in opened.link.native
    with pytest.raises(NotSupported):
        opened.link.channel(True)
    send(opened.link.channel(False), envelope(QUEUE))


def test_an_attached_coordinator_means_transactions(open_unknown: Open) -> None:
    opened = open_unknown()
    assert Native.TRANSACTIONS in opened.link.native
    opened.link.channel(True)


def test_the_question_leaves_no_link(open_unknown: Open) -> None:
    opened = open_unknown()
    assert len(opened.records.of("attach")) == len(opened.records.of("link close")) == 1


@pytest.mark.parametrize("ending", ["close connection", "ignore"])
def test_a_question_that_is_not_answered_ends_the_opening(open_link: Open, start_peer: Any, ending: Attached) -> None:
    peer = start_peer(properties=UNKNOWN, attach=lambda link: ending)
    with pytest.raises(ConnectFailed):
        open_link(peer=peer, connect_timeout=0.5)


def test_a_connection_refused_after_its_open_names_the_remedy(open_link: Open, start_peer: Any) -> None:
    """Qpid Broker-J does so for an unknown virtual host."""

    def refuse(link: object) -> Attached:
        peer.connection.close(Condition("amqp:not-found", "no such host"))
        return "ignore"

    peer = start_peer(properties=UNKNOWN, attach=refuse)
    with pytest.raises(AccessDenied, match="virtual_host"):
        open_link(peer=peer)


def test_client_ids_are_unique_where_the_broker_offers_it(open_unknown: Open) -> None:
    assert Native.CLIENT_ID not in open_unknown().link.native
    assert Native.CLIENT_ID in open_unknown(offered=("sole-connection-for-container",)).link.native


def test_every_send_asks_for_an_answer(open_unknown: Open) -> None:
    """Qpid Broker-J closes the connection when messages that ask and messages that do not come over one link."""
    opened = open_unknown()
    channel = opened.link.channel(False)
    for number in range(10):
        channel.send(envelope(QUEUE, str(number)), None)
    assert [sent.settled for sent in opened.records.wait_sent(10)] == [False] * 10


def test_a_topic_that_the_broker_takes_for_a_queue_is_refused(open_unknown: Open) -> None:
    opened = open_unknown(source_capabilities=("queue",))
    with pytest.raises(AddressRefused, match="topic_prefix"):
        subscribe(opened.link.channel(False), Address("t", topic=True), 5)
    subscribe(opened.link.channel(False), QUEUE, 5)


def test_a_browser_that_would_consume_is_refused(open_unknown: Open) -> None:
    opened = open_unknown(browses=False)
    with pytest.raises(NotSupported, match="consume"):
        subscribe(opened.link.channel(False), QUEUE, 5, mode=Mode.BROWSE)


def test_a_subscription_with_a_consumer_is_not_deleted(open_link: Open) -> None:
    """Qpid Broker-J would take the name from the consumer's link, and delete the subscription."""
    opened = open_link({"properties": UNKNOWN}, client_id="c")
    topic = Address("t", topic=True)
    subscription, _ = subscribe(opened.link.channel(False), topic, 5, key="s", durable=True)
    with pytest.raises(SubscriptionRefused):
        opened.link.unsubscribe("s", topic)
    subscription.close()
    opened.link.unsubscribe("s", topic)


def test_prefixes_by_option(open_link: Open) -> None:
    opened = open_link({"properties": UNKNOWN, "offered": ()}, queue_prefix="q/", topic_prefix="t/")
    channel = opened.link.channel(False)
    send(channel, envelope(Address("a")), envelope(Address("a", topic=True)))
    links = [link.address for link in opened.records.of("attach") if not link.coordinator]
    assert links == ["q/a", "t/a"]

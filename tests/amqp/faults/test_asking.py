"""The consumer of a shared subscription, for whose refusal Artemis would end the connection: asked over another one."""

from typing import Any

import pytest

from jmsbridge.spi import Address, BackendError, Channel, SubscriptionRefused
from jmsbridge.testing.suite.contract.support import envelope, send, subscribe
from tests.amqp.faults.support import QUEUE, Opened
from tests.amqp.peer.link import PeerLink
from tests.amqp.peer.script import Attached, Condition

TOPIC = Address("t", topic=True)
CLASH = "AMQ229082: Subscription s uses another topic"


def share(channel: Channel, **interest: Any) -> Any:
    """Consume with others from subscription ``s``."""
    return subscribe(channel, TOPIC, 5, **{"key": "s", "shared": True} | interest)


def closed_by(opened: Opened, words: str) -> None:
    """Let the broker end the connection of the next consumer, as Artemis does, if it is another than the first."""

    def attach(link: PeerLink) -> Attached:
        if link.receives and link.connection is not opened.peer.connections[0]:
            link.connection.close(Condition("amqp:internal-error", words))
            return "ignore"
        return "attach"

    opened.script.attach = attach


def test_the_first_consumer_is_asked_for_over_another_connection(opened: Opened) -> None:
    channel = opened.link.channel(False)
    share(channel)
    first, asking = opened.records.of("connected")
    assert [link.connection for link in opened.records.of("attach") if link.receives] == [asking, first]
    assert opened.records.wait_event("flow") == ("t", 5, False)
    assert len(opened.records.of("flow")) == 1  # it was asked for without credit
    opened.records.wait(lambda: asking.socket is None, "the other connection is closed")
    assert first.socket is not None


def test_a_clash_is_a_refusal_and_the_connection_lives_on(opened: Opened) -> None:
    closed_by(opened, CLASH)
    channel = opened.link.channel(False)
    with pytest.raises(SubscriptionRefused, match="another topic or selector") as caught:
        share(channel)
    assert "AMQ229082" in str(caught.value)
    send(channel, envelope(QUEUE))
    assert (opened.events.losses, opened.events.channels) == ([], [])
    opened.script.attach = lambda link: "attach"
    share(channel)


def test_another_end_of_the_other_connection_is_said(opened: Opened) -> None:
    closed_by(opened, "the broker stops")
    channel = opened.link.channel(False)
    with pytest.raises(BackendError, match="could not be asked") as caught:
        share(channel)
    assert not isinstance(caught.value, SubscriptionRefused)
    assert "the broker stops" in str(caught.value)
    assert opened.events.losses == []


def test_further_consumers_of_the_connection_are_not_asked_for(opened: Opened) -> None:
    share(opened.link.channel(False))
    share(opened.link.channel(False))
    assert len(opened.records.of("connected")) == 2


@pytest.mark.parametrize("interest", [{"durable": True}, {"shared": False, "key": None}, {"no_local": True}], ids=str)
def test_what_cannot_clash_is_not_asked_for(opened: Opened, interest: dict[str, Any]) -> None:
    share(opened.link.channel(False), **interest)
    assert len(opened.records.of("connected")) == 1


def test_with_a_client_id_nothing_is_asked(open_link: Any) -> None:
    opened = open_link(client_id="c")
    share(opened.link.channel(False))
    assert len(opened.records.of("connected")) == 1

"""Groups of sends over several connections, to a broker that waits for the disk at each message of a connection."""

from collections.abc import Callable
from typing import Any

import pytest

import jmsbridge
from jmsbridge.spi import BackendError, Channel, GroupChannels, LinkLost, NotSupported
from jmsbridge.testing.suite.contract.support import Answer, envelope, send, subscribe
from jmsbridge.testing.suite.support import Completions, eventually
from tests.amqp.faults.support import ARTEMIS, CLASSIC, QUEUE, Opened, sent_async
from tests.amqp.peer.messages import text
from tests.amqp.peer.script import Condition

Open = Callable[..., Opened]
TEXTS = [str(number) for number in range(1000)]


def group_channels(opened: Opened) -> list[Channel]:
    """All of its link."""
    link = opened.link
    assert isinstance(link, GroupChannels)
    return [link.group_channel(number) for number in range(link.group_channels)]


def commit(channel: Channel) -> BackendError | None:
    answer = Answer()
    channel.commit(answer)
    return answer.outcome(20)


def open_connections(opened: Opened) -> int:
    """How many the peer has now."""
    return len([one for one in opened.peer.connections if one.socket is not None])


@pytest.mark.parametrize(("properties", "count"), [(CLASSIC, 8), (ARTEMIS, 1), ({}, 1)])
def test_how_many_connections_are_worth_having(open_link: Open, properties: dict[str, str], count: int) -> None:
    opened = open_link({"properties": properties}, client_id="me")
    made = group_channels(opened)
    for number, channel in enumerate(made):
        sent_async(channel, str(number))
    assert opened.records.accepted == []
    for channel in made[::-1]:
        assert commit(channel) is None
    assert [data[-1:] for data in opened.records.accepted] == [b"%d" % number for number in range(count)][::-1]
    assert len(opened.peer.connections) == count
    for channel in made[1:]:
        channel.close()
        with pytest.raises(NotSupported):
            subscribe(channel, QUEUE, 1)
    eventually(lambda: open_connections(opened) == 1)
    send(opened.link.channel(False), envelope(QUEUE))


def test_a_connection_that_is_lost_costs_only_its_own_messages(open_link: Open) -> None:
    opened = open_link({"properties": CLASSIC})
    first, second, *_ = group_channels(opened)
    for channel in (first, second):
        sent_async(channel, "1")
    opened.peer.do(opened.peer.connections[1].cut)
    opened.events.wait(lambda events: events.channels)
    assert opened.events.losses == []
    lost = commit(second)
    assert isinstance(lost, LinkLost)
    assert not lost.in_doubt
    assert commit(first) is None
    assert len(opened.records.accepted) == 1
    sent_async(made := opened.link.group_channel(1), "2")  # type: ignore[attr-defined]
    assert commit(made) is None


def test_a_lost_link_ends_all_of_its_connections(open_link: Open) -> None:
    """The next one may be to another broker."""
    opened = open_link({"properties": CLASSIC})
    made = group_channels(opened)
    opened.peer.do(opened.peer.connections[0].cut)
    opened.events.wait(lambda events: events.losses)
    for channel in made:
        assert isinstance(commit(channel), LinkLost)
    eventually(lambda: open_connections(opened) == 0)
    assert opened.events.channels == []


def test_a_connection_that_the_broker_refuses(open_link: Open) -> None:
    opened = open_link({"properties": CLASSIC})
    link: Any = opened.link
    first = link.group_channel(0)
    opened.script.connection = Condition("amqp:resource-limit-exceeded", "too many connections")
    with pytest.raises(BackendError, match="too many"):
        link.group_channel(1)
    sent_async(first, "1")
    assert commit(first) is None


@pytest.mark.usefixtures("calls")
def test_the_facade_sends_in_order_over_all_of_them(start_peer: Callable[..., Any]) -> None:
    """And closes them with its session."""
    peer = start_peer(properties=CLASSIC)
    with jmsbridge.connect(peer.url, send_confirmation="group") as connection:
        session, listener = connection.create_session(), Completions()
        producer = session.create_producer(session.create_queue("q"))
        for each in TEXTS:
            producer.send(each, completion_listener=listener)
        listener.wait(len(TEXTS))
        assert len(peer.connections) == 8
        session.close()
        eventually(lambda: len([one for one in peer.connections if one.socket is not None]) == 1)
    assert {event[0] for event in listener.events} == {"completed"}
    marks = [text(each)[-len(each) :] for each in TEXTS]
    assert [data[-len(mark) :] for data, mark in zip(peer.records.accepted, marks, strict=True)] == marks

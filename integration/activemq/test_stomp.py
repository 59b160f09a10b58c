"""What ActiveMQ Classic does of its own way over STOMP: what closes the connection is not sent; browsers and drains."""

import pytest

import jmsbridge
from integration.lab.broker import Broker
from integration.lab.fixtures import StartBroker
from integration.lab.table import NO_SCHEDULER
from integration.stomp.opening import (
    check_dead_letter_to_odd_answers,
    check_dead_letters_on_the_command_line,
    check_large_bytes,
    check_late_settlements,
    check_long_listener,
    check_tls,
    check_unmatched_in_a_transaction,
    new_queue,
    open_link,
)
from jmsbridge.spi import Address, AddressRefused, Channel, Mode, Native, Outcome
from jmsbridge.testing.harness import LinkLog
from jmsbridge.testing.suite.contract.support import (
    Answer,
    drain,
    envelope,
    fetch,
    peek,
    send,
    send_texts_to,
    settle,
    subscribe,
)
from jmsbridge.testing.suite.support import eventually
from jmsbridge_stomp.receiving import receiver

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


def test_a_dead_letter_with_an_odd_name_for_answers(activemq: Broker) -> None:
    check_dead_letter_to_odd_answers(activemq, {"destination": "/queue/", "reply-to": "/queue/a,b"})


def test_a_message_over_tls(activemq: Broker) -> None:
    check_tls(activemq)


def test_large_bytes(activemq: Broker) -> None:
    check_large_bytes(activemq)


def test_late_settlements_stop_nothing(activemq: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    check_late_settlements(activemq, monkeypatch, "_CLASSIC", 25, ordered=False)


def test_unmatched_messages_in_a_transaction_stop_nothing(activemq: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    check_unmatched_in_a_transaction(activemq, monkeypatch, "_CLASSIC", 25)


def test_a_long_listener(activemq: Broker) -> None:
    check_long_listener(activemq)


def test_a_browser_shows_at_most_400_messages(activemq: Broker) -> None:
    """``maxBrowsePageSize`` of the broker; its own clients see no more, either."""
    link, name = open_link(activemq, LinkLog()), new_queue()
    texts = [str(number) for number in range(420)]
    send_texts_to(link, name, *texts)
    subscription, box = subscribe(link.channel(False), name, 100, mode=Mode.BROWSE)
    for _ in range(5):
        drain(subscription)
        subscription.grant(100)
    assert box.bodies == texts[:400]
    link.close()


@pytest.mark.parametrize("window", [500, 1000])
def test_a_drain_brings_more_than_the_broker_reads_at_a_time(activemq: Broker, window: int) -> None:
    """The broker reads 200 messages from its store, then gives them to consumers, then reads on."""
    link, name = open_link(activemq, LinkLog()), new_queue()
    texts = [str(number) for number in range(450)]
    send_texts_to(link, name, *texts)
    for _ in range(3):
        channel = link.channel(False)
        subscription, box = subscribe(channel, name, window)
        drain(subscription)
        assert box.bodies == texts
        subscription.close()
        channel.close()
    link.close()


def _commit(channel: Channel) -> None:
    answer = Answer()
    channel.commit(answer)
    answer.wait()


def test_a_transaction_with_a_durable_subscription(activemq: Broker) -> None:
    """It is on the socket that has the client id, with those of other channels, which it does not affect."""
    topic, replies = Address(new_queue().name, topic=True), new_queue()
    link = open_link(activemq, LinkLog(), client_id=f"client-{replies.name}")
    one, other = link.channel(True), link.channel(True)
    subscription, box = subscribe(one, topic, 2, key="kept", durable=True, deferred=True)
    send_texts_to(link, topic, "a", "b")
    box.wait(2)
    drain(subscription)
    send(other, envelope(replies, "of the other"))
    send(one, envelope(replies, "re: a"))
    settle(subscription, box.tokens[:1], Outcome.ACCEPTED)
    _commit(one)
    assert fetch(link, replies, 1) == ["re: a"]
    settle(subscription, box.tokens[1:], Outcome.ACCEPTED)
    one.close()
    assert peek(link, replies) == []
    _commit(other)
    assert fetch(link, replies, 1) == ["of the other"]
    again, box = subscribe(link.channel(False), topic, 2, key="kept", durable=True)
    assert box.wait(1)[0].envelope.body == "b"
    settle(again, box.tokens, Outcome.ACCEPTED)
    again.close()
    link.unsubscribe("kept", topic)
    link.close()


def test_more_acknowledgements_in_a_transaction_than_the_broker_reads_at_a_time(activemq: Broker) -> None:
    """Messages come although none of those before is acknowledged, and one commit acknowledges all."""
    link, name = open_link(activemq, LinkLog()), new_queue()
    send_texts_to(link, name, *(str(number) for number in range(600)))
    channel = link.channel(True)
    subscription, box = subscribe(channel, name, 600, deferred=True)
    box.wait(600)
    drain(subscription)
    settle(subscription, box.tokens, Outcome.ACCEPTED)
    answer = Answer()
    channel.commit(answer)
    answer.wait(30)
    channel.close()
    assert peek(link, name) == []
    link.close()


def test_a_message_of_amqp_with_an_id_is_left_to_amqp(activemq: Broker, caplog: pytest.LogCaptureFixture) -> None:
    """The broker ends the connection at its acknowledgement, so it would be received again and again."""
    pytest.importorskip("proton")
    name, log = new_queue(), LinkLog()
    with jmsbridge.connect(activemq.url("amqp")) as connection, connection.create_session() as session:
        session.create_producer(session.create_queue(name.name)).send(session.create_text_message("of AMQP"))
        link = open_link(activemq, log)
        send_texts_to(link, name, "of STOMP")
        assert fetch(link, name, 1) == ["of STOMP"]
        assert "receive it over amqp://" in caplog.text
        link.close()
        assert log.losses == []
        connection.start()
        left = session.create_consumer(session.create_queue(name.name)).receive(timeout=10)
        assert left is not None
        assert left.get_body(str) == "of AMQP"


def test_what_an_aborted_transaction_accepted_can_be_acknowledged_again(activemq: Broker) -> None:
    """Although another one of its socket was committed meanwhile, at which the broker forgets what it holds."""
    name, log = new_queue(), LinkLog()
    link = open_link(activemq, log, client_id=f"client-{name.name}")
    one, other = link.channel(True), link.channel(True)
    subscription, box = subscribe(one, name, 1, deferred=True)
    send_texts_to(link, name, "a")
    box.wait(1)
    settle(subscription, box.tokens, Outcome.ACCEPTED)
    send(other, envelope(new_queue(), "of the other"))
    _commit(other)
    answer = Answer()
    one.rollback(answer)
    answer.wait()
    settle(subscription, box.tokens, Outcome.ACCEPTED)
    _commit(one)
    one.close()
    assert peek(link, name) == []
    assert (log.losses, log.channels) == ([], [])
    link.close()


def _kept_by(broker: Broker) -> int:
    """How many messages the broker has in its memory because they may be acknowledged over STOMP."""
    bean = "com.sun.management:type=DiagnosticCommand"
    asked = {"type": "exec", "mbean": bean, "operation": "gcClassHistogram", "arguments": [[]]}
    lines = broker.admin.post("/jolokia/", asked)["value"].splitlines()
    return sum(int(line.split()[1]) for line in lines if "StompAckEntry " in line)


@pytest.mark.parametrize("client_id", [None, "remembers"])
def test_the_broker_forgets_what_was_acknowledged(
    own_broker: StartBroker, monkeypatch: pytest.MonkeyPatch, client_id: str | None
) -> None:
    """It keeps what was acknowledged in transactions until the consumer subscribes anew."""
    monkeypatch.setattr(receiver, "_REMEMBERED", 50)
    broker, name = own_broker("activemq"), new_queue()
    link = open_link(broker, LinkLog(), client_id=client_id)
    channel = link.channel(True)
    subscription, box = subscribe(channel, name, 20, deferred=True)
    texts = [str(number) for number in range(300)]
    for first in range(0, 300, 20):
        send_texts_to(link, name, *texts[first : first + 20])
        box.wait(first + 20)
        settle(subscription, box.tokens[first:], Outcome.ACCEPTED)
        _commit(channel)
        subscription.grant(20)
    assert box.bodies == texts
    assert _kept_by(broker) <= 60
    link.close()


def test_delays_without_scheduler_are_not_claimed(own_broker: StartBroker) -> None:
    """The broker would deliver a delayed message at once."""
    link = open_link(own_broker("activemq", NO_SCHEDULER), LinkLog())
    assert Native.DELAY not in link.native
    name = new_queue()
    send(link.channel(False), envelope(name, "now"))
    assert fetch(link, name, 1) == ["now"]
    link.close()


def test_delays_with_scheduler_are_claimed(activemq: Broker) -> None:
    link = open_link(activemq, LinkLog(), client_id=f"client-{new_queue().name}")
    assert Native.DELAY in link.native
    link.close()


def test_the_groups_of_a_closed_consumer_go_to_another(activemq: Broker) -> None:
    """The broker does not show JMSXGroupID and JMSXGroupSeq over STOMP, but they arrive."""
    link, name = open_link(activemq, LinkLog()), new_queue()
    sender, first, second = (link.channel(False) for _ in range(3))
    one, box = subscribe(first, name, 10)
    _, other = subscribe(second, name, 10)
    group = {"JMSXGroupID": "g", "JMSXGroupSeq": 7}
    send(sender, *(envelope(name, str(number), properties=group) for number in range(4)))
    eventually(lambda: len(box.arrivals) + len(other.arrivals) == 4)
    keeps, gets = (box, other) if box.arrivals else (other, box)
    assert (len(keeps.arrivals), gets.arrivals) == (4, [])
    assert [arrival.envelope.properties for arrival in keeps.arrivals] == [group] * 4
    if keeps is box:
        settle(one, box.tokens, Outcome.ACCEPTED)
        one.close()
        first.close()
        send(sender, envelope(name, "after", properties=group))
        assert other.wait(1)[0].envelope.body == "after"
    link.close()


def test_dead_letters_on_the_command_line(activemq: Broker) -> None:
    check_dead_letters_on_the_command_line(activemq)

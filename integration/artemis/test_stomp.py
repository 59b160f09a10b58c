"""What a refused frame costs over STOMP: Artemis ends the socket with every ERROR."""

import json
import os
import time

import pytest

import jmsbridge
from integration.lab.admin.artemis import Management
from integration.lab.admin.stomp import Stomp
from integration.lab.broker import Broker
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
from jmsbridge import InDoubtException, JMSException, Queue, Topic
from jmsbridge.spi import AccessDenied, Address, ConnectFailed, Outcome, SendRefused, SubscriptionRefused
from jmsbridge.testing.harness import LinkLog
from jmsbridge.testing.suite.contract.support import Answer, envelope, send, send_texts_to, settle, subscribe
from jmsbridge.testing.suite.support import eventually

pytestmark = pytest.mark.broker("artemis")

GUARDED = Address("activemq.management")
"""What a guest may not send to."""


def test_a_refused_send_costs_no_other_session_anything(artemis: Broker) -> None:
    """The channel connects another socket, and all else goes on."""
    log, name = LinkLog(), new_queue()
    link = open_link(artemis, log)
    send_texts_to(link, name, "held")
    channel, other = link.channel(False), link.channel(False)
    subscription, box = subscribe(other, name, 5)
    box.wait(1)
    for text in ("first", "second"):
        answer = Answer()
        channel.send(envelope(GUARDED), answer)
        error = answer.outcome()
        assert type(error) is SendRefused  # the broker does not say that a right is missing
        assert not error.in_doubt
        assert "CoreMessage" not in str(error)  # the content of the message, which the broker repeats
        send(channel, envelope(name, text))
        send(other, envelope(name, text))
    box.wait(5)
    settle(subscription, box.tokens, Outcome.ACCEPTED)
    assert (log.losses, log.channels, log.subscriptions) == ([], [], [])
    link.close()


def test_a_refused_send_rolls_its_transaction_back(artemis: Broker) -> None:
    name = new_queue()
    link = open_link(artemis, LinkLog())
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


@pytest.mark.parametrize("shared", [False, True])
def test_a_subscription_that_was_refused_opens_once_the_other_is_closed(artemis: Broker, shared: bool) -> None:
    """It is neither taken for a consumer of this connection, nor does it keep its socket."""
    name, client = new_queue().name, f"c-{os.urandom(4).hex()}"
    mine, theirs = Address(f"{name}-mine", topic=True), Address(f"{name}-theirs", topic=True)
    other, link = (open_link(artemis, LinkLog(), client_id=client, user="jb", password="jbpass") for _ in range(2))
    held, _ = subscribe(other.channel(False), theirs, 1, key="k", durable=True, shared=shared)
    channel = link.channel(False)
    before = len(link._sockets.members)
    with pytest.raises(SubscriptionRefused, match="has consumers and another topic or selector"):
        subscribe(channel, mine, 1, key="k", durable=True, shared=shared)
    eventually(lambda: len(link._sockets.members) == before)
    held.close()
    again, box = subscribe(channel, mine, 1, key="k", durable=True, shared=shared)
    send_texts_to(link, mine, "text")
    settle(again, [box.wait(1)[0].token], Outcome.ACCEPTED)
    again.close()
    link.unsubscribe("k", mine)
    link.close()
    other.close()


def test_a_dead_letter_with_an_odd_name_for_answers(artemis: Broker) -> None:
    check_dead_letter_to_odd_answers(
        artemis, {"destination": "", "destination-type": "ANYCAST", "reply-to": "queue://a::b"}
    )


def test_a_message_over_tls(artemis: Broker) -> None:
    check_tls(artemis)


def test_large_bytes(artemis: Broker) -> None:
    check_large_bytes(artemis)


def test_late_settlements_stop_nothing(artemis: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    check_late_settlements(artemis, monkeypatch, "_ARTEMIS", 20000, ordered=True)


def test_unmatched_messages_in_a_transaction_stop_nothing(artemis: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    check_unmatched_in_a_transaction(artemis, monkeypatch, "_ARTEMIS", 20000)


def test_a_long_listener(artemis: Broker) -> None:
    check_long_listener(artemis)


def test_a_port_that_expects_tls_is_not_waited_for_longer_than_asked(artemis: Broker) -> None:
    with pytest.raises(ConnectFailed):
        open_link(artemis, LinkLog(), "stomps", connect_timeout=3.0)


def test_shared_subscriptions_of_a_user_who_may_not_manage(artemis: Broker) -> None:
    """Nothing is compared then, and the queue of one that is not durable is deleted all the same."""
    log, topic = LinkLog(), Address(f"{new_queue().name}-news", topic=True)
    link = open_link(artemis, log)
    for durable in (True, False):
        key = f"{topic.name}-{durable}"
        sharing = {"key": key, "shared": True, "durable": durable}
        one, first = subscribe(link.channel(False), topic, 1, **sharing)
        two, second = subscribe(link.channel(False), topic, 1, **sharing)
        send_texts_to(link, topic, "a", "b")
        bodies = {first.wait(1)[0].envelope.body, second.wait(1)[0].envelope.body}
        assert bodies == {"a", "b"}
        settle(one, first.tokens, Outcome.ACCEPTED)
        settle(two, second.tokens, Outcome.ACCEPTED)
        one.close()
        two.close()
    with Management(artemis.ports["stomp"]) as management:
        queues = management.names("getQueueNames")
    assert f"{topic.name}-True" in queues
    assert f"nonDurable.{topic.name}-False" not in queues
    with pytest.raises(AccessDenied):
        link.unsubscribe(f"{topic.name}-True", topic)
    assert log.losses == []
    link.close()


def test_a_shared_consumer_that_is_not_the_last_closes_at_once(artemis: Broker) -> None:
    """Artemis refuses to delete the queue, which has other consumers, and ends the socket."""
    topic = Topic(new_queue().name)
    with jmsbridge.connect(artemis.url("stomp")) as connection:
        first, last = (connection.create_session().create_shared_consumer(topic, "s") for _ in range(2))
        connection.start()
        before = time.monotonic()
        first.close()
        assert time.monotonic() - before < 10  # not close_timeout
        connection.create_session().create_producer(topic).send(connection.create_session().create_text_message("x"))
        message = last.receive(timeout=20)
        assert message is not None
        assert message.get_body(str) == "x"


def test_a_prefetch_of_one_takes_one_message_in_advance(artemis: Broker) -> None:
    """However small the messages are, so that those who are idle get the others."""
    name = new_queue()
    link = open_link(artemis, LinkLog())
    busy, taken = subscribe(link.channel(False), name, 1, window=1)
    send_texts_to(link, name, "first")
    taken.wait(1)
    busy.grant(1)
    send_texts_to(link, name, "second", "third")
    _, others = subscribe(link.channel(False), name, 5)
    assert [arrival.envelope.body for arrival in others.wait(2)] == ["second", "third"]
    link.close()


def test_a_queue_takes_no_more_consumers(artemis: Broker) -> None:
    """Artemis does not say which frame it refuses: it is no doubt that the consumer is not there."""
    queue = Queue(new_queue().name)
    with Management(artemis.ports["stomp"]) as management, jmsbridge.connect(artemis.url("stomp")) as connection:
        made = {"name": queue.queue_name, "address": queue.queue_name, "routing-type": "ANYCAST", "max-consumers": 1}
        management.call("broker", "createQueue", json.dumps(made), True)
        connection.start()
        first, second = (connection.create_session() for _ in range(2))
        taking = first.create_consumer(queue)
        taking.receive(timeout=0.2)
        with pytest.raises(JMSException, match=f"consuming queue:{queue.queue_name}: Artemis .* refused it") as caught:
            second.create_consumer(queue).receive(timeout=10)
        assert not isinstance(caught.value, InDoubtException)
        second.create_producer(queue).send("x")
        assert taking.receive(timeout=10) is not None


def test_a_foreign_header_ack_names_no_message(artemis: Broker) -> None:
    """Artemis writes it before its own: another message would be acknowledged, or the consumer ended."""
    queue = Queue(new_queue().name)
    with jmsbridge.connect(artemis.url("stomp")) as connection, Stomp(artemis.ports["stomp"]) as foreign:
        connection.start()
        session = connection.create_session(jmsbridge.INDIVIDUAL_ACKNOWLEDGE)
        consumer = session.create_consumer(queue)
        headers = {"destination": queue.queue_name, "destination-type": "ANYCAST"}
        for ack in ("evil", "1,1"):
            foreign.send("SEND", {**headers, "ack": ack}, ack)
            received = consumer.receive(timeout=5)
            assert received is not None
            received.acknowledge()
        assert consumer.receive(timeout=1) is None
        consumer.close()
        with session.create_consumer(queue) as again:
            assert again.receive(timeout=1) is None


def test_dead_letters_on_the_command_line(artemis: Broker) -> None:
    check_dead_letters_on_the_command_line(artemis)

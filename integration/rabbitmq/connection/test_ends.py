"""Closing and losses during other calls: each pending call gets the right answer, in time."""

import contextlib
import gc
import threading
import time
import weakref
from collections.abc import Callable, Iterator

import pytest

from integration.lab.broker import Broker
from integration.lab.fixtures import StartBroker
from integration.rabbitmq.support import Client
from jmsbridge.spi import (
    AccessDenied,
    Address,
    AddressRefused,
    BackendError,
    ChannelLost,
    ConnectFailed,
    Interest,
    LinkLost,
    Outcome,
    SendCancelled,
    SendRefused,
    Subscription,
    SubscriptionRefused,
)
from jmsbridge.testing.proxy import Direction, FaultProxy
from jmsbridge.testing.suite.contract.support import Answer, Box
from jmsbridge.testing.suite.support import eventually
from jmsbridge_rabbitmq import RabbitOptions
from jmsbridge_rabbitmq.consuming import consumer_channel

Clients = Callable[..., Client]

_OPEN_OK = bytes.fromhex("000a0029")  # connection.open-ok: the login is over


def test_a_channel_closed_in_an_alarm_answers_and_the_link_stays(
    own_broker: StartBroker, clients: Clients, name: str
) -> None:
    broker = own_broker("rabbitmq")
    client, address = clients(broker), Address(name)
    client.send(address, "opens the publishing socket")
    broker.ctl("set_vm_memory_high_watermark", "absolute", "1MiB")
    answer = client.ask(address, "never taken")
    eventually(lambda: client.log.throttles == [True], 10.0)
    unsent = client.ask(address, "not even written")
    client.channel.close()
    error, early = answer.outcome(), unsent.outcome()
    assert isinstance(error, ChannelLost)
    assert error.in_doubt
    assert isinstance(early, ChannelLost)
    assert not early.in_doubt
    broker.ctl("set_vm_memory_high_watermark", "absolute", "1GiB")
    eventually(lambda: client.log.throttles == [True, False], 10.0)
    assert not client.log.losses
    client.link.check()


def test_a_send_cancelled_in_an_alarm_is_never_sent(own_broker: StartBroker, clients: Clients, name: str) -> None:
    """The broker reports the alarm when it gets the next message: that one is written, later ones are not."""
    broker = own_broker("rabbitmq")
    client, address = clients(broker), Address(name)
    client.send(address, "opens the publishing socket")
    broker.ctl("set_vm_memory_high_watermark", "absolute", "1MiB")
    written = client.ask(address, "written")
    eventually(lambda: client.log.throttles == [True], 10.0)
    unsent, kept = client.ask(address, "taken back"), client.ask(address, "waits on")
    client.channel.cancel([written, unsent])
    error = unsent.outcome(0.0)
    assert isinstance(error, SendCancelled)
    assert name in str(error)
    assert "alarm" in str(error)
    assert not error.in_doubt
    assert not written.answers
    assert not kept.answers
    broker.ctl("set_vm_memory_high_watermark", "absolute", "1GiB")
    for answer in (written, kept):
        answer.wait(10.0)
    _, box = client.consume(address, 10)
    assert [each.envelope.body for each in box.wait(3, 10.0)] == ["opens the publishing socket", "written", "waits on"]


def test_a_consumer_closed_while_an_alarm_delays_a_dead_letter(
    own_broker: StartBroker, clients: Clients, name: str
) -> None:
    """The broker reports the alarm only when it gets the copy, for which the close already waits."""
    broker = own_broker("rabbitmq")
    client, address = clients(broker), Address(name)
    client.send(address, "bad")
    subscription, box = client.consume(address, 1)
    box.wait(1, 10.0)
    broker.ctl("set_vm_memory_high_watermark", "absolute", "1MiB")
    answer = Answer()
    subscription.settle(box.tokens, Outcome.REJECTED, answer)
    subscription.close()
    assert client.log.throttles == [True]
    client.link.check()
    broker.ctl("set_vm_memory_high_watermark", "absolute", "1GiB")
    assert isinstance(answer.outcome(), ChannelLost)
    _, again = client.consume(address, 1)
    assert again.wait(1, 10.0)[0].envelope.body == "bad"
    assert not client.log.losses


def test_a_fault_while_writing_is_answered_as_in_doubt(
    client: Client, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An exception on the I/O thread leaves no call without an answer."""
    address = Address(name)
    client.send(address, "opens the publishing socket")

    def broken(*_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(client.link.pair.publishing, "publish", broken)
    answer = client.ask(address, "never written")
    error = answer.outcome()
    assert isinstance(error, LinkLost)
    assert error.in_doubt
    assert "a bug" in str(error)
    eventually(lambda: len(client.log.losses) == 1, 10.0)


@pytest.fixture
def far(broker: Broker, clients: Clients, name: str, fault_proxy: Callable[..., FaultProxy]) -> Iterator[Client]:
    """A client with its own virtual host, with enough delay to send several messages before an answer comes."""
    broker.admin.put(f"/api/vhosts/{name}")
    proxy = fault_proxy(broker.url())
    client = clients(None, url=proxy.through(broker.url()), path=f"/{name}")
    client.send(Address("queue"), "opens the publishing socket")
    client.send(Address("topic", topic=True), "makes the exchange")
    proxy.delay = 0.2
    broker.admin.delete(f"/api/exchanges/{name}/jms.durable.topic")
    yield client
    broker.admin.delete(f"/api/vhosts/{name}")


def test_sends_behind_one_that_closes_the_channel_are_repeated_on_the_next(far: Client) -> None:
    topic, queue = Address("topic", topic=True), Address("queue")
    first, refused = far.ask(queue, "first"), far.ask(topic)
    later = [far.ask(queue, str(number)) for number in range(3)]
    assert isinstance(refused.outcome(), AddressRefused)
    for answer in later:
        answer.wait(10.0)
    lost = first.outcome()
    assert lost is None or lost.in_doubt
    _, box = far.consume(queue, 10)
    arrived = [arrival.envelope.body for arrival in box.wait(5, 10.0)]
    assert arrived == ["opens the publishing socket", "first", "0", "1", "2"]
    assert not far.log.losses


def test_two_sends_that_may_have_closed_the_channel_are_in_doubt(far: Client) -> None:
    topic, queue = Address("topic", topic=True), Address("queue")
    doubtful = [far.ask(topic), far.ask(queue), far.ask(topic)]
    later = far.ask(queue)
    for answer in doubtful:
        error = answer.outcome()
        assert isinstance(error, ChannelLost)
        assert error.in_doubt
    later.wait(10.0)


def test_a_refused_topic_is_not_taken_for_a_queue_that_the_refusal_names(
    broker: Broker, clients: Clients, name: str, fault_proxy: Callable[..., FaultProxy]
) -> None:
    """The broker's text ends with the user, whose name is also the name of this queue."""
    topics = {"exchange": "jms.durable.topic", "write": "^ok", "read": ".*"}
    broker.admin.put(f"/api/users/{name}", {"password": "pw", "tags": ""})
    broker.admin.put(f"/api/permissions/%2F/{name}", dict.fromkeys(("configure", "write", "read"), ".*"))
    broker.admin.put(f"/api/topic-permissions/%2F/{name}", topics)
    proxy = fault_proxy(broker.url())
    client = clients(None, url=proxy.through(broker.url()), user=name, password="pw")
    queue = Address(name)
    client.send(queue, "opens the publishing socket")
    client.send(Address("ok", topic=True), "makes the exchange")
    proxy.delay = 0.2
    before = [client.ask(queue, str(number)) for number in range(3)]
    refused, after = client.ask(Address("bad", topic=True)), client.ask(queue, "after")
    assert isinstance(refused.outcome(), AccessDenied)
    after.wait(10.0)
    for answer in before:
        error = answer.outcome()
        assert error is None or error.in_doubt
    proxy.delay = 0.0
    _, box = client.consume(queue, 10)
    arrived = [arrival.envelope.body for arrival in box.wait(5, 10.0)]
    assert arrived == ["opens the publishing socket", "0", "1", "2", "after"]
    broker.admin.delete(f"/api/users/{name}")


def test_a_consumer_that_starts_too_late_keeps_no_messages(
    client: Client, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = Address(name)
    client.send(address, "a", "b")
    monkeypatch.setattr(consumer_channel, "_DEADLINE", 0.0)
    late, nothing = client.consume(address, 1)
    eventually(lambda: [each[0] for each in client.log.subscriptions] == [late], 10.0)
    monkeypatch.undo()
    _, box = client.consume(address, 2)
    assert [arrival.envelope.body for arrival in box.wait(2, 10.0)] == ["a", "b"]
    assert not nothing.arrivals


def test_closed_consumers_are_not_referenced(client: Client, name: str) -> None:
    address = Address(name)
    client.send(address, *map(str, range(6)))

    def closed() -> weakref.ref[Subscription]:
        subscription, box = client.consume(address, 1)
        box.wait(1, 10.0)
        subscription.close()
        return weakref.ref(subscription)

    gone = [closed() for _ in range(5)]
    last, _ = client.consume(address)

    def kept() -> list[Subscription | None]:
        gc.collect()
        return [each() for each in gone if each() is not None]

    eventually(lambda: not kept(), 10.0)
    last.close()


def test_a_network_that_falls_silent_after_the_login_is_given_up_in_time(
    broker: Broker, clients: Clients, fault_proxy: Callable[..., FaultProxy]
) -> None:
    def watch(_: int, direction: Direction, data: bytes) -> None:
        if direction is Direction.IN and _OPEN_OK in data:
            silent.set()
        elif direction is Direction.OUT and silent.is_set():
            proxy.stall()

    silent = threading.Event()
    proxy = fault_proxy(broker.url(), watch=watch)
    begun = time.monotonic()
    with pytest.raises(ConnectFailed, match=r"127\.0\.0\.1.*no answer from RabbitMQ"):
        clients(None, url=proxy.through(broker.url()), client_id="me", connect_timeout=2.0)
    assert time.monotonic() < begun + 20  # not after the 30 s that a request may take


def test_a_consumer_that_never_started_keeps_no_messages(client: Client, name: str) -> None:
    """For example on a quorum queue without leader: when it has one again, the consumer would take messages."""
    address = Address(name, topic=True)
    late = consumer_channel._DEADLINE
    consumer_channel._DEADLINE = 0.0
    error: BackendError | None = None
    try:
        client.channel.subscribe(Interest(address=address, key=name, durable=True, window=10), Box())
    except BackendError as each:
        error = each
    finally:
        consumer_channel._DEADLINE = late
    assert error is not None
    assert "did not start" in str(error)

    def unsubscribed() -> bool:
        with contextlib.suppress(SubscriptionRefused):
            client.link.unsubscribe(name, None)
            return True
        return False

    eventually(unsubscribed, 10.0)


def test_a_full_dead_letter_queue_is_one_error_and_loses_nothing(broker: Broker, clients: Clients, name: str) -> None:
    dead = f"{name}-dead"
    client = clients(broker, options=RabbitOptions(dead_letter_queue=dead))
    broker.admin.put(
        f"/api/queues/%2F/{dead}",
        {"durable": True, "arguments": {"x-max-length": 1, "x-overflow": "reject-publish"}},
    )
    client.send(Address(name), "a", "b", "c")
    subscription, box = client.consume(Address(name), 3)
    box.wait(3, 10.0)
    answer = Answer()
    subscription.settle(box.tokens, Outcome.REJECTED, answer)
    assert isinstance(answer.outcome(), SendRefused)
    subscription.close()
    assert len(answer.answers) == 1
    # the broker answers the close before the queue has requeued the messages of the channel
    eventually(lambda: [client.link.depth(Address(each)) for each in (name, dead)] == [2, 1], 10.0)

"""Contract: links that cannot be opened, are lost while others stay open, or are closed, and what remains of them."""

import socket
import threading
import time

import msgspec
import pytest

from jmsbridge.spi.backend import Channel, Link, LinkEvents
from jmsbridge.spi.envelope import Address, Outcome
from jmsbridge.spi.errors import BackendError, ChannelLost, ConnectFailed, LinkLost
from jmsbridge.spi.native import Native
from jmsbridge.testing.harness import Harness, LinkLog
from jmsbridge.testing.marks import level, promise, requires
from jmsbridge.testing.suite.contract.support import (
    Answer,
    drain,
    envelope,
    fetch,
    left,
    send,
    send_texts_to,
    settle,
    subscribe,
)
from jmsbridge.testing.suite.support import LONG, eventually


@level("contract")
@promise(9, 11)
def test_contract_loss_requeues_to_a_waiting_consumer(harness: Harness) -> None:
    """When one link is lost, a waiting consumer on another link gets its messages; other links are not affected."""
    aside = harness.aside()
    if aside is None:
        pytest.skip("this harness cannot cut one link alone: implement aside()")
    address, log = harness.address(), LinkLog()
    link = harness.open_link(log)
    send_texts_to(link, address, "a", "b")
    _, held = subscribe(aside.open_link().channel(False), address, 2)
    held.wait(2)
    _, box = subscribe(link.channel(False), address, 5)
    aside.cut()
    assert sorted(arrival.envelope.body for arrival in box.wait(2)) == ["a", "b"]
    assert log.losses == []


@level("contract")
@promise(6, 7, LinkEvents.channel_lost)
def test_contract_loss_of_one_channel(harness: Harness) -> None:
    """It is reported once, its verbs fail, its messages are requeued, and the rest of its link is not affected."""
    address, elsewhere, log = harness.address(), harness.address(), LinkLog()
    link = harness.open_link(log)
    channel, other = link.channel(False), link.channel(False)
    send_texts_to(link, address, "held", "waits")
    subscription, box = subscribe(channel, address, 1, window=1)
    box.wait(1)
    _, others = subscribe(other, elsewhere, 5)
    if not harness.lose_channel(channel):
        pytest.skip("this harness cannot have the broker end one channel: implement lose_channel()")
    eventually(lambda: log.channels)
    answers = [Answer() for _ in range(3)]
    channel.send(envelope(address), answers[0])
    subscription.settle(box.tokens, Outcome.ACCEPTED, answers[1])
    subscription.drain(answers[2])
    errors = [answer.outcome() for answer in answers]
    assert [type(error) for error in errors] == [ChannelLost] * 3
    assert not any(error.in_doubt for error in errors if error is not None)
    for verb in (
        lambda: channel.send(envelope(address), None),
        lambda: subscription.settle(box.tokens, Outcome.ACCEPTED),
        lambda: subscription.grant(1),
        lambda: subscribe(channel, address),
    ):
        with pytest.raises(ChannelLost):
            verb()
    channel.close()
    send(other, envelope(elsewhere, "goes on"))
    assert others.wait(1)[0].envelope.body == "goes on"
    assert fetch(link, address, 2) == ["held", "waits"]
    assert ([lost for lost, _ in log.channels], log.losses, log.subscriptions) == ([channel], [], [])


@level("contract")
@promise(Link.declare)
@requires(Native.TEMPORARY)
@pytest.mark.parametrize("topic", [False, True])
def test_contract_loss_empties_temporary_destinations(harness: Harness, topic: bool) -> None:
    """After a lost link the next one gets the same temporary destination, empty, once the broker noticed the loss."""
    name, log = harness.name("temp"), LinkLog()
    address = harness.open_link(log).declare(Address(name, topic, temporary=True))
    if not topic:
        send_texts_to(harness.open_link(), address, "old")
    harness.cut()
    eventually(lambda: log.losses)
    link = harness.open_link()

    def declared() -> bool:
        try:
            made = link.declare(address)
        except BackendError:
            return False
        if made != address:
            link.delete(made)
        return made == address

    eventually(declared, 2 * LONG)
    assert topic or left(link, address, []) == []


@level("contract")
@promise(10)
def test_contract_connect_failure_has_a_cause(harness: Harness) -> None:
    """A port without a broker: ``ConnectFailed``, which is retriable, caused by the error of the network."""
    if harness.endpoint.host is None:
        pytest.skip("the backend does not connect to a network address")
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        endpoint = msgspec.structs.replace(harness.endpoint, host="127.0.0.1", port=unused.getsockname()[1])
        with pytest.raises(ConnectFailed) as raised:
            harness.backend.open(endpoint, harness.options, LinkLog())
    assert not raised.value.in_doubt
    assert raised.value.__cause__ is not None, f"{raised.value!r} has no cause"


@level("contract")
@promise(7)
def test_contract_loss_makes_verbs_fail_fast(harness: Harness) -> None:
    """Verbs of a lost link fail at once and not in doubt, since nothing was sent to the broker."""
    log, answer = LinkLog(), Answer()
    link = harness.open_link(log)
    channel = link.channel(False)
    harness.cut()
    eventually(lambda: log.losses)
    begun = time.monotonic()
    channel.send(envelope(harness.address()), answer)
    error = answer.outcome()
    with pytest.raises(LinkLost):
        link.channel(False)
    with pytest.raises(LinkLost):
        link.unsubscribe("sub", None)
    assert time.monotonic() - begun < 1.0
    assert isinstance(error, LinkLost)
    assert not error.in_doubt


@level("contract")
@promise(8)
@pytest.mark.parametrize("cut", [False, True])
def test_contract_link_end_ends_its_threads(harness: Harness, cut: bool) -> None:
    """A closed link leaves no thread behind, whether it was lost before or not."""
    harness.open_link().close()  # threads that the backend starts once per process may stay
    before = set(threading.enumerate())
    log = LinkLog()
    link = harness.open_link(log)
    address = harness.address()
    _, box = subscribe(link.channel(False), address, 1)
    send_texts_to(link, address, "a")
    box.wait(1)
    if cut:
        harness.cut()
        eventually(lambda: log.losses)
    link.close()

    def left_behind() -> list[str]:
        new = set(threading.enumerate()) - before
        return [thread.name for thread in new if thread.name.startswith("jmsbridge-") and thread.name.endswith("-io")]

    eventually(lambda: not left_behind())
    assert left_behind() == []


@level("contract")
@promise(Channel.send)
def test_contract_topic_stores_only_what_subscriptions_want(harness: Harness) -> None:
    """A topic stores neither messages that no subscription wants nor those that all subscriptions have accepted."""
    before = harness.stored()
    if before is None:
        pytest.skip("the harness does not know what the broker stores: implement stored()")
    address = harness.address(topic=True)
    link = harness.open_link()
    texts = [str(number) for number in range(50)]
    send_texts_to(link, address, *texts)
    eventually(lambda: harness.stored() == before)
    subscription, box = subscribe(link.channel(False), address, 50)
    send_texts_to(link, address, *texts)
    box.wait(50)
    drain(subscription)
    settle(subscription, box.tokens, Outcome.ACCEPTED)
    subscription.close()
    eventually(lambda: harness.stored() == before)

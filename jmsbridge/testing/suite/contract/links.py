"""Contract: how links are opened, closed and lost, and how open tickets are answered then."""

import threading

import pytest

from jmsbridge.spi.backend import Link
from jmsbridge.spi.envelope import Address, Interest, Outcome
from jmsbridge.spi.errors import LinkLost
from jmsbridge.spi.native import Native
from jmsbridge.testing.harness import Harness, LinkLog
from jmsbridge.testing.marks import level, promise, requires
from jmsbridge.testing.suite.contract.support import Answer, Box, envelope, fetch, peek, send, send_texts_to, subscribe
from jmsbridge.testing.suite.support import LONG, eventually, run_thread


def _cut(harness: Harness, log: LinkLog) -> None:
    harness.cut()
    eventually(lambda: log.losses)


@level("contract")
@promise(Link)
def test_contract_link_describes_itself(harness: Harness) -> None:
    link = harness.open_link()
    assert harness.backend.name == harness.scheme
    assert link.broker
    assert link.native & ~harness.backend.native == Native.NONE
    subscription, _ = subscribe(link.channel(False), harness.address())
    assert subscription.native & ~link.native == Native.NONE


@level("contract")
@promise(Link.close)
def test_contract_link_close_is_idempotent_and_silent(harness: Harness) -> None:
    log = LinkLog()
    link = harness.open_link(log)
    link.channel(False)
    link.close()
    run_thread(link.close).result(LONG)
    assert log.losses == []


@level("contract")
@promise(6)
def test_contract_link_close_after_its_loss(harness: Harness) -> None:
    log = LinkLog()
    link = harness.open_link(log)
    channel = link.channel(False)
    subscription, _ = subscribe(channel, harness.address(), 1)
    _cut(harness, log)
    subscription.close()
    channel.close()
    link.close()
    link.close()
    assert len(log.losses) == 1


@level("contract")
@promise(6)
def test_contract_link_loss_is_reported_once(harness: Harness) -> None:
    logs = [LinkLog(), LinkLog()]
    links = [harness.open_link(log) for log in logs]
    harness.cut()
    eventually(lambda: logs[0].losses and logs[1].losses)
    harness.cut()
    for link in links:
        link.close()
    assert [[type(error) for error in log.losses] for log in logs] == [[LinkLost], [LinkLost]]


@level("contract")
@promise(7)
def test_contract_link_loss_fails_calls_with_tickets(harness: Harness) -> None:
    log, address = LinkLog(), harness.address()
    link = harness.open_link(log)
    channel = link.channel(False)
    send_texts_to(link, address, "a")
    subscription, box = subscribe(channel, address, 1)
    box.wait(1)
    _cut(harness, log)
    answers = [Answer() for _ in range(3)]
    channel.send(envelope(address), answers[0])
    subscription.settle(box.tokens, Outcome.ACCEPTED, answers[1])
    subscription.drain(answers[2])
    errors = [answer.outcome() for answer in answers]
    assert [type(error) for error in errors] == [LinkLost] * 3
    assert [error.in_doubt for error in errors if error is not None] == [False] * 3
    with pytest.raises(LinkLost):
        channel.send(envelope(address), None)
    with pytest.raises(LinkLost):
        subscription.settle(box.tokens, Outcome.ACCEPTED)
    with pytest.raises(LinkLost):
        subscription.grant(1)


@level("contract")
@promise(7)
def test_contract_link_loss_fails_blocking_calls(harness: Harness) -> None:
    log = LinkLog()
    link = harness.open_link(log)
    channel = link.channel(False)
    _cut(harness, log)
    with pytest.raises(LinkLost):
        link.channel(False)
    with pytest.raises(LinkLost):
        link.declare(Address("temp", temporary=True))
    with pytest.raises(LinkLost):
        link.delete(Address("temp", temporary=True))
    with pytest.raises(LinkLost):
        link.unsubscribe("sub", None)
    with pytest.raises(LinkLost):
        channel.subscribe(Interest(address=harness.address()), Box())


@level("contract")
@promise(1)
def test_contract_link_loss_answers_every_open_ticket(harness: Harness) -> None:
    log, address = LinkLog(), harness.address()
    channel = harness.open_link(log).channel(False)
    answers = [Answer() for _ in range(400)]
    halfway = threading.Event()

    def sending() -> None:
        for number, answer in enumerate(answers):
            channel.send(envelope(address, str(number)), answer)
            if number == 200:
                halfway.set()

    future = run_thread(sending)
    assert halfway.wait(LONG)
    _cut(harness, log)
    future.result(LONG)
    outcomes = [answer.outcome() for answer in answers]
    assert {type(outcome) for outcome in outcomes} <= {type(None), LinkLost}
    assert [len(answer.answers) for answer in answers] == [1] * 400


@level("contract")
@requires(Native.SEND_CONFIRM)
def test_contract_link_loss_keeps_confirmed_messages(harness: Harness) -> None:
    log, address = LinkLog(), harness.address()
    channel = harness.open_link(log).channel(False)
    texts = [str(number) for number in range(50)]
    send(channel, *(envelope(address, text) for text in texts))
    _cut(harness, log)
    assert fetch(harness.open_link(), address, 50) == texts


@level("contract")
@promise(9)
def test_contract_links_are_independent(harness: Harness) -> None:
    address = harness.address()
    one, two = harness.open_link(), harness.open_link()
    one.close()
    send_texts_to(two, address, "a")
    with pytest.raises(LinkLost):
        one.channel(False)
    assert fetch(two, address, 1) == ["a"]


@level("contract")
@promise(6)
def test_contract_link_can_be_opened_after_a_loss(harness: Harness) -> None:
    log, address = LinkLog(), harness.address()
    harness.open_link(log)
    for text in "abc":
        _cut(harness, log)
        log = LinkLog()
        link = harness.open_link(log)
        send_texts_to(link, address, text)
    assert peek(link, address) == ["a", "b", "c"]


@level("contract")
@promise(8)
def test_contract_link_threads_are_daemon_and_named(harness: Harness) -> None:
    before = set(threading.enumerate())
    link = harness.open_link()
    _, box = subscribe(link.channel(False), address := harness.address(), 1)
    send_texts_to(link, address, "a")
    box.wait(1)
    started = set(threading.enumerate()) - before
    assert all(thread.daemon for thread in started), started
    assert all(t.name.startswith("jmsbridge-") and t.name.endswith("-io") for t in started), started

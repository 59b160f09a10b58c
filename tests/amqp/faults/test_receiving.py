"""Receivers of a broker that ends links, answers drains late or not at all, and sends more or less than it may."""

import time
from collections.abc import Callable
from typing import Any

import proton
import pytest

from jmsbridge.spi import (
    AccessDenied,
    Address,
    AddressRefused,
    BackendError,
    BodyKind,
    ChannelLost,
    LinkLost,
    NotSupported,
    Outcome,
    SelectorRefused,
    SubscriptionRefused,
    SubscriptionUnknown,
)
from jmsbridge.testing.suite.contract.support import Answer, drain, envelope, send, settle, subscribe
from tests.amqp.faults.support import QUEUE, Opened
from tests.amqp.peer.link import PeerLink
from tests.amqp.peer.messages import text
from tests.amqp.peer.records import PATIENCE
from tests.amqp.peer.script import Attached, Condition

Open = Callable[..., Opened]

ACCEPTED, RELEASED, MODIFIED = 0x24, 0x26, 0x27
TOPIC = Address("t", topic=True)


def link_of(opened: Opened) -> PeerLink:
    """The newest receiver of the queue."""
    return opened.peer.wait_link("q", receives=True)


def unshared(link: PeerLink) -> Attached:
    """As a broker answers whose durable subscriptions are unshared: a second consumer is refused."""
    return Condition("amqp:illegal-state") if link.name.endswith("|probe") else "attach"


# -- attaching


@pytest.mark.parametrize(
    ("condition", "interest", "error"),
    [
        ("amqp:unauthorized-access", {}, AccessDenied),
        ("amqp:not-found", {}, AddressRefused),
        ("amqp:illegal-state", {}, AddressRefused),
        ("amqp:invalid-field", {}, AddressRefused),
        ("amqp:invalid-field", {"selector": "a = 1"}, SelectorRefused),
        ("amqp:not-implemented", {}, NotSupported),
        ("amqp:resource-locked", {"key": "s", "durable": True}, SubscriptionRefused),
        ("amqp:internal-error", {"key": "s", "durable": True}, SubscriptionRefused),
        ("amqp:illegal-state", {"key": "s", "durable": True, "shared": True}, SubscriptionRefused),
        ("amqp:resource-limit-exceeded", {}, BackendError),
        ("amqp:not-allowed", {}, BackendError),
        ("vendor:odd", {}, BackendError),
    ],
)
def test_a_refused_attach(open_link: Open, condition: str, interest: dict[str, Any], error: type[BackendError]) -> None:
    opened = open_link(client_id="c")
    opened.script.attach = lambda link: Condition(condition, "so it is")
    channel = opened.link.channel(False)
    address = TOPIC if "key" in interest else QUEUE
    with pytest.raises(error, match="so it is") as caught:
        subscribe(channel, address, **interest)
    assert type(caught.value) is error
    assert address.name in str(caught.value)
    opened.script.attach = unshared if not interest.get("shared") else lambda link: "attach"
    send(channel, envelope(QUEUE))
    subscribe(channel, address, **interest)
    assert (opened.events.losses, opened.events.channels) == ([], [])


def test_an_attach_answered_by_the_end_of_its_session_harms_nothing_else(opened: Opened) -> None:
    channel = opened.link.channel(False)
    _, box = subscribe(channel, QUEUE, 5)
    opened.script.attach = lambda link: "end session"
    with pytest.raises(BackendError, match="not-implemented"):
        subscribe(channel, Address("other"))
    opened.script.attach = lambda link: "attach"
    opened.peer.put("q", text("1"))
    box.wait(1)
    send(channel, envelope(QUEUE))
    assert (opened.events.losses, opened.events.channels, opened.events.subscriptions) == ([], [], [])


@pytest.mark.usefixtures("impatient")
def test_an_attach_that_is_never_answered_ends(opened: Opened) -> None:
    opened.script.attach = lambda link: "ignore"
    with pytest.raises(LinkLost, match="no answer"):
        subscribe(opened.link.channel(False), QUEUE)


# -- arrivals and credit


def test_arrivals_keep_their_order_and_the_credit(opened: Opened) -> None:
    subscription, box = subscribe(opened.link.channel(False), QUEUE, 10)
    opened.peer.put("q", *(text(str(number)) for number in range(100)))
    box.wait(10)
    box.wait_quiet()
    assert len(box.arrivals) == 10
    subscription.grant(90)
    box.wait(100)
    assert box.bodies == [str(number) for number in range(100)]


def test_a_large_message_in_small_frames(open_link: Open) -> None:
    opened = open_link()
    body = "é" * 400_000
    _, box = subscribe(opened.link.channel(False), QUEUE, 2)
    opened.peer.put("q", text(body), text("next"))
    box.wait(2)
    assert box.bodies == [body, "next"]


@pytest.mark.long
def test_a_message_of_100_megabytes(open_link: Open) -> None:
    """In time that grows with its size, not with its square: the peer is proton too, in this process."""
    opened = open_link({"max_frame": 1 << 16})
    channel = opened.link.channel(False)
    body = "0123456789" * 10_000_000
    began = time.process_time()
    answer = Answer()
    channel.send(envelope(QUEUE, body), answer)
    answer.wait(PATIENCE)
    _, box = subscribe(channel, QUEUE, 1)
    opened.peer.put("q", opened.records.accepted[0])
    box.wait(1, PATIENCE)
    assert time.process_time() - began < 10  # about 2 s
    assert box.bodies == [body]


@pytest.mark.parametrize("option", [False, True])
def test_a_map_and_a_list_without_annotation(open_link: Open, option: bool) -> None:
    opened = open_link(maps_and_streams=option)
    _, box = subscribe(opened.link.channel(False), QUEUE, 2)
    opened.peer.put(
        "q", bytes(proton.Message(body={"a": 1}).encode()), bytes(proton.Message(body=["a", True]).encode())
    )
    box.wait(2)
    kinds = [arrival.envelope.kind for arrival in box.arrivals]
    assert kinds == ([BodyKind.MAP, BodyKind.STREAM] if option else [BodyKind.OBJECT] * 2)


def test_a_message_that_is_aborted_does_not_arrive(opened: Opened) -> None:
    subscription, box = subscribe(opened.link.channel(False), QUEUE, 5)
    link = link_of(opened)
    opened.peer.do(lambda: link.begin(text("x" * 100_000)[:70_000]))
    opened.peer.do(link.abort)
    opened.peer.put("q", text("whole"))
    box.wait(1)
    assert box.bodies == ["whole"]
    drain(subscription)


def test_an_aborted_message_leaves_the_credit_as_it_was(opened: Opened) -> None:
    _, box = subscribe(opened.link.channel(False), QUEUE, 1)
    link = link_of(opened)
    for _ in range(2):
        opened.peer.do(lambda: link.begin(text("x" * 100_000)[:70_000]))
        opened.peer.do(link.abort)
    opened.peer.put("q", text("whole"))
    box.wait(1)
    assert box.bodies == ["whole"]


def test_an_aborted_message_ends_the_drain_that_it_was_the_last_of(opened: Opened) -> None:
    opened.script.drains = False
    subscription, box = subscribe(opened.link.channel(False), QUEUE, 1)
    link = link_of(opened)
    opened.peer.do(lambda: link.begin(text("x" * 100_000)[:70_000]))
    answer = Answer()
    subscription.drain(answer)
    opened.records.wait_event("drain")
    opened.peer.do(link.abort)
    answer.wait()
    opened.peer.put("q", text("next"))
    box.wait_quiet()
    assert box.arrivals == []


def test_a_message_that_never_ends_is_lost_with_its_link(opened: Opened) -> None:
    _, box = subscribe(opened.link.channel(False), QUEUE, 5)
    link = link_of(opened)
    opened.peer.do(lambda: link.begin(text("x" * 100_000)[:70_000]))
    opened.peer.do(opened.peer.connection.cut)
    opened.events.wait(lambda log: log.losses)
    assert box.arrivals == []


def test_settled_deliveries_are_passed_on(opened: Opened) -> None:
    subscription, box = subscribe(opened.link.channel(False), QUEUE, 5)
    link = link_of(opened)
    opened.peer.do(lambda: link.deliver_settled(text("1"), text("2")))
    box.wait(2)
    settle(subscription, box.tokens, Outcome.ACCEPTED)
    assert box.bodies == ["1", "2"]


# -- drains


def test_a_drain_that_is_answered_late(opened: Opened) -> None:
    opened.script.drains = False
    subscription, box = subscribe(opened.link.channel(False), QUEUE, 5)
    answer = Answer()
    subscription.drain(answer)
    link: PeerLink = opened.records.wait_event("drain")
    opened.peer.do(lambda: link.deliver(text("late")))
    box.wait(1)
    assert not answer.is_answered(0.2)
    opened.peer.do(link.answer_drain)
    answer.wait()
    opened.script.drains = True
    subscription.grant(3)
    opened.peer.put("q", text("after"))
    box.wait(2)


def test_a_drain_waits_for_the_rest_of_a_message(opened: Opened) -> None:
    """Even if the broker has used up the credit: nothing may arrive after the answer."""
    subscription, box = subscribe(opened.link.channel(False), QUEUE, 1)
    link = link_of(opened)
    whole = text("x" * 100_000)
    opened.peer.do(lambda: link.begin(whole[:70_000]))
    answer = Answer()
    subscription.drain(answer)
    is_early = answer.is_answered(0.5)
    opened.peer.do(lambda: link.finish(whole[70_000:]))
    answer.wait()
    assert not is_early
    assert len(box.arrivals) == 1


@pytest.mark.usefixtures("impatient")
def test_a_drain_that_is_never_answered_ends_the_link(opened: Opened) -> None:
    opened.script.drains = False
    subscription, _ = subscribe(opened.link.channel(False), QUEUE, 5)
    answer = Answer()
    subscription.drain(answer)
    assert isinstance(answer.outcome(), LinkLost)
    opened.events.wait(lambda log: log.losses)


def test_drains_in_a_row(opened: Opened) -> None:
    subscription, box = subscribe(opened.link.channel(False), QUEUE)
    for number in range(50):
        subscription.grant(2)
        if number % 3 == 0:
            opened.peer.put("q", text(str(number)))
        drain(subscription)
    assert box.bodies == [str(number) for number in range(0, 50, 3)]


# -- dispositions


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        (Outcome.ACCEPTED, ACCEPTED),
        (Outcome.RELEASED, RELEASED),
        (Outcome.FAILED, MODIFIED),
        (Outcome.REQUEUED, MODIFIED),
    ],
)
def test_outcomes_on_the_wire(opened: Opened, outcome: Outcome, state: int) -> None:
    subscription, box = subscribe(opened.link.channel(False), QUEUE, 5)
    opened.peer.put("q", text("1"), text("2"), text("3"))
    box.wait(3)
    settle(subscription, [box.tokens[1]], outcome)
    (settled,) = opened.records.wait_settled(1)
    assert (settled.data, settled.state, settled.settled) == (text("2"), state, True)
    assert settled.failed == (state == MODIFIED)
    assert not settled.undeliverable


def test_what_is_settled_twice_keeps_its_first_outcome(opened: Opened) -> None:
    subscription, box = subscribe(opened.link.channel(False), QUEUE, 5)
    opened.peer.put("q", text("1"))
    box.wait(1)
    settle(subscription, box.tokens, Outcome.ACCEPTED)
    settle(subscription, box.tokens, Outcome.RELEASED)
    opened.peer.put("q", text("2"))
    box.wait(2)
    settle(subscription, box.tokens[1:], Outcome.ACCEPTED)
    assert [settled.state for settled in opened.records.wait_settled(2)] == [ACCEPTED, ACCEPTED]


# -- ends


def test_a_link_that_the_broker_ends_ends_the_channel(opened: Opened) -> None:
    channel = opened.link.channel(False)
    subscription, box = subscribe(channel, QUEUE, 5)
    opened.peer.put("q", text("1"))
    box.wait(1)
    link = link_of(opened)
    opened.peer.do(lambda: link.close(Condition("amqp:internal-error", "a bug there")))
    opened.events.wait(lambda log: log.channels)
    assert "a bug there" in str(opened.events.channels[0][1])
    answer = Answer()
    subscription.settle(box.tokens, Outcome.ACCEPTED, answer)
    assert isinstance(answer.outcome(), ChannelLost)
    drained = Answer()
    subscription.drain(drained)
    assert isinstance(drained.outcome(), ChannelLost)
    send(opened.link.channel(False), envelope(QUEUE))
    assert opened.events.losses == []


@pytest.mark.parametrize("condition", ["amqp:resource-deleted", "amqp:not-found"])
def test_a_deleted_queue_ends_the_subscription_alone(opened: Opened, condition: str) -> None:
    channel = opened.link.channel(False)
    subscription, _ = subscribe(channel, QUEUE, 5)
    _, other = subscribe(channel, Address("other"), 5)
    link = link_of(opened)
    opened.peer.do(lambda: link.close(Condition(condition, "deleted")))
    opened.events.wait(lambda log: log.subscriptions)
    assert [each for each, _ in opened.events.subscriptions] == [subscription]
    opened.peer.put("other", text("1"))
    other.wait(1)
    send(channel, envelope(QUEUE))
    assert (opened.events.losses, opened.events.channels) == ([], [])


def test_a_drain_under_way_is_answered_when_the_link_ends(opened: Opened) -> None:
    opened.script.drains = False
    subscription, _ = subscribe(opened.link.channel(False), QUEUE, 5)
    answer = Answer()
    subscription.drain(answer)
    link: PeerLink = opened.records.wait_event("drain")
    opened.peer.do(lambda: link.close(Condition("amqp:resource-deleted")))
    assert isinstance(answer.outcome(), BackendError)


def test_a_session_that_the_broker_ends(opened: Opened) -> None:
    channel, other = opened.link.channel(False), opened.link.channel(False)
    _, box = subscribe(channel, QUEUE, 5)
    _, others = subscribe(other, Address("other"), 5)
    link = link_of(opened)
    opened.peer.do(lambda: link.end_session(Condition("amqp:session:window-violation")))
    opened.events.wait(lambda log: log.channels)
    assert [each for each, _ in opened.events.channels] == [channel]
    opened.peer.put("other", text("1"))
    others.wait(1)
    assert box.arrivals == []


def test_closing_returns_what_was_not_settled(opened: Opened) -> None:
    channel = opened.link.channel(False)
    _, box = subscribe(channel, QUEUE, 5)
    opened.peer.put("q", text("1"), text("2"))
    box.wait(2)
    channel.close()
    assert {settled.state for settled in opened.records.wait_settled(2)} <= {RELEASED, MODIFIED}


@pytest.mark.parametrize("field", ["answers_detach", "answers_end"])
def test_closing_a_consumer_ends_without_the_answer(open_link: Open, field: str) -> None:
    opened = open_link({field: False}, close_timeout=0.5)
    subscription, _ = subscribe(opened.link.channel(False), QUEUE, 5)
    began = time.monotonic()
    subscription.close()
    opened.link.close()
    assert time.monotonic() - began < 10


def test_closing_a_link_ends_without_the_answer(open_link: Open) -> None:
    opened = open_link({"answers_close": False}, close_timeout=0.5)
    subscribe(opened.link.channel(False), QUEUE, 5)
    opened.link.close()
    assert opened.events.losses == []


# -- subscriptions


def test_unsubscribing(open_link: Open) -> None:
    opened = open_link(client_id="c")
    opened.link.unsubscribe("s", None)
    assert opened.records.wait_event("link close") == "s"


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (Condition("amqp:not-found"), SubscriptionUnknown),
        (Condition("amqp:internal-error"), SubscriptionRefused),
        (Condition("amqp:resource-locked"), SubscriptionRefused),
        (Condition("amqp:unauthorized-access"), AccessDenied),
        ("end session", NotSupported),
    ],
)
def test_unsubscribing_refused(open_link: Open, answer: Any, error: type[BackendError]) -> None:
    opened = open_link(client_id="c")
    opened.script.attach = lambda link: answer
    channel = opened.link.channel(False)
    with pytest.raises(error, match="'s'") as told:
        opened.link.unsubscribe("s", None)
    assert ("commit or roll back what it received" in str(told.value)) == (error is SubscriptionRefused)
    opened.script.attach = lambda link: "attach"
    send(channel, envelope(QUEUE))
    opened.link.unsubscribe("s", None)


def test_a_durable_subscription_is_detached_and_not_closed(open_link: Open) -> None:
    opened = open_link({"attach": unshared}, client_id="c")
    subscription, _ = subscribe(opened.link.channel(False), TOPIC, 5, key="s", durable=True)
    subscription.close()
    assert opened.records.of("link detach") == ["s"]
    assert "s" not in opened.records.of("link close")


@pytest.mark.parametrize("shared", [False, True])
def test_a_probe_that_is_refused_for_another_reason_says_nothing_of_sharing(open_link: Open, shared: bool) -> None:
    def limited(link: PeerLink) -> Attached:
        return Condition("amqp:resource-limit-exceeded", "full") if link.name.endswith("|probe") else "attach"

    opened = open_link({"attach": limited}, client_id="c")
    channel = opened.link.channel(False)
    with pytest.raises(BackendError, match="full") as caught:
        subscribe(channel, TOPIC, 5, key="s", durable=True, shared=shared)
    assert not isinstance(caught.value, SubscriptionRefused)
    opened.script.attach = unshared if not shared else lambda link: "attach"
    subscribe(channel, TOPIC, 5, key="s", durable=True, shared=shared)


def test_a_selector_that_the_broker_does_not_put_in_force(open_link: Open) -> None:
    """What the answer lacks is not in force; an empty filter must not pass for the one asked for."""
    opened = open_link({"echoes_filters": False})
    with pytest.raises((SelectorRefused, NotSupported)):
        subscribe(opened.link.channel(False), QUEUE, 5, selector="a = 1")

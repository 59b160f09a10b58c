"""Contract: credit, order, drain and close of a subscription on a queue; browsing and queue selectors."""

from jmsbridge.spi.backend import Channel, Subscription
from jmsbridge.spi.envelope import Arrival, Interest, Mode, Outcome
from jmsbridge.spi.native import Native
from jmsbridge.testing.harness import Harness
from jmsbridge.testing.marks import level, promise, requires
from jmsbridge.testing.suite.contract.support import (
    Answer,
    Box,
    drain,
    envelope,
    fetch,
    hold,
    peek,
    send,
    send_texts_to,
    settle,
    subscribe,
)
from jmsbridge.testing.suite.support import eventually

NUMBERS = tuple(str(number) for number in range(20))


@level("contract")
@promise(3)
@requires(Native.CREDIT)
def test_contract_receive_starts_without_credit(harness: Harness) -> None:
    address = harness.address()
    link = harness.open_link()
    subscription, box = subscribe(link.channel(False), address)
    send_texts_to(link, address, "a", "b")
    drain(subscription)
    assert box.arrivals == []


@level("contract")
@promise(3)
@requires(Native.CREDIT)
def test_contract_receive_credit_adds_up(harness: Harness) -> None:
    address = harness.address()
    link = harness.open_link()
    send_texts_to(link, address, *NUMBERS)
    subscription, box = subscribe(link.channel(False), address, 2)
    subscription.grant(3)
    box.wait(5)
    drain(subscription)
    assert box.bodies == list(NUMBERS[:5])
    subscription.grant(1)
    box.wait(6)
    drain(subscription)
    assert box.bodies == list(NUMBERS[:6])


@level("contract")
@promise(3)
@requires(Native.CREDIT)
def test_contract_receive_credit_adds_up_beforehand(harness: Harness) -> None:
    address = harness.address()
    link = harness.open_link()
    subscription, box = subscribe(link.channel(False), address, 2)
    subscription.grant(3)
    send_texts_to(link, address, *NUMBERS)
    box.wait(5)
    drain(subscription)
    assert box.bodies == list(NUMBERS[:5])


@level("contract")
@promise(3)
def test_contract_receive_keeps_order(harness: Harness) -> None:
    address = harness.address()
    link = harness.open_link()
    _, box = subscribe(link.channel(False), address, 300, window=300)
    texts = [str(number) for number in range(300)]
    send_texts_to(link, address, *texts)
    assert [arrival.envelope.body for arrival in box.wait(300)] == texts


@level("contract")
@promise(3)
def test_contract_receive_more_than_the_window(harness: Harness) -> None:
    """Messages beyond the window arrive, as long as earlier ones are settled and credit is granted."""
    address = harness.address()
    link = harness.open_link()
    send_texts_to(link, address, *NUMBERS)
    subscription, box = subscribe(link.channel(False), address, 5, window=5, deferred=True)
    for count in range(5, 21, 5):
        box.wait(count)
        settle(subscription, box.tokens[count - 5 : count], Outcome.ACCEPTED)
        subscription.grant(5)
    drain(subscription)
    assert box.bodies == list(NUMBERS)


@level("contract")
@promise(Interest)
def test_contract_receive_deferred_beyond_the_window(harness: Harness) -> None:
    """With ``deferred``, unsettled messages do not stop arrivals that the credit allows."""
    address = harness.address()
    link = harness.open_link()
    texts = [str(number) for number in range(40)]
    send_texts_to(link, address, *texts)
    subscription, box = subscribe(link.channel(False), address, 10, window=10, deferred=True)
    for count in (10, 20, 30):
        box.wait(count)
        subscription.grant(10)
    assert [arrival.envelope.body for arrival in box.wait(40)] == texts
    drain(subscription)
    settle(subscription, box.tokens, Outcome.ACCEPTED)
    subscription.close()
    assert peek(link, address) == []


@level("contract")
@promise(Interest)
def test_contract_receive_window_of_the_backends_choice(harness: Harness) -> None:
    """With a window of 0 the backend uses a small one: messages arrive, but some stay for other consumers."""
    address = harness.address()
    link = harness.open_link()
    texts = [str(number) for number in range(1500)]
    send_texts_to(link, address, *texts)
    subscription, box = subscribe(link.channel(False), address, 1, window=0)
    for count in range(1, 6):
        box.wait(count)
        settle(subscription, box.tokens[count - 1 : count], Outcome.ACCEPTED)
        subscription.grant(1)
    _, other = subscribe(harness.open_link().channel(False), address, 1)
    assert int(other.wait(1)[0].envelope.body) < 1000
    assert box.bodies[:5] == texts[:5]


@level("contract")
@promise(Channel.subscribe)
def test_contract_receive_without_credit_keeps_nothing_from_others(harness: Harness) -> None:
    address = harness.address()
    link = harness.open_link()
    subscribe(link.channel(False), address)
    send_texts_to(link, address, *NUMBERS)
    assert fetch(harness.open_link(), address, len(NUMBERS)) == list(NUMBERS)


@level("contract")
@promise(Arrival)
def test_contract_receive_first_delivery_is_unflagged(harness: Harness) -> None:
    address = harness.address()
    link = harness.open_link()
    send_texts_to(link, address, "a")
    _, box = subscribe(link.channel(False), address, 1)
    arrival = box.wait(1)[0]
    assert (arrival.redelivered, arrival.delivery_count) == (False, 1)


@level("contract")
@requires(Native.DRAIN)
def test_contract_receive_drain_brings_what_is_there(harness: Harness) -> None:
    address = harness.address()
    link = harness.open_link()
    send_texts_to(link, address, *NUMBERS)
    subscription, box = subscribe(link.channel(False), address, 100)
    drain(subscription)
    assert box.bodies == list(NUMBERS)


@level("contract")
@requires(Native.DRAIN)
def test_contract_receive_drain_of_a_full_window(harness: Harness) -> None:
    """Settled messages make room in the window; a drain brings the next message before its answer."""
    address = harness.address()
    link = harness.open_link()
    send_texts_to(link, address, *NUMBERS)
    subscription, box = subscribe(link.channel(False), address, window=1)
    for number in range(20):
        subscription.grant(1)
        drain(subscription)
        assert box.bodies[number:] == [NUMBERS[number]]
        settle(subscription, box.tokens[number:], Outcome.ACCEPTED)


@level("contract")
@promise(Subscription.drain)
def test_contract_receive_drain_of_an_empty_queue(harness: Harness) -> None:
    link = harness.open_link()
    subscription, box = subscribe(link.channel(False), harness.address(), 10)
    drain(subscription)
    drain(subscription)
    assert box.arrivals == []


@level("contract")
@promise(4)
@requires(Native.DRAIN | Native.CREDIT)
def test_contract_receive_drain_ends_the_credit(harness: Harness) -> None:
    address = harness.address()
    link = harness.open_link()
    subscription, box = subscribe(link.channel(False), address, 10)
    drain(subscription)
    send_texts_to(link, address, "after")
    drain(subscription)
    assert box.arrivals == []
    subscription.grant(1)
    assert box.wait(1)[0].envelope.body == "after"


class _Count(Answer):
    """A ticket that records how many messages had arrived when it was answered."""

    def __init__(self, box: Box) -> None:
        super().__init__()
        self._box = box
        self.arrived = -1

    def succeed(self) -> None:
        """The broker did it."""
        self.arrived = len(self._box.arrivals)
        super().succeed()


@level("contract")
@promise(4)
def test_contract_receive_drain_waits_for_what_is_on_its_way(harness: Harness) -> None:
    """A drain is answered after the last arrival, also if a fetch was in progress when it was called."""
    address = harness.address()
    link = harness.open_link()
    send_texts_to(link, address, *NUMBERS)
    subscription, box = subscribe(link.channel(False), address, window=1)
    late: list[tuple[int, int]] = []
    for _ in range(10):
        subscription.grant(1)
        count = _Count(box)
        subscription.drain(count)
        count.wait()
        send_texts_to(link, address, "more")  # a round trip, so that a late arrival would be seen
        if count.arrived != len(box.arrivals):
            late.append((count.arrived, len(box.arrivals)))
        settle(subscription, box.tokens[-1:], Outcome.ACCEPTED)
    assert late == []


@level("contract")
@promise(4)
def test_contract_receive_close_ends_delivery(harness: Harness) -> None:
    address = harness.address()
    link = harness.open_link()
    subscription, box = subscribe(link.channel(False), address, 10)
    drain(subscription)
    subscription.close()
    send_texts_to(link, address, "a", "b")
    assert fetch(link, address, 2) == ["a", "b"]
    assert box.arrivals == []


@level("contract")
@promise(Subscription.close)
def test_contract_receive_close_is_idempotent(harness: Harness) -> None:
    link = harness.open_link()
    channel = link.channel(False)
    subscription, box = subscribe(channel, harness.address(), 1)
    drain(subscription)
    subscription.close()
    subscription.close()
    channel.close()
    channel.close()
    assert box.arrivals == []


@level("contract")
@promise(9)
def test_contract_receive_each_message_goes_to_one_consumer(harness: Harness) -> None:
    address = harness.address()
    first, second = harness.open_link(), harness.open_link()
    _, one = subscribe(first.channel(False), address, 100)
    _, two = subscribe(second.channel(False), address, 100)
    send_texts_to(first, address, *NUMBERS)
    eventually(lambda: len(one.arrivals) + len(two.arrivals) >= len(NUMBERS))
    assert sorted(one.bodies + two.bodies, key=int) == list(NUMBERS)


@level("contract")
@requires(Native.BROWSE)
def test_contract_receive_browsing_takes_nothing(harness: Harness) -> None:
    address = harness.address()
    link = harness.open_link()
    send_texts_to(link, address, *NUMBERS)
    for _ in range(2):
        subscription, box = subscribe(link.channel(False), address, 100, mode=Mode.BROWSE)
        drain(subscription)
        subscription.close()
        assert box.bodies == list(NUMBERS)
    assert fetch(link, address, 20) == list(NUMBERS)


@level("contract")
@requires(Native.QUEUE_SELECTORS)
def test_contract_receive_queue_selector_leaves_the_rest(harness: Harness) -> None:
    address = harness.address()
    link = harness.open_link()
    send(link.channel(False), *(envelope(address, text, properties={"n": int(text)}) for text in NUMBERS))
    assert fetch(link, address, 5, selector="n >= 15") == list(NUMBERS[15:])
    assert peek(link, address, 100, selector="n >= 15") == []
    assert fetch(link, address, 15) == list(NUMBERS[:15])


@level("contract")
@requires(Native.GROUPS)
def test_contract_receive_groups_stay_together(harness: Harness) -> None:
    address = harness.address()
    link = harness.open_link()
    _, one = subscribe(link.channel(False), address, 100)
    _, two = subscribe(link.channel(False), address, 100)
    grouped = [envelope(address, f"{n}", properties={"JMSXGroupID": "aabb"[n % 4]}) for n in range(20)]
    send(link.channel(False), *grouped)
    eventually(lambda: len(one.arrivals) + len(two.arrivals) >= 20)
    groups = [{arrival.envelope.properties["JMSXGroupID"] for arrival in box.arrivals} for box in (one, two)]
    assert not groups[0] & groups[1]


@level("contract")
@promise(Interest)
def test_contract_receive_presettled(harness: Harness) -> None:
    address = harness.address()
    link = harness.open_link()
    send_texts_to(link, address, "a", "b")
    channel = link.channel(False)
    subscription, _ = hold(channel, address, 2, presettled=True)
    subscription.close()
    channel.close()
    assert peek(link, address) == []


@level("contract")
@promise(Interest)
def test_contract_receive_presettled_loses_nothing_beyond_credit(harness: Harness) -> None:
    """Messages that had not arrived when the link was lost are delivered again."""
    address = harness.address()
    send_texts_to(harness.open_link(), address, *NUMBERS)
    _, box = subscribe(harness.open_link().channel(False), address, 5, presettled=True)
    box.wait(5)
    harness.cut()
    left = peek(harness.open_link(), address, 100)
    assert sorted({*box.bodies, *left}, key=int) == list(NUMBERS)
    assert len(box.arrivals) == 5 or Native.CREDIT not in harness.native

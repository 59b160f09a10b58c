"""One consumer on a broker that answers when the test says so: order, fetches, windows, acknowledgements, closing."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from jmsbridge.spi import Address, BackendError, Interest, Native, Outcome
from jmsbridge.testing.suite.contract.support import Answer, Box
from jmsbridge_rabbitmq import RabbitOptions
from jmsbridge_rabbitmq.consuming.consumer_channel import _AHEAD, _MANY, _OVERTAKING, _PATIENCE, ConsumerChannel
from jmsbridge_rabbitmq.consuming.sources import Source
from jmsbridge_rabbitmq.consuming.subscription import LinkFacts, Subscription
from jmsbridge_rabbitmq.protocol.frames import Content
from tests.rabbitmq.consuming.wire import Wire, pair_over


class World:
    """A flow with a consumer of window 2."""

    def __init__(self, kind: str = "classic") -> None:
        self.wire = Wire()
        self.arrived: list[Content] = []
        self.ends: list[BackendError] = []
        pair = pair_over(self.wire)
        sources: Any = SimpleNamespace(forget=lambda _: None)
        self.flow = ConsumerChannel(
            pair, sources, Source("q", kind, eager=False), "queue:q", self.arrived.append, self.ends.append
        )
        self.flow.open(None, lambda error: None)
        self.flow.consume(2)
        self.wire.answer("consume")
        self.tag = self.flow._tag or ""

    @property
    def order(self) -> list[int]:
        """The numbers of the messages that were passed on."""
        return [content.delivery_tag for content in self.arrived]


@pytest.fixture
def world() -> World:
    return World()


def test_a_fetched_message_comes_after_pushed_ones(world: World) -> None:
    """The channel writes the answer to a fetch before what the queue had pushed to it."""
    found: list[bool] = []
    world.flow.get(found.append)
    fetched = world.wire.fetched()
    assert world.order == []
    pushed = [world.wire.deliver(world.tag), world.wire.deliver(world.tag)]
    world.wire.answer("fence")
    assert world.order == [*pushed, fetched]
    assert found == [True]


def test_a_fetch_from_behind_a_full_window_is_next(world: World) -> None:
    pushed = [world.wire.deliver(world.tag), world.wire.deliver(world.tag)]
    world.flow.get(lambda found: None)
    fetched = world.wire.fetched()
    assert world.order == [*pushed, fetched]
    assert world.wire.questions == []


def test_an_empty_fetch_comes_after_pushed_messages(world: World) -> None:
    found: list[bool] = []
    world.flow.get(found.append)
    world.wire.answer("get")
    assert found == []
    world.wire.deliver(world.tag)
    world.wire.answer("fence")
    assert found == [False]
    assert world.order == [1]


def quiescence(world: World) -> list[int]:
    """Have a new consumer wait for it; gets the number of messages that have arrived when that ends."""
    world.flow.consume(100)
    world.wire.answer("consume")
    done: list[int] = []
    world.flow.wait_quiescent(lambda: done.append(len(world.order)))
    return done


def test_waiting_for_quiescence_continues_while_messages_arrive(world: World) -> None:
    done = quiescence(world)
    for _ in range(3):
        world.wire.deliver(world.flow._tag or "")
        world.wire.answer("fence")
        assert done == []
    world.wire.answer("fence")
    assert done == [3]


def test_waiting_for_quiescence_continues_while_the_queue_has_messages_to_push(world: World) -> None:
    done = quiescence(world)
    for _ in range(3):
        world.wire.answer("fence", waiting=1)
    world.wire.deliver(world.flow._tag or "")
    world.wire.answer("fence")
    assert done == []
    world.wire.answer("fence")
    assert done == [1]


def test_waiting_for_quiescence_ends_though_messages_wait_for_another_consumer(world: World) -> None:
    done = quiescence(world)
    for _ in range(_PATIENCE):
        world.wire.answer("fence", waiting=5)
        assert done == []
    world.wire.answer("fence", waiting=5)
    assert done == [0]


def test_acknowledgements_wait_while_messages_are_fetched(world: World) -> None:
    world.wire.deliver(world.tag)
    world.flow.holds_acks = True
    world.flow.accept(world.arrived[0])
    world.wire.end_batch()
    assert world.wire.written == [("qos", 2)]
    world.flow.holds_acks = False
    world.flow.write_acks()
    assert world.wire.written[1:] == [("ack", 1, False)]
    assert world.flow.acks_may_be_unseen


def test_a_new_consumer_has_a_new_window(world: World) -> None:
    world.wire.deliver(world.tag)
    world.wire.deliver(world.tag)
    assert world.flow.is_full
    world.flow.renew(3)
    assert not world.flow.is_full
    world.wire.deliver(world.flow._tag or "")
    world.wire.answer("cancel")
    world.wire.answer("consume")
    assert world.order == [1, 2, 3]
    world.flow.accept(world.arrived[0])
    world.flow.write_acks()
    assert not world.flow.is_full


def test_messages_that_arrive_after_the_end_of_a_consumer_are_requeued(world: World) -> None:
    world.flow.cancel(lambda: None)
    world.wire.deliver(world.tag)
    world.wire.answer("cancel")
    assert world.order == [1]
    world.wire.deliver(world.tag)
    assert world.order == [1]
    assert world.wire.written[-1] == ("nack", 2, False)


def test_messages_on_their_way_to_a_renewed_consumer_are_delivered(world: World) -> None:
    """They come before the messages of the new consumer, and are not in its window."""
    world.flow.renew(1)
    second = world.flow._tag or ""
    world.flow.renew(2)
    for consumer in (world.tag, world.tag, second):
        world.wire.deliver(consumer)
    for question in ("cancel", "consume", "cancel", "consume"):
        world.wire.answer(question)
    assert world.order == [1, 2, 3]
    assert not [each for each in world.wire.written if each[0] == "nack"]
    world.wire.deliver(world.flow._tag or "")
    assert not world.flow.is_full
    world.wire.deliver(world.flow._tag or "")
    assert world.flow.is_full


def test_the_end_of_one_consumer_is_not_that_of_the_next(world: World) -> None:
    ended: list[str] = []
    world.flow.renew(1)
    world.flow.cancel(lambda: ended.append("second"))
    world.wire.answer("cancel")
    world.wire.answer("consume")
    assert not ended
    assert world.flow.is_busy
    world.wire.answer("cancel")
    assert ended == ["second"]
    assert not world.flow.is_busy


def test_messages_are_requeued_to_a_quorum_queue_in_order() -> None:
    world = World("quorum")
    first, _, third = (world.wire.deliver(world.tag) for _ in range(3))
    world.flow.requeue([world.arrived[2]])
    world.flow.requeue([world.arrived[0]])
    assert world.wire.written == [("qos", 2)]
    for timer in world.wire.timers:
        timer()
    assert world.wire.written[1:] == [("nack", first, False), ("nack", third, False)]


@pytest.mark.parametrize("kind", ["classic", "quorum"])
def test_messages_that_come_first_are_requeued_at_once(kind: str) -> None:
    world = World(kind)
    for _ in range(5):
        world.wire.deliver(world.tag)
    world.flow.accept(world.arrived[0])
    world.flow.requeue(world.arrived[1:4])
    for timer in world.wire.timers:
        timer()
    assert world.wire.written[1:] == [("nack", 2, False), ("nack", 3, False), ("nack", 4, False)]
    world.flow.write_acks()
    world.flow.requeue(world.arrived[4:])
    for timer in world.wire.timers:
        timer()
    assert world.wire.written[4:] == [("ack", 1, False), ("nack", 5, False)]
    again = [world.wire.deliver(world.tag) for _ in range(3)]
    world.flow.requeue(world.arrived[5:])
    for timer in world.wire.timers:
        timer()
    assert world.wire.written[6:] == [("nack", again[-1], True)]


@pytest.mark.parametrize(
    ("kind", "count", "transacted"), [("classic", _MANY, True), ("classic", _MANY - 1, False), ("quorum", _MANY, False)]
)
def test_a_classic_queue_gets_many_settlements_that_cannot_be_joined_as_one(
    kind: str, count: int, transacted: bool
) -> None:
    """It searches what is unsettled with each step: 10,000 steps took 18 seconds."""
    world = World(kind)
    for _ in range(count + 3):
        world.wire.deliver(world.tag)
    world.flow.requeue(world.arrived[2:-1])
    for timer in world.wire.timers:
        timer()
    nacks = [("nack", tag, False) for tag in range(3, count + 3)]
    assert world.wire.written[1:] == ([("begin",), *nacks, ("commit",)] if transacted else nacks)
    world.wire.written.clear()
    world.flow.accept(world.arrived[1])
    world.flow.close(lambda: None)
    commit = [("commit",)] if transacted else []
    requeued = [("nack", 0, True)] if kind == "quorum" else []
    assert world.wire.written == [("ack", 2, False), *commit, *requeued]


def test_a_consumer_that_does_not_start_is_ended(world: World) -> None:
    world.flow.renew(1)
    world.wire.bytes_received += 8  # a heart-beat: the broker works
    for timer in list(world.wire.timers):
        timer()
    assert [type(error) for error in world.ends] == [BackendError]
    assert "did not start" in str(world.ends[0])
    assert not world.wire.is_open  # otherwise it would still take messages


def test_a_consumer_does_not_end_while_the_broker_is_silent_altogether(world: World) -> None:
    """The network may stand still for 20 s: if it goes on, the consumer starts, and if not, the heart-beat notices."""
    world.flow.renew(1)
    for _ in range(3):
        assert len(world.wire.timers) == 1
        world.wire.timers.pop()()
    assert world.ends == []
    world.wire.answer("cancel")
    world.wire.answer("consume")
    assert world.wire.timers == []


@pytest.mark.parametrize(("kind", "count", "asked"), [("quorum", 1, []), ("quorum", 2, ["get"]), ("classic", 2, [])])
def test_a_queue_has_what_was_accepted_of_many_fetched_messages_when_the_channel_leaves(
    kind: str, count: int, asked: list[str]
) -> None:
    world, left = World(kind), []
    world.flow.cancel(lambda: None)
    world.wire.answer("cancel")
    for _ in range(_AHEAD * count):
        world.flow.get(lambda found: None)
        world.wire.fetched()
    for content in world.arrived:
        world.flow.accept(content)
    world.flow.leave(lambda: left.append(world.wire.written[-1]))
    assert [question for question, _ in world.wire.questions] == asked
    for question in asked:
        world.wire.answer(question)
    assert left == [("ack", _AHEAD * count, True)]


def test_the_answer_of_a_quorum_queue_may_overtake_messages() -> None:
    world = World("quorum")
    done = quiescence(world)
    for _ in range(_OVERTAKING):
        world.wire.answer("fence")
    world.wire.deliver(world.flow._tag or "")
    world.wire.answer("fence")
    assert done == []
    world.wire.answer("fence")
    assert done == [1]


def test_answers_during_the_close_are_ignored(world: World) -> None:
    told: list[Any] = []
    world.flow.get(told.append)
    world.flow.wait_quiescent(lambda: told.append("calm"))
    world.flow.close(lambda: told.append("closed"))
    world.wire.answer("get")
    world.wire.answer("fence")
    world.wire.deliver(world.tag)
    assert told == []
    world.wire.on_close(world.wire, None)
    assert told == ["closed"]
    assert world.order == []


# -- a subscription, which holds messages beyond the credit


class Held(World):
    """A subscription of window 3 that was granted one message, and was sent three."""

    def __init__(self, kind: str = "classic") -> None:
        self.wire = Wire()
        self.ends: list[Any] = []
        self.left: list[Source] = []
        pair = pair_over(
            self.wire,
            check=lambda: None,
            wait_closing=lambda start, what: start(lambda *result: self.ends.append(result)),
        )
        sources: Any = SimpleNamespace(leave=self._leave)
        events: Any = None
        facts = LinkFacts(Native.NONE, RabbitOptions(), "", events, lambda _: None)
        source = Source("q", kind, eager=False)
        self.box = Box()
        self.subscription = Subscription(
            pair, sources, events, facts, Interest(address=Address("q"), window=3), self.box, source, lambda error: None
        )
        self.subscription.open(lambda error: None)
        self.subscription.grant(1)
        self.wire.answer("consume")
        self.tag = self.subscription._channel._tag or ""
        for _ in range(3):
            self.wire.deliver(self.tag)

    def _leave(self, source: Source, done: Callable[..., None]) -> None:
        self.left.append(source)
        done(None, None)

    @property
    def order(self) -> list[int]:
        """The numbers of the messages that were delivered."""
        return [token.delivery_tag for token in self.box.tokens]

    @property
    def asked(self) -> list[str]:
        """The requests without an answer."""
        return [question for question, _ in self.wire.questions]


def test_requeued_messages_are_followed_by_held_ones_in_order() -> None:
    world = Held()
    world.subscription.settle(world.box.tokens, Outcome.FAILED)
    assert world.asked == ["cancel"]
    assert world.wire.written[1:] == [("nack", 1, False), ("nack", 3, True)]
    late = world.wire.deliver(world.tag)
    world.wire.answer("cancel")
    assert world.wire.written[-1] == ("nack", late, False)


def test_a_drain_waits_for_what_is_on_its_way_to_a_consumer_that_ends() -> None:
    world, answer = Held(), Answer()
    world.subscription.settle(world.box.tokens, Outcome.FAILED)
    world.subscription.grant(2)
    world.subscription.drain(answer)
    late = world.wire.deliver(world.tag)
    world.wire.answer("cancel")
    world.wire.answer("fence")
    fetched = world.wire.fetched()
    assert world.order == [1, late, fetched]
    answer.wait()
    assert world.asked == []


def test_a_retired_subscription_ends_and_requeues_held_messages() -> None:
    world = Held()
    world.subscription.drain(Answer())
    world.subscription.retire()
    assert world.asked == ["fence"]
    world.wire.answer("fence")
    assert world.asked == ["cancel"]
    assert (world.ends, world.left) == ([], [])
    world.wire.answer("cancel")
    assert world.wire.written[1:] == [("nack", 2, False), ("nack", 3, False)]
    assert len(world.ends) == len(world.left) == 1
    world.subscription.settle(world.box.tokens, Outcome.ACCEPTED)
    for task in world.wire.at_end:
        task()
    assert world.wire.written[-1] == ("ack", 1, False)


def test_all_messages_return_to_a_quorum_queue_together_when_their_consumer_has_ended() -> None:
    """Before, they would come to it again at once."""
    world = Held("quorum")
    world.subscription.close()
    assert world.asked == ["cancel"]
    world.wire.deliver(world.tag)
    assert world.wire.written[1:] == []
    world.wire.answer("cancel")
    assert world.wire.written[1:] == [("nack", 0, True)]
    assert not world.wire.is_open


def test_a_drained_subscription_still_gets_pushed_messages() -> None:
    """The drain may belong to a consumer that polls, or to a stopped connection: only the facade knows."""
    world = Held()
    world.subscription.drain(Answer())
    world.wire.answer("fence")
    assert world.asked == []
    world.subscription.grant(1)
    assert world.order == [1, 2]

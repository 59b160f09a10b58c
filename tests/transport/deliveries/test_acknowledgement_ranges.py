"""Settlements are joined, and never reach a message that was not settled in the same way."""

from hypothesis import given
from hypothesis import strategies as st

from jmsbridge.transport.deliveries.acknowledgement_ranges import AcknowledgementRanges


class Broker:
    """The broker's set of unsettled messages."""

    def __init__(self) -> None:
        self.held: set[int] = set()

    def settle(self, tag: int, multiple: bool) -> set[int]:
        assert tag in self.held
        settled = {each for each in self.held if each <= tag} if multiple else {tag}
        self.held -= settled
        return settled


def settled_by(broker: Broker, settlements: list[tuple[int, bool]]) -> set[int]:
    return {each for tag, multiple in settlements for each in broker.settle(tag, multiple)}


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("arrive"), st.integers(1, 300)),
        st.tuples(st.just("accept"), st.integers(0, 10_000)),
        st.tuples(st.just("accept first"), st.integers(1, 200)),
        st.tuples(st.just("requeue"), st.integers(0, 10_000)),
        st.tuples(st.just("requeue first"), st.integers(1, 200)),
        st.tuples(st.just("take"), st.just(0)),
    ),
    max_size=60,
)


@given(STEPS)
def test_exactly_the_accepted_are_acknowledged_and_the_others_requeued(steps: list[tuple[str, int]]) -> None:
    tags, broker = AcknowledgementRanges(), Broker()
    last = 0
    unsettled: list[int] = []
    accepted: set[int] = set()
    for what, number in steps:
        if what == "arrive":
            for _ in range(number):
                last += 1
                tags.arrived(last)
                broker.held.add(last)
                unsettled.append(last)
        elif what == "accept first":
            for tag in unsettled[:number]:
                assert tags.accept(tag)
                accepted.add(tag)
            del unsettled[:number]
        elif what in ("accept", "requeue") and unsettled:
            tag = unsettled.pop(number % len(unsettled))
            if what == "accept":
                assert tags.accept(tag)
                accepted.add(tag)
            else:
                assert settled_by(broker, tags.requeue([tag])) == {tag}
        elif what == "requeue first":
            assert settled_by(broker, tags.requeue(unsettled[:number])) == set(unsettled[:number])
            del unsettled[:number]
        elif what == "take":
            assert settled_by(broker, tags.take()) == accepted
            accepted.clear()
        assert len(tags) == len(unsettled)


def test_a_run_from_the_start_is_one_acknowledgement() -> None:
    tags = AcknowledgementRanges()
    for tag in range(1, 101):
        tags.arrived(tag)
    for tag in range(1, 51):
        tags.accept(tag)
    assert tags.take() == [(50, True)]
    assert tags.take() == []


def test_unsettled_messages_in_between_are_not_acknowledged() -> None:
    tags = AcknowledgementRanges()
    for tag in range(1, 6):
        tags.arrived(tag)
    for tag in (1, 2, 4):
        tags.accept(tag)
    assert tags.take() == [(2, True), (4, False)]
    tags.accept(3)
    assert tags.take() == [(3, False)]


def test_a_run_from_the_start_is_requeued_at_once() -> None:
    tags = AcknowledgementRanges()
    for tag in range(1, 101):
        tags.arrived(tag)
    assert tags.requeue(range(50, 0, -1)) == [(50, True)]
    tags.accept(52)
    assert tags.requeue([51, 53]) == [(51, False), (53, False)]
    assert tags.take() == [(52, False)]


def test_a_second_settlement_and_an_unknown_tag_have_no_effect() -> None:
    tags = AcknowledgementRanges()
    tags.arrived(1)
    assert tags.accept(1)
    assert not tags.accept(1)
    assert tags.requeue([1, 7]) == []
    assert not tags.accept(7)
    assert tags.take() == [(1, False)]

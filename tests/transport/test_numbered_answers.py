"""Which publishes are answered, compared with a model, in every order in which a broker may answer."""

import weakref

from hypothesis import given
from hypothesis import strategies as st

from jmsbridge.transport.numbered_answers import NumberedAnswers

Step = tuple[str, int, bool]
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("send"), st.integers(1, 400), st.just(False)),
        st.tuples(st.just("answer"), st.integers(0, 1600), st.booleans()),
    ),
    max_size=60,
)


@given(STEPS)
def test_answers_settle_what_a_model_says(steps: list[Step]) -> None:
    confirms: NumberedAnswers[int] = NumberedAnswers()
    model: dict[int, int] = {}
    sent = 0
    for what, number, multiple in steps:
        if what == "send":
            for _ in range(number):
                sent += 1
                model[sent] = -sent
                assert confirms.sent(-sent) == sent
        else:
            numbers = [each for each in model if each <= number] if multiple else [number]
            expected = [model.pop(each) for each in numbers if each in model]
            if number <= sent:
                assert confirms.answered(number, multiple) == expected
            else:
                assert confirms.answered(number, multiple) == []
                model |= {-entry: entry for entry in expected}
                model = dict(sorted(model.items()))
        assert len(confirms) == len(model)
        assert list(confirms.waiting()) == list(model.values())


def test_answers_out_of_order_as_a_broker_gives_them() -> None:
    confirms: NumberedAnswers[str] = NumberedAnswers()
    for name in "abcde":
        confirms.sent(name)
    assert confirms.answered(2, False) == ["b"]
    assert confirms.answered(4, True) == ["a", "c", "d"]
    assert confirms.answered(4, True) == []
    assert confirms.answered(5, False) == ["e"]
    assert len(confirms) == 0


def test_a_lost_channel_drops_everything_and_counts_from_the_start() -> None:
    confirms: NumberedAnswers[str] = NumberedAnswers()
    confirms.sent("a")
    confirms.sent("b")
    confirms.answered(1, False)
    assert confirms.give_up() == ["b"]
    assert confirms.sent("c") == 1
    assert list(confirms.waiting()) == ["c"]


def test_the_number_of_an_unwritten_publish_is_reused() -> None:
    confirms: NumberedAnswers[str] = NumberedAnswers()
    confirms.sent("a")
    assert confirms.sent("too large") == 2
    confirms.take_back()
    assert list(confirms.waiting()) == ["a"]
    assert confirms.sent("b") == 2
    assert confirms.answered(2, True) == ["a", "b"]
    assert len(confirms) == 0


def test_full_by_open_publishes_or_by_answers_behind_an_open_one() -> None:
    confirms: NumberedAnswers[int] = NumberedAnswers()
    while not confirms.is_full:
        confirms.sent(0)
    assert len(confirms) == 10_000
    confirms.answered(9_999, True)
    assert not confirms.is_full
    while not confirms.is_full:
        confirms.answered(confirms.sent(0), False)
    assert len(confirms) == 1
    confirms.answered(10_000, False)
    assert not confirms.is_full


def test_answered_entries_are_not_referenced() -> None:
    class Entry:
        """An object that can be weakly referenced."""

    confirms: NumberedAnswers[Entry] = NumberedAnswers()
    entries = [Entry() for _ in range(50)]
    watched = [weakref.ref(each) for each in entries]
    for each in entries:
        confirms.sent(each)
    del entries, each
    confirms.answered(49, True)
    gone = [each() is None for each in watched]
    assert gone == [True] * 49 + [False]
    confirms.answered(50, False)
    assert watched[-1]() is None

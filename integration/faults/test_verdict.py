"""The verdict of the fault run on forged ledgers: it finds each broken promise, and no others."""

from collections.abc import Sequence

import pytest

from integration.faults.disturbances import draw
from integration.faults.ledger import MARKED, Entry, Step
from integration.faults.verdict import Disturbance, Late, Verdict, judge

HOLDS = 10


def sent(*calls: tuple[int, int, Step], at: float = 0.0) -> list[Entry]:
    """A producer's ledger: messages, calls and outcomes; all calls first, then all outcomes."""
    entries = [Entry(at, Step.SENT, f"p:{message}", call) for message, call, _ in calls]
    return entries + [Entry(at + 0.1, step, f"p:{message}", call) for message, call, step in calls]


def got(call: int, at: float, *, message: int | None = None, done: Step | None = Step.DONE) -> list[Entry]:
    """The entries of a consumer about one message."""
    key = f"p:{call if message is None else message}"
    entries = [Entry(at, Step.GOT, key, call)]
    return entries if done is None else [*entries, Entry(at + 0.01, done, key, call)]


def verdict(producer: Sequence[Entry], *receipts: Sequence[Entry], cuts: Sequence[tuple[float, float]] = ()) -> Verdict:
    """The verdict over one producer and one consumer."""
    consumer = [Entry(0.0, Step.HOLDS, number=HOLDS), *(entry for each in receipts for entry in each)]
    return judge({"p": producer}, {"c": consumer}, [Disturbance("cut", *cut) for cut in cuts])


def many(count: int) -> list[Entry]:
    return sent(*((number, number, Step.CONFIRMED) for number in range(count)))


def test_a_run_without_violations() -> None:
    found = verdict(many(3), got(0, 1), got(1, 2), got(2, 3))
    assert found.ok
    assert (found.messages, found.confirmed, found.received) == (3, 3, 3)


def test_a_confirmed_message_that_nobody_received_is_lost() -> None:
    found = verdict(many(3), got(0, 1), got(2, 3))
    assert found.counts == {"lost": 1}
    assert found.broken == {"lost": ["p:1 call 1"]}


def test_a_message_received_and_rolled_back_only_is_lost() -> None:
    assert verdict(many(1), got(0, 1, done=None)).counts == {"lost": 1}


def test_a_consumer_in_doubt_about_its_commit_may_have_had_it() -> None:
    assert verdict(many(1), got(0, 1, done=Step.MAYBE)).ok


def test_a_message_in_doubt_may_be_lost() -> None:
    found = verdict(sent((0, 0, Step.UNKNOWN), (0, 1, Step.CONFIRMED)), got(1, 1, message=0))
    assert found.ok
    assert found.unknown == 1


def test_a_message_in_doubt_may_come_twice_when_it_was_sent_again() -> None:
    producer = sent((0, 0, Step.UNKNOWN), (0, 1, Step.CONFIRMED))
    found = verdict(producer, got(0, 1), got(1, 2, message=0))
    assert found.ok
    assert found.sent_twice == 1


def test_a_refused_message_must_not_come() -> None:
    producer = sent((0, 0, Step.REFUSED), (0, 1, Step.CONFIRMED))
    found = verdict(producer, got(0, 1), got(1, 2, message=0))
    assert found.counts == {"refused but received": 1}


def test_two_confirmed_calls_of_one_message_are_a_duplicate() -> None:
    producer = sent((0, 0, Step.CONFIRMED), (0, 1, Step.CONFIRMED))
    found = verdict(producer, got(0, 1), got(1, 2, message=0))
    assert found.counts == {"duplicate without doubt": 1}


def test_a_message_that_was_never_sent() -> None:
    assert verdict(many(1), got(0, 1), got(7, 2)).counts == {"from nowhere": 1}


def test_a_duplicate_with_no_cut_at_all() -> None:
    assert verdict(many(1), got(0, 1), got(0, 2)).counts == {"duplicate without doubt": 1}


@pytest.mark.parametrize("cut", [(0.2, 0.5), (7.0, 7.5)], ids=["long before", "afterwards"])
def test_a_cut_at_another_time_explains_no_duplicate(cut: tuple[float, float]) -> None:
    assert verdict(many(1), got(0, 5), got(0, 6), cuts=[cut]).counts == {"duplicate without doubt": 1}


@pytest.mark.parametrize("cut", [(1.5, 1.6), (0.9, 1.0)], ids=["between", "not yet noticed"])
def test_a_cut_explains_a_redelivery(cut: tuple[float, float]) -> None:
    found = verdict(many(1), got(0, 1), got(0, 2), cuts=[cut])
    assert found.ok
    assert found.settled_in_doubt == 1


def test_a_cut_does_not_explain_a_redelivery_long_after_the_settlement() -> None:
    """The consumer got more messages in between than may be unacknowledged, so the broker had the acknowledgement."""
    more = [entry for number in range(1, HOLDS + 1) for entry in got(number, 1 + number / 100)]
    assert verdict(many(HOLDS + 1), got(0, 1), more, got(0, 9), cuts=[(5.0, 5.1)]).counts == {
        "duplicate without doubt": 1
    }
    assert verdict(many(HOLDS + 1), got(0, 1), more, got(1, 9), cuts=[(5.0, 5.1)]).ok


def test_a_requeued_message_may_come_again() -> None:
    assert verdict(many(1), got(0, 1, done=None), got(0, 2)).ok


def test_a_redelivery_without_a_mark_is_counted() -> None:
    entry = Entry(2, Step.GOT, "p:0", 0, MARKED)
    assert verdict(many(1), got(0, 1, done=None), [entry], got(0, 3)).unmarked == 1


def test_callbacks_out_of_order() -> None:
    producer = many(3)
    producer[-1], producer[-2] = producer[-2], producer[-1]
    found = verdict(producer, got(0, 1), got(1, 2), got(2, 3))
    assert found.counts == {"out of order": 1}


def test_a_call_without_an_answer() -> None:
    assert verdict(many(1)[:1]).counts == {"without an answer": 1}


def test_a_call_answered_twice() -> None:
    producer = many(1)
    assert verdict([*producer, producer[-1]], got(0, 1)).counts == {"answered twice": 1}


def test_examples_are_limited_and_counts_are_not() -> None:
    found = verdict(many(100))
    assert found.counts == {"lost": 100}
    assert len(found.broken["lost"]) == 20


def test_a_seed_draws_the_same_disturbances_again() -> None:
    acts = draw(4711, 50, 5)
    assert acts == draw(4711, 50, 5)
    assert acts != draw(4712, 50, 5)
    assert [act.after for act in acts] == sorted(act.after for act in acts)
    assert sum(act.kind == "kill" for act in acts) == 5
    assert len(acts) == 55
    assert [act for act in draw(4711, 50, 5, restarts=25) if act.kind != "restart"] == acts
    assert len(draw(4711, 50, 5, restarts=25)) == 80


def test_a_cut_after_the_close_of_a_connection_explains_nothing() -> None:
    closed = [Entry(2.0, Step.CLOSED)]
    consumers = {"c0": [Entry(0.0, Step.HOLDS, number=HOLDS), *got(0, 1), *closed], "c1": got(0, 4)}
    assert judge({"p": many(1)}, consumers, [Disturbance("cut", 1.5, 1.6)]).settled_in_doubt == 1
    assert judge({"p": many(1)}, consumers, [Disturbance("cut", 3, 3.1)]).counts == {"duplicate without doubt": 1}


LATE = Late(sent=1.0, stored=60.0, remembered=True)


def late(
    *receipts: tuple[str, list[Entry]], cut: Disturbance, closed_at: float | None = None, how: Late = LATE
) -> Verdict:
    """The verdict over one message, and receipts with the names of their consumers; the first may have closed."""
    consumers: dict[str, list[Entry]] = {}
    for name, entries in receipts:
        consumers.setdefault(name, [Entry(0.0, Step.HOLDS)]).extend(entries)
    if closed_at is not None:
        consumers[receipts[0][0]].append(Entry(closed_at, Step.CLOSED))
    return judge({"p": many(1)}, consumers, [cut], how)


def test_a_kill_explains_what_was_acknowledged_before_and_not_stored() -> None:
    kill = Disturbance("kill", 50.0, 55.0)
    found = late(("c0", got(0, 1)), ("c1", got(0, 58)), cut=kill)
    assert (found.counts, found.not_stored, found.unmarked) == ({}, 1, 1)
    assert late(("c0", got(0, 1)), ("c1", got(0, 58)), cut=kill, closed_at=20.0).ok
    at_once = late(("c0", got(0, 1)), ("c1", got(0, 58)), cut=kill, closed_at=20.0, how=Late())
    assert at_once.counts == {"duplicate without doubt": 1}


@pytest.mark.parametrize("kill", [(62.0, 63.0), (0.0, 0.5)], ids=["long afterwards", "before"])
def test_a_kill_at_another_time_explains_no_duplicate(kill: tuple[float, float]) -> None:
    receipts = ("c0", got(0, 1 if kill[0] else 5)), ("c1", got(0, 70))
    assert late(*receipts, cut=Disturbance("kill", *kill)).counts == {"duplicate without doubt": 1}


def test_a_cut_explains_only_acknowledgements_on_their_way() -> None:
    receipts = ("c0", got(0, 1)), ("c1", got(0, 5))
    assert late(*receipts, cut=Disturbance("reset", 1.5, 1.6)).not_stored == 1
    for cut, closed_at in ((2.5, None), (1.5, 1.2)):
        found = late(*receipts, cut=Disturbance("reset", cut, cut + 0.1), closed_at=closed_at)
        assert found.counts == {"duplicate without doubt": 1}


def test_who_has_acknowledged_a_message_gets_it_again_only_with_a_mark() -> None:
    kill = Disturbance("kill", 50.0, 55.0)
    assert late(("c0", got(0, 1)), ("c0", got(0, 58)), cut=kill).counts == {"without a mark": 1}
    soon = Disturbance("reset", 1.005, 1.1)  # before it was settled, which explains it by itself
    assert late(("c0", got(0, 1)), ("c0", got(0, 5)), cut=soon).counts == {"without a mark": 1}
    marked = [Entry(58, Step.GOT, "p:0", 0, MARKED), Entry(58.1, Step.DONE, "p:0", 0)]
    assert late(("c0", got(0, 1)), ("c0", marked), cut=kill).not_stored == 1


def test_without_a_memory_of_the_client_no_mark_is_expected() -> None:
    kill = Disturbance("kill", 50.0, 55.0)
    assert late(("c0", got(0, 1)), ("c0", got(0, 58)), cut=kill, how=Late(stored=60.0)).not_stored == 1

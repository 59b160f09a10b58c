"""Every message of the matrix, written by one language and read by the other: equal in every cell, or listed."""

from collections.abc import Callable, Sequence

import pytest

import jmsbridge
from integration.interop.comparing import unlisted
from integration.interop.describing import Description, describe
from integration.interop.differences import Direction
from integration.interop.matrix import MATRIX, Sample, send
from integration.interop.rows import Row
from integration.interop.way import PATIENCE, Way

Connect = Callable[..., jmsbridge.Connection]
_BEHIND = Sample("what is behind a message that does not arrive", body="behind")


def named(name: str, samples: Sequence[Sample]) -> dict[str, Sample]:
    """A queue for each, so that none waits for another one."""
    return {f"{name}-{number}": sample for number, sample in enumerate(samples)}


def lost(row: Row, direction: Direction) -> set[str]:
    """The names of those that do not arrive."""
    return {loss.sample for loss in row.losses if loss.direction == direction}


def compare(
    row: Row, direction: Direction, sent: Sequence[tuple[Sample, Description]], seen: Sequence[Description]
) -> None:
    """AssertionError with all that differs and is not listed, and with what is listed and does not differ."""
    missing = {each.reason for each in row.differences if each.always and each.direction == direction}
    wrong = {}
    for (sample, before), after in zip(sent, seen, strict=True):
        cells, met = unlisted(row, direction, sample, before, after)
        missing -= met
        if cells:
            wrong[sample.name] = cells
    assert not wrong, "\n".join(f"{name}: {what}" for name, what in wrong.items())
    assert missing == set()


def check_lost(row: Row, direction: Direction, seen: dict[str, Description]) -> None:
    """The reader got what is behind them, or an error that is listed."""
    for loss in row.losses:
        if loss.direction == direction:
            there = seen[loss.sample]
            failed = any(error in there.get("error", "") for error in loss.errors)
            assert failed or there.get("body") == ["String", "behind"], (loss.sample, there)


def sent_by_java(way: Way, queues: dict[str, Sample]) -> dict[str, Description]:
    """By queue, what the Java program has sent; what it should refuse it has refused."""
    listed = {refusal.sample: refusal.error for refusal in way.row.refusals}
    tried = {queue: sample for queue, sample in queues.items() if listed.get(sample.name) != ""}
    behind = [queue for queue, sample in tried.items() if sample.name in lost(way.row, "from Java")]
    asked = [sample.told(queue) for queue, sample in tried.items()] + [_BEHIND.told(queue) for queue in behind]
    told = dict(zip(tried, way.java("write", messages=asked), strict=False))
    refused = {queues[queue].name: each["error"] for queue, each in told.items() if "error" in each}
    assert refused.keys() == {sample for sample, error in listed.items() if error}, refused
    assert all(listed[sample] in error for sample, error in refused.items()), refused
    return {queue: each for queue, each in told.items() if "error" not in each}


def test_python_reads_what_java_sends(way: Way, connect: Connect, name: str) -> None:
    session = connect().create_session()
    queues = named(name, MATRIX)
    consumers = {queue: session.create_consumer(session.create_queue(queue)) for queue in queues}
    sent = sent_by_java(way, queues)
    seen = {}
    for queue in sent:
        misses = way.row.misses_delayed and queues[queue].delivery_delay > 0
        message = consumers[queue].receive(timeout=3 if misses else PATIENCE)
        if message is None and misses:
            message = session.create_consumer(session.create_queue(queue)).receive(timeout=PATIENCE)
        seen[queue] = {"error": "nothing came"} if message is None else describe(message)
    gone = lost(way.row, "from Java")
    check_lost(way.row, "from Java", {queues[queue].name: each for queue, each in seen.items()})
    kept = [queue for queue in sent if queues[queue].name not in gone]
    compare(way.row, "from Java", [(queues[queue], sent[queue]) for queue in kept], [seen[queue] for queue in kept])


@pytest.mark.filterwarnings("ignore:.*message groups:jmsbridge.EmulationWarning")
def test_java_reads_what_python_sends(way: Way, connect: Connect, name: str) -> None:
    session = connect().create_session()
    queues = named(name, MATRIX)
    gone = lost(way.row, "to Java")
    sent = {}
    for queue, sample in queues.items():
        sent[queue] = describe(send(session, queue, sample))
        if sample.name in gone:
            send(session, queue, _BEHIND)
    seen = dict(
        zip(
            queues,
            way.java("read", queues=[{"queue": each, "patience": int(PATIENCE * 1000)} for each in queues]),
            strict=True,
        )
    )
    check_lost(way.row, "to Java", {queues[queue].name: each for queue, each in seen.items()})
    kept = [queue for queue in sent if queues[queue].name not in gone]
    compare(way.row, "to Java", [(queues[queue], sent[queue]) for queue in kept], [seen[queue] for queue in kept])

"""Tasks as consumers on the embedded file broker, without Spark: claims, killed at named points, and repeated."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

import jmsbridge
from jmsbridge.spark import planning, staging
from jmsbridge.spark.log import Log, LogError
from jmsbridge.spark.options import ReadOptions, read_options
from jmsbridge.spark.planning import Planner
from jmsbridge.spark.receiving import Confirmation
from jmsbridge.spark.schema import batch_of
from jmsbridge.spark.slices import rows_of
from jmsbridge.spark.staging import Claim, staged

SENT = 60
QUEUE = jmsbridge.Queue("orders")
GIVEN = {"queue": "orders", "maxMessagesPerTrigger": "20", "receivers": "2", "distributed": "true", "idProperty": "n"}


def send(url: str, numbers: Sequence[int]) -> None:
    with jmsbridge.connect(url) as connection:
        session = connection.create_session(True)
        producer = session.create_producer(QUEUE)
        for number in numbers:
            message = session.create_text_message(f"body {number}")
            message.set_int_property("n", number)
            producer.send(message)
        session.commit()


def left(url: str) -> int:
    with jmsbridge.connect(url) as connection:
        return connection.admin.depth(QUEUE)


@pytest.fixture
def options(tmp_path: Path) -> Iterator[ReadOptions]:
    url = f"embedded:{tmp_path / 'broker.db'}"
    send(url, range(SENT))
    chosen = read_options(GIVEN | {"url": url, "walPath": str(tmp_path / "log")})
    yield chosen
    staging._connections.forget(chosen)


@pytest.fixture
def journal(options: ReadOptions) -> Iterator[Log]:
    opened = Log(Path(str(options.wal_path)), {}, options.receivers, options.dedup_retention)
    yield opened
    opened.close()


def claim(journal: Log, lane: int = 0, start: int = 0, count: int = 10) -> Claim:
    return Claim(str(journal.folder), journal.uuid, lane, start, start + count, 0.1)


def bodies(claim: Claim, options: ReadOptions) -> list[str]:
    return [str(body) for body in rows_of(staged(claim, options), ["body"], "text", "fail").column(0).to_pylist()]


class Run:
    """The driver's side of a query with AvailableNow, which a test can end anywhere as a crash would."""

    def __init__(self, options: ReadOptions) -> None:
        self.options = options
        self.log = Log(Path(str(options.wal_path)), {}, options.receivers, options.dedup_retention)
        self.planner = Planner(options, self.log)
        self.planner.start(available_now=True)

    def ends(self, start: dict[int, int]) -> dict[int, int]:
        self.planner.refresh()
        return self.planner.next(start, self.options.max_messages_per_trigger)

    def rows(self, start: dict[int, int] | None = None) -> list[str]:
        """The bodies of all batches from the offset on; each batch is released when it is read."""
        found: list[str] = []
        at = start or {lane.number: lane.low for lane in self.log.lanes}
        while (end := self.ends(at)) != at:
            for each in list(self.planner.claims(at, end)):
                found += bodies(each, self.options)
            self.log.release(at)
            at = end
        return found

    def close(self) -> None:
        self.planner.stop()
        self.log.close()


@pytest.fixture
def run(options: ReadOptions) -> Iterator[Run]:
    made = Run(options)
    yield made
    made.close()


def lost(*_: object) -> None:
    raise jmsbridge.JMSException("the link is gone")


def assert_all(found: list[str]) -> None:
    assert len(found) == SENT
    assert set(found) == {f"body {number}" for number in range(SENT)}


def test_every_message_is_a_row_and_the_run_ends(run: Run, options: ReadOptions) -> None:
    assert_all(run.rows())
    assert left(options.url) == 0
    run.log.release({0: 1000, 1: 1000})
    assert run.planner.report() == {
        "depth": 0,
        "received": SENT,
        "droppedDuplicates": 0,
        "withoutId": 0,
        "logBytes": 0,
        "keptIds": 0,
        "idsKeptSince": None,
        "guarantee": "exactly-once",
        "losses": [],
    }


def test_a_repeated_task_reads_its_segment_and_consumes_nothing(options: ReadOptions, journal: Log) -> None:
    first = bodies(claim(journal), options)
    assert len(first) == 10
    assert bodies(claim(journal), options) == first
    assert left(options.url) == SENT - 10


def test_a_task_that_received_nothing_gets_nothing_when_it_is_repeated(options: ReadOptions, journal: Log) -> None:
    with jmsbridge.connect(options.url) as connection:
        connection.admin.purge(QUEUE)
    assert bodies(claim(journal), options) == []
    send(options.url, range(5))
    assert bodies(claim(journal), options) == []
    assert left(options.url) == 5


def test_an_empty_text_identifies_nothing(by_reference: ReadOptions, journal: Log) -> None:
    assert bodies(claim(journal), by_reference) == ["None", "''", "'x'", "''"]
    staging._connections.forget(by_reference)


def test_of_two_attempts_at_a_time_one_publishes(
    options: ReadOptions, journal: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Speculative execution, two actions on one batch, or a task that Spark took for dead."""
    plain = batch_of
    other: list[list[str]] = []

    def second(messages: Any, ids: Any) -> Any:
        monkeypatch.setattr(staging, "batch_of", plain)
        other.append(bodies(claim(journal), options))
        return plain(messages, ids)

    monkeypatch.setattr(staging, "batch_of", second)
    assert [bodies(claim(journal), options)] == other
    assert left(options.url) == SENT - 10


def test_an_attempt_that_comes_too_late_keeps_nothing(options: ReadOptions, journal: Log) -> None:
    bodies(claim(journal), options)
    journal.refresh()
    journal.release({0: 10})
    with pytest.raises(LogError, match="too late"):
        staged(claim(journal), options)
    assert left(options.url) == SENT - 10
    assert not claim(journal).path.exists()


@pytest.mark.parametrize("is_deleted", [False, True])
def test_another_task_drops_what_an_unacknowledged_segment_has(
    options: ReadOptions, journal: Log, monkeypatch: pytest.MonkeyPatch, is_deleted: bool
) -> None:
    monkeypatch.setattr(Confirmation, "acknowledge", lost)
    first = bodies(claim(journal), options)
    monkeypatch.undo()
    if is_deleted:
        journal.refresh()
        journal.release({0: 10})
    again = claim(journal, lane=1, count=SENT)
    assert sorted(first + bodies(again, options)) == sorted(f"body {number}" for number in range(SENT))
    assert left(options.url) == 0
    journal.refresh()
    tally = journal.lanes[1].segments[0].tally
    assert tally is not None
    assert tally.again == 10


@pytest.mark.parametrize(("retention", "kept"), [("3600", True), ("0", False)])
def test_where_acknowledgements_are_not_confirmed_ids_are_kept_for_the_retention(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, retention: str, kept: bool
) -> None:
    monkeypatch.setattr(Confirmation, "of", classmethod(lambda *_: Confirmation(False, False)))
    url = f"embedded:{tmp_path / 'broker.db'}"
    given = GIVEN | {"url": url, "walPath": str(tmp_path / "log"), "dedupRetention": retention}
    options = read_options(given)
    log = Log(Path(str(options.wal_path)), {}, 2, options.dedup_retention)
    send(url, range(10))
    bodies(claim(log), options)
    log.refresh()
    log.release({0: 10})
    log.refresh()
    send(url, range(20))  # as a broker does that lost its last acknowledgements
    assert len(bodies(claim(log, start=10, count=20), options)) == (10 if kept else 20)
    log.close()
    staging._connections.forget(options)


def test_a_new_log_in_the_place_of_another_one(
    options: ReadOptions, journal: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process of Spark outlives queries, and remembers ids by file."""
    monkeypatch.setattr(Confirmation, "acknowledge", lost)
    assert len(bodies(claim(journal), options)) == 10
    assert bodies(claim(journal, lane=1), options) == []
    journal.close()
    journal.folder.rename(tmp_path / "old")
    with jmsbridge.connect(options.url) as connection:
        connection.admin.purge(QUEUE)
    send(options.url, range(100, 110))
    new = Log(journal.folder, {}, 2, 3600.0)
    assert len(bodies(claim(new), options)) == 10
    assert bodies(claim(new, lane=1), options) == []
    new.close()


def test_damaged_ids(options: ReadOptions, journal: Log) -> None:
    path = claim(journal, 1).path.with_suffix(".ids")
    path.write_bytes(b"")
    with pytest.raises(LogError, match=r"lane-1/.*\.ids is damaged: .*; start the query again"):
        staged(claim(journal), options)
    assert left(options.url) == SENT


def test_an_executor_that_does_not_see_the_log(options: ReadOptions, journal: Log, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    with pytest.raises(LogError, match="does not see the log"):
        staged(Claim(str(tmp_path / "elsewhere"), journal.uuid, 0, 0, 10, 0.1), options)
    assert left(options.url) == SENT


KILLED = """
import os, signal, sys
from pathlib import Path
from jmsbridge import Session
from jmsbridge.spark import ids, log, options, staging

die = lambda *a, **k: os.kill(os.getpid(), signal.SIGKILL)
point = sys.argv[1]
if point == "received": staging.publish = die
elif point == "written": log.os.link = die
elif point == "on disk": Session.commit = die
elif point == "acknowledged": ids.Group.mark = die
given = dict(zip(sys.argv[3::2], sys.argv[4::2]))
staging.staged(staging.Claim(given["walPath"], sys.argv[2], 0, 0, 10, 1.0), options.read_options(given))
"""
POINTS = ["received", "written", "on disk", "acknowledged"]


@pytest.mark.parametrize("is_planned", [True, False])
@pytest.mark.parametrize("point", POINTS)
def test_killed_and_started_again(options: ReadOptions, journal: Log, point: str, is_planned: bool) -> None:
    """``is_planned``: the checkpoint has the batch, so its tasks run again; otherwise the checkpoint was lost."""
    given = GIVEN | {"url": options.url, "walPath": str(options.wal_path)}
    words = [word for pair in given.items() for word in pair]
    killed = subprocess.run([sys.executable, "-c", KILLED, point, journal.uuid, *words], timeout=50, check=False)
    assert killed.returncode == -9
    journal.close()
    again = Run(options)
    found: list[str] = []
    at = {0: 0, 1: 0}
    if is_planned:
        at = {0: 10, 1: 10}
        for each in list(again.planner.claims({0: 0, 1: 0}, at)):
            found += bodies(each, options)
    assert_all(found + again.rows(at))
    assert left(options.url) == 0
    again.close()


def test_what_a_task_published_before_the_checkpoint_was_lost_is_read_first(run: Run, options: ReadOptions) -> None:
    first = bodies(claim(run.log), options)
    end = run.ends({0: 0, 1: 0})
    assert end == {0: 10, 1: 0}
    assert [bodies(each, options) for each in run.planner.claims({0: 0, 1: 0}, end)] == [first]


def test_a_missing_segment(run: Run, options: ReadOptions) -> None:
    bodies(claim(run.log), options)
    claim(run.log).path.unlink()
    with pytest.raises(LogError, match="ends at row 0, but the checkpoint has"):
        run.ends({0: 10, 1: 0})
    run.close()
    with pytest.raises(LogError, match="is gone"):
        Run(options)


@pytest.mark.parametrize("is_restarted", [True, False])
def test_a_batch_of_which_only_some_tasks_ran(run: Run, options: ReadOptions, is_restarted: bool) -> None:
    """As with ``head`` or ``isEmpty`` in ``foreachBatch``: the batch is over, and nobody asks for the rest of it."""
    start, end = {0: 0, 1: 0}, run.ends({0: 0, 1: 0})
    first, second = run.planner.claims(start, end)
    found = bodies(first, options)
    if is_restarted:
        run.close()
        run = Run(options)
    next_end = run.ends(end)
    assert bodies(second, options) == []  # a task that goes on after its batch
    for each in run.planner.claims(end, next_end):
        found += bodies(each, options)
    assert_all(found + run.rows(next_end))
    run.close()


@pytest.mark.parametrize("is_damaged", [True, False])
def test_a_missing_segment_of_a_batch_that_was_claimed(run: Run, options: ReadOptions, is_damaged: bool) -> None:
    start, end = {0: 0, 1: 0}, run.ends({0: 0, 1: 0})
    for each in list(run.planner.claims(start, end)):
        bodies(each, options)
    claim(run.log).path.unlink()
    if is_damaged:  # and its mark is lost, too
        claim(run.log).path.with_suffix(".acked").unlink()
        (run.log.folder / "claimed").unlink(missing_ok=True)
    with pytest.raises(LogError, match="ends at row 0, but the checkpoint has rows until 10"):
        run.ends(end)


def test_a_lost_low_in_the_middle_of_a_batch(run: Run, options: ReadOptions) -> None:
    end = run.ends({0: 0, 1: 0})
    for each in list(run.planner.claims({0: 0, 1: 0}, end)):
        bodies(each, options)
    next_end = run.ends(end)
    run.log.release(end)
    (run.log.lanes[0].folder / "low").unlink()
    run.close()
    again = Run(options)
    with pytest.raises(LogError, match="lane-0 ends at row 0, but the checkpoint has rows until 10"):
        list(again.planner.claims(end, next_end))
    again.close()
    assert left(options.url) == SENT - 20


def test_claims_without_messages_leave_no_files(run: Run, options: ReadOptions) -> None:
    with jmsbridge.connect(options.url) as connection:
        connection.admin.purge(QUEUE)
    at = {0: 0, 1: 0}
    for _ in range(3):
        end = {0: at[0] + 10, 1: at[1]}
        for each in list(run.planner.claims(at, end)):
            assert bodies(each, options) == []
        run.planner.refresh()
        run.log.release(end)
        at = end
    assert [path.name for path in run.log.lanes[0].folder.iterdir()] == ["low"]


def test_what_comes_again_in_a_run_is_no_progress_to_its_end(
    run: Run, options: ReadOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of all messages there were at the start, some are received twice: the rest must not be left for that."""
    monkeypatch.setattr(Confirmation, "acknowledge", lost)
    at, end = {0: 0, 1: 0}, run.ends({0: 0, 1: 0})
    first = [body for each in run.planner.claims(at, end) for body in bodies(each, options)]
    monkeypatch.undo()
    assert_all(first + run.rows(end))
    assert left(options.url) == 0


def test_a_run_ends_with_what_there_was_though_others_go_on_sending(run: Run, options: ReadOptions) -> None:
    at = {0: 0, 1: 0}
    for _ in range(SENT // 20):
        end = run.ends(at)
        assert sum(len(bodies(each, options)) for each in run.planner.claims(at, end)) == 20
        send(options.url, range(20))
        at = end
    assert run.ends(at) == at


def test_no_more_tasks_than_messages(run: Run, options: ReadOptions) -> None:
    with jmsbridge.connect(options.url) as connection:
        connection.admin.purge(QUEUE)
    assert run.ends({0: 0, 1: 0}) == {0: 0, 1: 0}
    send(options.url, [1])
    going = planning.Planner(options, run.log)
    going.start(available_now=False)
    assert going.next({0: 0, 1: 0}, 20) == {0: 1, 1: 0}
    going.stop()


def test_a_batch_has_no_more_rows_than_its_limit(options: ReadOptions) -> None:
    """A sink refuses a batch with one row more than the broker remembers ids."""
    three = Run(msgspec.structs.replace(options, receivers=3))
    assert three.ends({0: 0, 1: 0, 2: 0}) == {0: 7, 1: 7, 2: 6}
    three.close()


def test_a_run_ends_when_others_hold_the_rest(run: Run, options: ReadOptions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "QUIET", 0.1)
    with jmsbridge.connect(options.url) as connection:
        connection.start()
        consumer = connection.create_session(True).create_consumer(QUEUE, prefetch=SENT)
        assert consumer.receive(timeout=10)
        assert run.rows() == []
        report = run.planner.report()
        assert report["received"] == 0


def test_a_task_waits_longer_for_its_first_message_after_one_that_had_none(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    at, end = {0: 0, 1: 0}, {0: 10, 1: 0}
    assert [each.patience for each in run.planner.claims(at, end)] == [0.1]
    run.planner._quiet_since = 1.0
    assert [each.patience for each in run.planner.claims(at, end)] == [2.0]


def test_tasks_of_available_now_wait_where_no_depth_says_that_there_is_nothing(options: ReadOptions) -> None:
    chosen = Run(msgspec.structs.replace(options, selector="n < 100"))
    at = {0: 0, 1: 0}
    end = chosen.ends(at)
    claims = list(chosen.planner.claims(at, end))
    assert {each.patience for each in claims} == {2.0}
    for each in claims:
        bodies(each, options)
    next_end = chosen.ends(end)
    assert {each.patience for each in chosen.planner.claims(end, next_end)} == {2.0}
    chosen.planner._available_now = False  # a stream asks again
    assert {each.patience for each in chosen.planner.claims(end, next_end)} == {0.1}
    chosen.close()


def test_a_batch_that_is_answered_without_rows_is_not_the_end_of_the_next_run(options: ReadOptions) -> None:
    selecting = msgspec.structs.replace(options, selector="n < 100")
    first = Run(selecting)
    end = first.ends({0: 0, 1: 0})
    first.close()
    again = Run(selecting)
    assert_all(again.rows(end))
    again.close()
    staging._connections.forget(selecting)

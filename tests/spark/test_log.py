"""The log without Spark and without a broker; each case closes it as a crash would leave it."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import jmsbridge.spark.ids as ids_module
import jmsbridge.spark.log as log_module
from jmsbridge.spark.log import Log, LogError, turn
from jmsbridge.spark.options import read_options
from jmsbridge.spark.receiving import Confirmation, report_of
from jmsbridge.spark.schema import DEDUP_ID, log_schema

SOURCE: dict[str, Any] = {"destination": "orders"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "log"


@pytest.fixture(autouse=True)
def _no_long_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_module, "_TAKEOVER", 0.1)


LOGS: list[Log] = []


def opened(folder: Path, source: dict[str, Any] = SOURCE, retention: float = 3600.0, lanes: int = 1) -> Log:
    LOGS.append(Log(folder, source, lanes, retention))
    return LOGS[-1]


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    while LOGS:
        LOGS.pop().close()


def rows(*ids: str) -> Any:
    return pa.RecordBatch.from_pylist([{"messageId": each, DEDUP_ID: each} for each in ids], log_schema())


@pytest.fixture
def two_segments(folder: Path) -> Log:
    journal = opened(folder)
    journal.append(journal.lanes[0], rows("a", "b"))
    journal.append(journal.lanes[0], rows("c", "d", "e"))
    return journal


def reopened(journal: Log) -> Log:
    journal.close()
    return opened(journal.folder)


def test_segments_are_found_again(two_segments: Log) -> None:
    again = reopened(two_segments)
    assert again.uuid == two_segments.uuid
    assert [(each.start, each.end) for each in again.lanes[0].segments] == [(0, 2), (2, 5)]
    assert [each.start for each in again.lanes[0].covering(1, 2)] == [0]


def test_tasks_get_absolute_paths_since_they_run_in_other_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    journal = opened(Path("relative"))
    journal.append(journal.lanes[0], rows("a"))
    assert journal.lanes[0].segments[0].path.parent == tmp_path / "relative" / "lane-0"


def test_two_drivers(two_segments: Log) -> None:
    with pytest.raises(LogError, match="another query uses the log"):
        opened(two_segments.folder)


def test_a_task_that_does_not_get_its_turn(two_segments: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_module, "_TURN", 0.1)
    late = pytest.raises(LogError, match=r"held .*/log/turn for 0\.1 s")
    with turn(two_segments.folder), late, turn(two_segments.folder):
        pass
    with turn(two_segments.folder):
        pass


def test_a_segment_is_never_replaced(two_segments: Log) -> None:
    (two_segments.lanes[0].folder / f"{5:020}.arrow").write_bytes(b"of another driver")
    with pytest.raises(LogError, match="another query writes"):
        two_segments.append(two_segments.lanes[0], rows("f"))
    assert "f" not in two_segments.ids


def test_a_full_disk(two_segments: Log) -> None:
    lane = two_segments.lanes[0]
    (lane.folder / f"{5:020}.new").symlink_to("/dev/full")
    with pytest.raises(LogError, match=r"cannot write .*5\.arrow: No space left on device"):
        two_segments.append(lane, rows("f"))
    assert "f" not in two_segments.ids
    two_segments.append(lane, rows("f"))
    assert reopened(two_segments).lanes[0].end == 6


def test_a_folder_that_cannot_be(folder: Path) -> None:
    folder.write_text("a file")
    with pytest.raises(LogError, match=r"log cannot be in .*walPath"):
        opened(folder)


def test_a_lost_low(two_segments: Log) -> None:
    two_segments.release({0: 2})
    (two_segments.lanes[0].folder / "low").unlink()
    with pytest.raises(LogError, match="rows 0 to 2 are missing"):
        reopened(two_segments)


def test_a_lost_low_of_an_emptied_log(two_segments: Log) -> None:
    two_segments.release({0: 5})
    (two_segments.lanes[0].folder / "low").unlink()
    with pytest.raises(LogError, match="ends at row 0, but the checkpoint has rows until 5"):
        reopened(two_segments).lanes[0].covering(0, 5)


def test_a_foreign_log(two_segments: Log) -> None:
    two_segments.close()
    with pytest.raises(LogError, match=r"of another source.*give the options that it was begun with, or a new walPath"):
        opened(two_segments.folder, {"destination": "invoices"})


def test_a_log_that_has_read_everything_is_of_its_source_all_the_same(two_segments: Log) -> None:
    two_segments.release({0: 5})
    two_segments.close()
    with pytest.raises(LogError, match="of another source"):
        opened(two_segments.folder, {"destination": "invoices"})


def test_a_log_that_never_had_a_row_takes_corrected_options(folder: Path) -> None:
    """A query with a wrong selector, or the name of another queue, has made it."""
    wrong = opened(folder, {"destination": "ordres"})
    wrong.close()
    right = opened(folder)
    assert right.uuid == wrong.uuid  # which the checkpoint may have
    right.append(right.lanes[0], rows("a"))
    right.close()
    with pytest.raises(LogError, match="of another source"):
        opened(folder, {"destination": "ordres"})


def test_a_torn_segment(two_segments: Log) -> None:
    path = two_segments.lanes[0].segments[1].path
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(LogError, match="damaged"):
        reopened(two_segments)


def test_a_missing_segment(two_segments: Log) -> None:
    two_segments.lanes[0].segments[0].path.unlink()
    with pytest.raises(LogError, match="is gone"):
        two_segments.lanes[0].covering(0, 5)
    with pytest.raises(LogError, match="rows 0 to 2 are missing"):
        reopened(two_segments)


def test_a_segment_that_is_missing_in_the_list(two_segments: Log) -> None:
    """What is in the list follows each other from the first row of a batch to the last, or the batch is refused."""
    two_segments.append(two_segments.lanes[0], rows("f"))
    lane = two_segments.lanes[0]
    for gone, text in ((0, "rows 0 to 2"), (1, "rows 2 to 5"), (2, "rows 5 to 6")):
        segment = lane._segments.pop(gone)
        with pytest.raises(LogError, match=f"{text} are missing in .*lane-0"):
            lane.covering(0, 6)
        lane._segments.insert(gone, segment)
    assert len(lane.covering(0, 6)) == 3


def test_segments_that_are_written_while_others_are_deleted(folder: Path) -> None:
    """Receivers append in threads of their own, and Spark's calls delete in the main thread."""
    journal = opened(folder)
    lane, count = journal.lanes[0], 200
    with ThreadPoolExecutor() as pool:
        written = pool.submit(lambda: [journal.append(lane, rows(str(number))) for number in range(count)])
        at = 0
        while at < count:
            journal.release({0: at})
            end = lane.end
            assert [each.start for each in lane.covering(at, end)] == list(range(at, end))
            at = end
        written.result()


def test_rows_outside_of_the_log(two_segments: Log) -> None:
    two_segments.release({0: 2})
    with pytest.raises(LogError, match="were deleted"):
        two_segments.lanes[0].covering(0, 5)
    with pytest.raises(LogError, match="ends at row 5"):
        two_segments.lanes[0].covering(2, 6)


def test_a_segment_that_cannot_be_synced(two_segments: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(LogError, match=r"cannot write .*No space"):
        two_segments.append(two_segments.lanes[0], rows("f"))
    monkeypatch.undo()
    monkeypatch.setattr(log_module, "_TAKEOVER", 0.1)
    assert "f" not in two_segments.ids
    two_segments.append(two_segments.lanes[0], rows("f"))
    assert reopened(two_segments).lanes[0].end == 6


def fails_to_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    """A segment gets its name, and then the disk does not say that it has the name."""

    def failing(folder: Path) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(log_module, "sync_folder", failing)


def test_a_segment_of_which_it_is_not_known_whether_it_is_on_disk(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its link may be lost, and another receiver have its messages: they may be neither written nor acknowledged."""
    journal = opened(folder, lanes=2)
    fails_to_sync(monkeypatch)
    with pytest.raises(LogError, match=r"cannot write .*Input/output error"):
        journal.append(journal.lanes[0], rows("a", "b"))
    monkeypatch.undo()
    for lane in journal.lanes:
        with pytest.raises(LogError, match=r"not known whether .*lane-0/0+\.arrow is on disk"):
            journal.append(lane, rows("b", "c"))
    journal.close()
    again = opened(folder, lanes=2)
    written = again.append(again.lanes[1], rows("b", "c"))
    assert (written.rows, written.again) == (1, ["b"])
    assert [lane.end for lane in again.lanes] == [2, 1]


def test_low_is_written_before_segments_are_deleted(two_segments: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(two_segments, "_delete", lambda path: None)  # the crash
    two_segments.release({0: 2})
    again = reopened(two_segments)
    assert [each.start for each in again.lanes[0].segments] == [2]
    assert not (again.lanes[0].folder / f"{0:020}.arrow").exists()


def test_an_attempt_that_comes_too_late_and_takes_its_segment_away(two_segments: Log) -> None:
    """Between the listing of a lane and a look at its files."""
    two_segments.release({0: 2})
    (two_segments.lanes[0].folder / f"{0:020}.arrow").symlink_to("taken-away")
    assert two_segments.refresh() == []
    assert [each.start for each in reopened(two_segments).lanes[0].segments] == [2]


def test_a_release_may_be_repeated_and_end_within_a_segment(two_segments: Log) -> None:
    two_segments.release({0: 3})
    two_segments.release({0: 1})
    assert reopened(two_segments).lanes[0].low == 3


def test_an_emptied_log_goes_on_counting(two_segments: Log) -> None:
    two_segments.release({0: 5})
    assert reopened(two_segments).lanes[0].end == 5


class TestFailOnDataLossIsFalse:
    """What is missing is left out and named; what is there is read."""

    def opened(self, journal: Log) -> Log:
        journal.close()
        LOGS.append(Log(journal.folder, SOURCE, 1, 3600.0, fail_on_loss=False))
        return LOGS[-1]

    def read(self, journal: Log, start: int, end: int) -> list[int]:
        return [each.start for each in journal.lanes[0].covering(start, end)]

    def test_nothing_is_missing(self, two_segments: Log) -> None:
        again = self.opened(two_segments)
        assert self.read(again, 0, 5) == [0, 2]
        assert again.losses == []

    def test_a_missing_segment(self, two_segments: Log) -> None:
        two_segments.lanes[0].segments[0].path.unlink()
        again = self.opened(two_segments)
        assert self.read(again, 0, 5) == [2]
        assert again.losses == [f"rows 0 to 2 are missing in {again.lanes[0].folder}"]

    def test_a_segment_that_is_deleted_while_the_log_is_open(self, two_segments: Log) -> None:
        again = self.opened(two_segments)
        again.lanes[0].segments[0].path.unlink()
        assert self.read(again, 0, 5) == [2]
        assert len(again.losses) == 1

    def test_a_torn_last_segment_is_kept_aside_and_its_numbers_are_not_used_again(self, two_segments: Log) -> None:
        path = two_segments.lanes[0].segments[1].path
        path.write_bytes(path.read_bytes()[:-40])
        again = self.opened(two_segments)
        again.lanes[0].check(5, 5)  # as far as the checkpoint goes
        again.append(again.lanes[0], rows("f"))
        assert self.read(again, 0, 6) == [0, 5]
        assert path.with_suffix(".damaged").exists()

    def test_a_lost_low_of_an_emptied_log(self, two_segments: Log) -> None:
        two_segments.release({0: 5})
        (two_segments.lanes[0].folder / "low").unlink()
        again = self.opened(two_segments)
        assert self.read(again, 5, 5) == []
        assert again.lanes[0].end == 5

    def test_rows_that_were_deleted(self, two_segments: Log) -> None:
        two_segments.release({0: 2})
        assert self.read(self.opened(two_segments), 0, 5) == [2]

    def test_a_marked_segment_that_is_gone(self, two_segments: Log) -> None:
        path = two_segments.lanes[0].segments[1].path
        path.with_suffix(".acked").touch()
        path.unlink()
        again = self.opened(two_segments)
        assert "whose messages the broker has deleted" in again.losses[0]
        assert reopened(again).lanes[0].end == 2  # said once

    def test_damaged_ids(self, two_segments: Log) -> None:
        two_segments.release({0: 2})
        ids = two_segments.lanes[0].folder / f"{0:020}.ids"
        ids.write_bytes(b"")
        with pytest.raises(LogError, match=r"\.ids is damaged"):
            reopened(two_segments)
        assert "damaged" in self.opened(two_segments).losses[0]
        assert not ids.exists()


class TestIds:
    def test_kept_until_the_acknowledgement_is_confirmed(self, folder: Path) -> None:
        journal = opened(folder)
        group = journal.append(journal.lanes[0], rows("a")).group
        assert "a" in journal.ids
        journal.ids.acknowledged(group, [], confirmed=True)
        assert "a" not in journal.ids
        journal.close()
        again = opened(folder)
        assert "a" not in again.ids
        again.close()

    @pytest.mark.parametrize("mark", ["", "17xx", "\x00\x00", "ä"])
    def test_kept_where_the_mark_does_not_say_that_they_may_go(self, two_segments: Log, mark: str) -> None:
        """A loss of power may leave the name of a file without its contents."""
        two_segments.lanes[0].segments[0].path.with_suffix(".acked").write_text(mark, encoding="utf-8")
        assert "a" in reopened(two_segments).ids

    def test_of_an_unacknowledged_segment_outlive_it(self, two_segments: Log) -> None:
        two_segments.release({0: 5})
        again = reopened(two_segments)
        assert all(each in again.ids for each in "abcde")
        again.ids.acknowledged(None, ["a", "b"], confirmed=True)
        assert "a" not in reopened(again).ids

    def test_of_an_unconfirmed_acknowledgement_are_kept_for_the_retention(self, folder: Path) -> None:
        journal = opened(folder)
        group = journal.append(journal.lanes[0], rows("a")).group
        journal.ids.acknowledged(group, [], confirmed=False)
        journal.release({0: 1})
        journal.close()
        again = opened(folder)
        assert "a" in again.ids
        again.close()
        short = opened(folder, retention=0.0)
        until = time.time() + 0.01
        while time.time() <= until:
            pass
        short.ids.acknowledged(None, [], confirmed=False)
        assert "a" not in short.ids
        assert not list(folder.glob("lane-0/*.ids"))
        short.close()

    def test_are_kept_for_the_retention_in_which_a_process_runs(self, folder: Path) -> None:
        """While none ran, nothing could come again."""
        journal = opened(folder)
        group = journal.append(journal.lanes[0], rows("a")).group
        journal.ids.acknowledged(group, [], confirmed=False)
        journal.lanes[0].segments[0].path.with_suffix(".acked").write_text(str(time.time() - 7200), encoding="ascii")
        again = reopened(journal)
        again.ids.expire()
        assert "a" in again.ids

    def test_are_kept_for_the_retention_also_if_the_clock_is_set(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        journal = opened(folder)
        group = journal.append(journal.lanes[0], rows("a")).group
        journal.ids.acknowledged(group, [], confirmed=False)
        later = time.time() + 30 * 24 * 3600
        monkeypatch.setattr(time, "time", lambda: later)
        journal.ids.expire()
        assert "a" in journal.ids

    def test_more_than_can_be_kept(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(ids_module, "_MOST", 3)
        options = read_options({"url": "embedded:", "queue": "orders", "walPath": str(folder)})
        journal = opened(folder)

        def guarantee(**given: bool) -> Any:
            return report_of(journal, options, Confirmation(False, **given), 0)["guarantee"]

        for each in ("ab", "cd", "ef"):
            journal.append(journal.lanes[0], rows(*each))
        assert guarantee(confirmed=True) == "exactly-once"
        assert "within 3600 s: it does not confirm" in guarantee(confirmed=False)
        journal.ids.expire()
        assert "a" not in journal.ids
        assert "f" in journal.ids
        for confirmed in (True, False):
            assert "within 0 s: there were more ids than can be kept" in guarantee(confirmed=confirmed)

    def test_none_are_kept_of_unconfirmed_acknowledgements_without_a_retention(self, folder: Path) -> None:
        given = {"url": "embedded:", "queue": "orders", "walPath": str(folder), "dedupRetention": "0"}
        journal, options = opened(folder, retention=0.0), read_options(given)
        said = [report_of(journal, options, Confirmation(False, each), 0)["guarantee"] for each in (True, False)]
        assert said == [
            "exactly-once",
            "at-least-once: the broker does not confirm acknowledgements, and dedupRetention is 0",
        ]

    def test_of_messages_that_were_never_acknowledged_outlive_the_retention(self, folder: Path) -> None:
        """They come again, whenever that is: the broker still has them."""
        journal = opened(folder, retention=0.0)
        told, _ = (journal.append(journal.lanes[0], rows(each)).group for each in "ab")
        until = time.time() + 0.01
        while time.time() <= until:
            pass
        journal.ids.acknowledged(told, [], confirmed=False)
        while time.time() <= until + 0.01:
            pass
        journal.ids.expire()
        assert "a" not in journal.ids
        assert "b" in journal.ids
        journal.release({0: 2})
        journal.close()
        again = opened(folder, retention=0.0)
        again.ids.expire()
        assert "b" in again.ids
        again.ids.acknowledged(None, ["b"], confirmed=True)
        assert "b" not in again.ids

    def test_of_a_segment_without_any_are_not_saved(self, folder: Path) -> None:
        journal = opened(folder)
        batch = rows("a")
        journal.append(journal.lanes[0], batch.set_column(batch.num_columns - 1, DEDUP_ID, pa.nulls(1, pa.string())))
        journal.release({0: 1})
        assert not list(folder.glob("lane-0/*.ids"))
        again = reopened(journal)
        assert again.ids.since is None

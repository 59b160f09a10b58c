"""The log after a loss of power: what no ``fsync`` has brought to disk is gone, contents and names of files alike."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import jmsbridge.spark.log as log_module
from jmsbridge.spark import staging
from jmsbridge.spark.log import Log
from jmsbridge.spark.options import read_options
from jmsbridge.spark.receiving import Confirmation
from tests.spark.test_log import rows
from tests.spark.test_staging import GIVEN, bodies, claim, left, lost, send

LosePower = Callable[[Log], Log]


@pytest.fixture
def lose_power(monkeypatch: pytest.MonkeyPatch) -> LosePower:
    """Closes a log, and opens what is left of it."""
    contents: dict[int, bytes] = {}
    names: dict[int, set[str]] = {}
    sync = os.fsync

    def synced(handle: int) -> None:
        sync(handle)
        path = Path(os.readlink(f"/proc/self/fd/{handle}"))
        if path.is_dir():
            names[path.stat().st_ino] = {each.name for each in path.iterdir()}
        else:
            contents[path.stat().st_ino] = path.read_bytes()

    def lose(journal: Log) -> Log:
        journal.close()
        for path in sorted(journal.folder.rglob("*"), reverse=True):
            if path.name not in names.get(path.parent.stat().st_ino, set()):
                path.rmdir() if path.is_dir() else path.unlink()
            elif path.is_file():
                path.write_bytes(contents.get(path.stat().st_ino, b""))
        return opened(journal.folder)

    monkeypatch.setattr("os.fsync", synced)
    return lose


def opened(folder: Path, lanes: int = 1) -> Log:
    return Log(folder, {"destination": "orders"}, lanes, 3600.0)


@pytest.fixture
def journal(tmp_path: Path, lose_power: LosePower) -> Log:
    return opened(tmp_path / "log")


def test_a_segment_and_its_ids_are_there(journal: Log, lose_power: LosePower) -> None:
    journal.append(journal.lanes[0], rows("a", "b"))
    again = lose_power(journal)
    assert again.lanes[0].end == 2
    assert "b" in again.ids
    again.close()


def test_a_segment_that_a_killed_process_has_named_is_there_once_its_messages_come_again(
    journal: Log, lose_power: LosePower, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was killed before it knew that the name is on disk; the next one acknowledges the messages."""
    with monkeypatch.context() as patched:
        patched.setattr(log_module, "sync_folder", lambda folder: None)
        journal.append(journal.lanes[0], rows("a", "b"))
    journal.close()
    next_one = opened(journal.folder)
    assert next_one.append(next_one.lanes[0], rows("a")).again == ["a"]
    again = lose_power(next_one)
    assert again.lanes[0].end == 2
    again.close()


def test_a_segment_that_a_killed_task_has_named_is_there_once_another_task_has_dropped_its_messages(
    tmp_path: Path, lose_power: LosePower, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = GIVEN | {"url": f"embedded:{tmp_path / 'broker.db'}", "walPath": str(tmp_path / "log")}
    options = read_options(given)
    send(str(given["url"]), range(20))
    journal = opened(tmp_path / "log", lanes=2)
    with monkeypatch.context() as patched:
        patched.setattr(log_module, "sync_folder", lambda folder: None)
        patched.setattr(Confirmation, "acknowledge", lost)
        first = bodies(claim(journal, count=10), options)
    second = bodies(claim(journal, lane=1, count=20), options)
    staging._connections.forget(options)
    assert sorted(first + second) == sorted(f"body {number}" for number in range(20))
    assert left(str(given["url"])) == 0
    again = lose_power(journal)
    assert [lane.end for lane in again.lanes] == [10, 20]
    again.close()


@pytest.mark.parametrize("confirmed", [True, False])
def test_ids_are_kept_unless_the_broker_has_confirmed(journal: Log, lose_power: LosePower, confirmed: bool) -> None:
    """A mark that was emptied would say that it has."""
    group = journal.append(journal.lanes[0], rows("a")).group
    journal.ids.acknowledged(group, [], confirmed=confirmed)
    again = lose_power(journal)
    assert again.lanes[0].end == 1
    assert "a" in again.ids or confirmed
    again.close()


@pytest.mark.parametrize("acknowledged", [True, False])
def test_ids_that_outlive_their_segment_are_there(journal: Log, lose_power: LosePower, acknowledged: bool) -> None:
    """An emptied file of them could not be read, and the query not be started any more."""
    group = journal.append(journal.lanes[0], rows("a", "b")).group
    if acknowledged:
        journal.ids.acknowledged(group, [], confirmed=False)
    journal.release({0: 2})
    again = lose_power(journal)
    assert again.lanes[0].low == 2
    assert "a" in again.ids
    assert "b" in again.ids
    again.close()

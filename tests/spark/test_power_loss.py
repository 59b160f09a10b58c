"""The log after a loss of power: what no ``fsync`` has brought to disk is gone, contents and names of files alike."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from jmsbridge.spark.log import Log
from tests.spark.test_log import rows

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


def opened(folder: Path) -> Log:
    return Log(folder, {"destination": "orders"}, 1, 3600.0)


@pytest.fixture
def journal(tmp_path: Path, lose_power: LosePower) -> Log:
    return opened(tmp_path / "log")


def test_a_segment_and_its_ids_are_there(journal: Log, lose_power: LosePower) -> None:
    journal.append(journal.lanes[0], rows("a", "b"))
    again = lose_power(journal)
    assert again.lanes[0].end == 2
    assert "b" in again.ids
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

"""Processes that start while others check which processes have ended."""

import fcntl
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from jmsbridge_embedded.file import presence
from jmsbridge_embedded.file.presence import Presence
from tests.embedded.file.worker import connect, message, receive, send

_lockf = fcntl.lockf


def _made(path: Path) -> Presence:
    return Presence(path, "test", lambda lines: None)


def test_a_process_whose_lock_is_being_examined_tries_another(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[int] = []

    def lockf(lock: int, how: int) -> None:
        tries.append(lock)
        if len(tries) == 1:
            raise BlockingIOError("another process examines it")
        _lockf(lock, how)

    monkeypatch.setattr(fcntl, "lockf", lockf)
    made = _made(path)
    assert len(tries) == 2
    assert [file.stem for file in made.folder.glob("*.lock")] == [made.token]
    made.close()


def test_a_dead_process_is_cleaned_up_before_its_lock_is_free(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = _made(path)
    file = made.folder / "dead.lock"
    file.touch()
    left: list[bool] = []
    here = threading.current_thread()
    close = os.close

    def note(lock: int) -> None:
        if threading.current_thread() is here:
            left.append(file.exists())
        close(lock)

    monkeypatch.setattr(os, "close", note)
    made.tidy(set())
    monkeypatch.undo()
    assert left == [False]
    made.close()
    assert not made.folder.exists()


def test_a_folder_that_is_removed_just_when_it_was_found_is_made_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``mkdir`` finds the folder of the last process, which removes it before ``mkdir`` looks what it is."""
    folder = path.with_name(f"{path.name}.d")
    folder.mkdir()
    is_dir, looked = Path.is_dir, list[Path]()

    def remove_first(self: Path) -> bool:
        if self == folder and not looked:
            looked.append(self)
            folder.rmdir()
        return is_dir(self)

    monkeypatch.setattr(Path, "is_dir", remove_first)
    made = _made(path)
    assert looked
    assert folder.exists()
    made.close()


_MANY = """
import sys
from pathlib import Path
from jmsbridge_embedded.file.presence import Presence
sys.stdin.readline()
for number in range(int(sys.argv[2])):
    made = Presence(Path(sys.argv[1]), str(number), lambda lines: None)
    made.tidy(set())
    made.close()
"""


def test_many_processes_start_and_end_while_they_examine_each_other(path: Path) -> None:
    root = Path(__file__).parents[3]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), str(root / "backends")])}
    command = [sys.executable, "-c", _MANY, str(path), "60"]
    crowd = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) for _ in range(8)
    ]
    found = []
    for process in crowd:
        assert process.stdin is not None
        process.stdin.write(b"\n")
        process.stdin.flush()
    for process in crowd:
        found.append(process.communicate(timeout=100)[1])
    assert found == [b""] * 8
    assert not path.with_name(f"{path.name}.d").exists()


def _always_looked_at(lock: int, how: int) -> None:
    raise BlockingIOError("another process examines it")


def test_a_process_whose_locks_are_always_examined_tries_until_its_deadline(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[int] = []

    def lockf(lock: int, how: int) -> None:
        tries.append(lock)
        if len(tries) < 50:
            raise BlockingIOError("another process examines it")
        _lockf(lock, how)

    monkeypatch.setattr(fcntl, "lockf", lockf)
    _made(path).close()
    assert len(tries) == 50
    monkeypatch.setattr(presence, "_PATIENCE", 0.05)
    monkeypatch.setattr(fcntl, "lockf", _always_looked_at)
    with pytest.raises(OSError, match="other processes held each lock"):
        _made(path)


def test_a_long_path_gets_a_new_private_folder(tmp_path: Path) -> None:
    folder = tmp_path / ("x" * 100)
    folder.mkdir()
    one, other = _made(folder / "orders.db"), _made(folder / "orders.db")
    places = [Path(each.address).parent for each in (one, other)]
    assert places[0] != places[1]
    assert [place.stat().st_mode & 0o777 for place in places] == [0o700, 0o700]
    one.close()
    other.remove(other.token, other.address)  # as if its process had ended
    other.close()
    assert not any(place.exists() for place in places)


def test_foreign_datagrams_only_cause_a_check(path: Path) -> None:
    heard: list[object] = []
    more = threading.Semaphore(0)

    def note(lines: object) -> None:
        heard.append(lines)
        more.release()

    made = Presence(path, "test", note)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as stranger:
        for data in (b"odd", b"\0" * 7 + b"\1"):
            stranger.sendto(data, made.address)
            assert more.acquire(timeout=10)
    assert heard == [None, (1,)]
    made.close()


def test_a_name_that_is_not_utf_8_can_be_used(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"orders-\xff.db")
    link, again = connect(path), connect(path)
    send(link.channel(False), message("kept"))
    again.close()
    link.close()
    link = connect(path)
    assert [arrival.envelope.body for arrival in receive(link)] == ["kept"]
    link.close()
    assert os.listdir(os.fsencode(tmp_path)) == [b"orders-\xff.db"]

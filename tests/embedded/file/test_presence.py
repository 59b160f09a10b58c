"""Processes that come while others look who is dead."""

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


def test_one_whose_lock_is_being_looked_at_takes_another_turn(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[int] = []

    def lockf(lock: int, how: int) -> None:
        tries.append(lock)
        if len(tries) == 1:
            raise BlockingIOError("another process looks")
        _lockf(lock, how)

    monkeypatch.setattr(fcntl, "lockf", lockf)
    made = _made(path)
    assert len(tries) == 2
    assert [file.stem for file in made.folder.glob("*.lock")] == [made.token]
    made.close()


def test_a_dead_one_is_cleaned_up_before_its_lock_is_free_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_many_processes_come_and_go_while_all_look_at_each_other(path: Path) -> None:
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
    raise BlockingIOError("another process looks")


def test_one_whose_lock_others_keep_looking_at_goes_on_until_its_deadline(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[int] = []

    def lockf(lock: int, how: int) -> None:
        tries.append(lock)
        if len(tries) < 50:
            raise BlockingIOError("another process looks")
        _lockf(lock, how)

    monkeypatch.setattr(fcntl, "lockf", lockf)
    _made(path).close()
    assert len(tries) == 50
    monkeypatch.setattr(presence, "_PATIENCE", 0.05)
    monkeypatch.setattr(fcntl, "lockf", _always_looked_at)
    with pytest.raises(OSError, match="other processes held each lock"):
        _made(path)


def test_a_long_path_gets_a_folder_that_nobody_can_have_made_before(tmp_path: Path) -> None:
    folder = tmp_path / ("x" * 100)
    folder.mkdir()
    one, other = _made(folder / "orders.db"), _made(folder / "orders.db")
    places = [Path(each.address).parent for each in (one, other)]
    assert places[0] != places[1]
    assert [place.stat().st_mode & 0o777 for place in places] == [0o700, 0o700]
    one.close()
    other.remove(other.token, other.address)  # as if it had died
    other.close()
    assert not any(place.exists() for place in places)


def test_what_no_broker_sent_only_makes_it_look(path: Path) -> None:
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

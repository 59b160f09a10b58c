"""Processes that come while others look who is dead."""

import fcntl
import os
import threading
from pathlib import Path

import pytest

from jmsbridge_embedded.file.presence import Presence

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

"""Brokers of a killed process are ended without delaying the start of others."""

import os
import threading
from pathlib import Path

import pytest

from integration.lab.running import places
from integration.lab.running import state as states
from integration.lab.running.docker import CONTAINER
from integration.lab.running.processes import Process, myself
from integration.lab.running.state import State
from integration.lab.starting import start
from integration.lab.tests.fake import Fake
from jmsbridge.testing.suite.support import eventually

# Its `down` lasts until the test ends it.
ENGINE = """#!/bin/sh
case " $* " in *" down "*) : > "$PLACE/asked"; until [ -e "$PLACE/go" ]; do sleep 0.05; done;; esac
"""


@pytest.fixture
def abandoned(fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> State:
    """A container whose owner has ended, and a slow Docker."""
    (tmp_path / "docker").write_text(ENGINE)
    (tmp_path / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PLACE", str(tmp_path))
    left = State("left", "fake", CONTAINER, {}, sync=True)
    left.folder.mkdir()
    left.save()
    (left.folder / "compose.yaml").write_text("")
    me = myself()
    owners = left.folder / "owners"
    owners.mkdir()
    (owners / f"{me.pid} {Process(me.pid, '0').started}").touch()
    assert left.abandoned
    return left


def test_a_container_that_ends_slowly_delays_no_other_start(abandoned: State, tmp_path: Path) -> None:
    swept: list[str] = []
    sweeping = threading.Thread(target=lambda: swept.extend(states.sweep()))
    sweeping.start()
    try:
        eventually((tmp_path / "asked").exists, 30.0)
        with places.file_lock("runs", timeout=5.0):
            assert abandoned.folder.exists()
        with start("fake") as broker:
            assert broker.running
        assert not abandoned.abandoned, "only this process ends it, not the next one too"
    finally:
        (tmp_path / "go").touch()
        sweeping.join(30.0)
    assert swept == ["left"]
    assert not abandoned.folder.exists()

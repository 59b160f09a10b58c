"""Worker processes one by one: those that do not end are killed."""

import os
import queue
from pathlib import Path

import pytest

from jmsbridge.cli.serve import processes
from jmsbridge.cli.serve.order import Order, module_and_attribute
from jmsbridge.cli.serve.processes import Slot
from tests.app.support import eventually
from tools.laws.source import ROOT

DEAF = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
open("deaf", "w").close()
time.sleep(1000)
"""


def test_a_process_that_does_not_end_is_killed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "shop.py").write_text(DEAF, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}{os.pathsep}{ROOT / 'backends'}")
    monkeypatch.setattr(processes, "_GRACE", 0.1)
    monkeypatch.setattr(processes, "_MORE", 0.1)
    ended: queue.SimpleQueue[tuple[str, int]] = queue.SimpleQueue()
    slot = Slot(Order(app="shop:app", number=3, pipe=-1), ended)
    slot.start()
    eventually(lambda: (tmp_path / "deaf").exists())
    assert slot.pid is not None
    slot.stop()

    def has_ended() -> bool:
        slot.check()
        return not ended.empty()

    eventually(has_ended)
    assert ended.get(timeout=5) == ("ended", 3)
    slot.end()
    assert slot.code == -9
    assert slot.due is None
    assert "worker 3 does not end, and is killed; its messages come again" in caplog.text


@pytest.mark.parametrize(
    ("text", "parts"),
    [("shop.listeners:app", ("shop.listeners", "app")), ("shop", ("shop", "app")), ("a:b.c", ("a", "b.c"))],
)
def test_the_name_of_an_application(text: str, parts: tuple[str, str]) -> None:
    assert module_and_attribute(text) == parts

"""Worker processes one by one: those that do not end are killed."""

import os
import queue
import signal
import socket
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import jmsbridge
from jmsbridge import Queue
from jmsbridge.cli.serve import processes, supervisor
from jmsbridge.cli.serve.health import Health, HealthServer
from jmsbridge.cli.serve.order import Order, module_and_attribute
from jmsbridge.cli.serve.processes import Slot
from jmsbridge.cli.serve.reloading import Sources
from jmsbridge.cli.serve.supervisor import Supervisor
from jmsbridge.errors import ConfigurationError
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
    slot.stop(again=False)

    def has_ended() -> bool:
        slot.check()
        return not ended.empty()

    eventually(has_ended)
    assert ended.get(timeout=5) == ("ended", 3)
    slot.end()
    assert slot.code == -9
    assert slot.due is None
    assert "worker 3 does not end, and is killed; its messages come again" in caplog.text


def test_a_process_that_cannot_be_started_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As when there is no memory for it."""
    slot = Slot(Order(app="shop:app", number=3, pipe=-1), queue.SimpleQueue())
    monkeypatch.setattr(sys, "executable", str(tmp_path / "missing"))
    pauses = []
    for _ in range(3):
        slot.start()
        assert slot.pid is None
        assert slot.due is not None
        pauses.append(round(slot.due - time.monotonic()))
    assert pauses == [1, 2, 4]
    assert "worker 3 cannot be started" in caplog.text
    assert "tried again in 4 s" in caplog.text


def test_half_a_report_of_a_killed_process_is_not_read() -> None:
    slot = Slot(Order(app="shop:app", number=3, pipe=-1), queue.SimpleQueue())
    reading, writing = os.pipe()
    os.write(writing, b'{"status":{"state":"connected"},"grace":1}\n{"status":{"sta')
    os.close(writing)
    slot._read(None, reading)  # type: ignore[arg-type]
    assert slot.report is not None
    assert slot.report.grace == 1


ORPHANING = """
import os, time
if os.fork() == 0:
    os.close(2)
    time.sleep(15)
    os._exit(0)
os._exit(7)
"""


def test_an_end_is_noticed_although_a_child_of_the_process_lives(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The child has the pipe of the reports, too, so that this does not end."""
    (tmp_path / "shop.py").write_text(ORPHANING, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}{os.pathsep}{ROOT / 'backends'}")
    ended: queue.SimpleQueue[tuple[str, int]] = queue.SimpleQueue()
    slot = Slot(Order(app="shop:app", number=3, pipe=-1), ended)
    slot.start()
    assert ended.get(timeout=30) == ("ended", 3)
    slot.end()
    assert slot.code == 7


SERVING = """
from jmsbridge.app import App
app = App("embedded:?broker=silent")

@app.listener("orders")
def on_order(text: str) -> None: ...
"""


def test_a_process_that_reports_no_more_is_stuck(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As one does whose listener keeps the interpreter to itself, in a regular expression for example."""
    (tmp_path / "shop.py").write_text(SERVING, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}{os.pathsep}{ROOT / 'backends'}")
    served = Supervisor([Order(app="shop:app", number=0, pipe=-1)], None)
    served._start_due()
    pid = served._slots[0].pid
    assert pid is not None
    try:
        eventually(lambda: served.health().state == "connected", timeout=20)
        os.kill(pid, signal.SIGSTOP)
        monkeypatch.setattr("jmsbridge.cli.serve.supervisor._SILENT", 2)
        eventually(lambda: not served.health().is_live)
        os.kill(pid, signal.SIGCONT)
        eventually(lambda: served.health().is_ready)
    finally:
        served._kill_all()


SELECTING = """
from jmsbridge.app import App
app = App("embedded:broker.db")

@app.listener("orders", selector="rush = TRUE")
def on_rush(text: str) -> None: ...

@app.listener("orders", selector="rush = FALSE")
def on_order(text: str) -> None: ...
"""


def test_the_depth_is_told_by_a_process_that_can(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """And what waits in a queue of two listeners counts once."""
    (tmp_path / "shop.py").write_text(SELECTING, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}{os.pathsep}{ROOT / 'backends'}")
    monkeypatch.chdir(tmp_path)
    with jmsbridge.context("embedded:broker.db") as context:
        context.create_producer().send(Queue("orders"), "neither").send(Queue("orders"), "nor")
    monkeypatch.setattr(processes, "_LATELY", 3.0)
    served = Supervisor([Order(app="shop:app", number=number, pipe=-1) for number in range(2)], None)
    served._start_due()

    def tells(*expected: int | None) -> bool:
        served._look()
        return [each["depth"] for each in depths(served)] == list(expected)

    def depths(served: Supervisor) -> list[dict[str, Any]]:
        told = msgspec.to_builtins(served.health())
        return [process["listeners"][0] for process in told["processes"] if process["listeners"]]

    pid = served._slots[0].pid
    assert pid is not None
    try:
        eventually(lambda: served._slots[0].can_tell_depths(), timeout=20)
        eventually(lambda: tells(2, None), timeout=20)
        assert served.line().endswith("2 waiting")
        os.kill(pid, signal.SIGSTOP)
        eventually(lambda: tells(None, 2), timeout=20)
        assert served.line().endswith("2 waiting")
    finally:
        served._kill_all()


def test_what_an_ended_process_has_handled_still_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(SERVING.replace("embedded:?broker=silent", "embedded:broker.db"), "utf-8")
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}{os.pathsep}{ROOT / 'backends'}")
    monkeypatch.chdir(tmp_path)
    with jmsbridge.context("embedded:broker.db") as context:
        context.create_producer().send(Queue("orders"), "one").send(Queue("orders"), "two")
    served = Supervisor([Order(app="shop:app", number=0, pipe=-1)], None)
    served._start_due()
    try:
        eventually(lambda: "2 handled" in served.line(), timeout=20)
        served._slots[0].kill()
        served._handle(*served._events.get(timeout=20))
        assert served.health().state == "dead"
        assert "2 handled" in served.line()
    finally:
        served._kill_all()


COUNTING = """
import signal, time
def count(number, frame):
    with open("signals", "a") as file:
        file.write("x")
signal.signal(signal.SIGTERM, count)
open("serving", "w").close()
while True:
    time.sleep(0.05)
"""


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Supervisor]:
    """With one process that serves, and counts signals in a file; it reloads what changes in the folder."""
    (tmp_path / "shop.py").write_text(COUNTING, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}{os.pathsep}{ROOT / 'backends'}")
    served = Supervisor([Order(app="shop:app", number=0, pipe=-1)], Sources(tmp_path))
    served._start_due()
    try:
        eventually(lambda: (tmp_path / "serving").exists())
        yield served
    finally:
        served._kill_all()


def test_a_second_change_does_not_hurry_the_processes_that_end_for_the_first(
    counting: Supervisor, tmp_path: Path
) -> None:
    for name in ("first.py", "second.py"):
        (tmp_path / name).write_text("", encoding="utf-8")
        counting._look()
        eventually(lambda: (tmp_path / "signals").exists())
    time.sleep(0.3)  # sleep: a second signal would have come by now
    assert (tmp_path / "signals").read_text(encoding="utf-8") == "x"


def test_a_first_signal_does_not_hurry_the_processes_that_a_reload_ends(counting: Supervisor, tmp_path: Path) -> None:
    signals = tmp_path / "signals"
    (tmp_path / "first.py").write_text("", encoding="utf-8")
    counting._look()
    eventually(signals.exists)
    counting._handle("signal", signal.SIGTERM)
    time.sleep(0.3)  # sleep: a second signal would have come by now
    assert signals.read_text(encoding="utf-8") == "x"
    counting._handle("signal", signal.SIGTERM)
    eventually(lambda: signals.read_text(encoding="utf-8") == "xx")


def test_a_process_that_imports_for_too_long_is_stuck(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text("import time\ntime.sleep(1000)\n", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}{os.pathsep}{ROOT / 'backends'}")
    one = Supervisor([Order(app="shop:app", number=0, pipe=-1)], None)
    one._start_due()
    try:
        assert one.health().state == "connecting"
        monkeypatch.setattr(supervisor, "_LOADING", 0.0)
        assert one.health().state == "stuck"
    finally:
        one._kill_all()


def test_a_client_that_says_nothing_does_not_keep_the_probes_waiting() -> None:
    server = HealthServer("127.0.0.1", 0, _health)
    try:
        silent = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(3)]
        with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/live", timeout=2) as answer:
            assert answer.status == 200
        for each in silent:
            each.close()
    finally:
        server.close()


def _health() -> Health:
    return Health(state="connected", processes=[])


def test_a_port_that_is_taken_is_named() -> None:
    server = HealthServer("127.0.0.1", 0, _health)
    try:
        with pytest.raises(ConfigurationError, match=f"port {server.port} of 127"):
            HealthServer("127.0.0.1", server.port, _health)
    finally:
        server.close()


def _has_six() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as one:
            one.bind(("::1", 0))
    except OSError:
        return False
    return True


@pytest.mark.skipif(not _has_six(), reason="needs IPv6")
def test_the_health_is_told_over_ipv6() -> None:
    server = HealthServer("::1", 0, _health)
    try:
        with urllib.request.urlopen(f"http://[::1]:{server.port}/live", timeout=5) as answer:
            assert answer.status == 200
    finally:
        server.close()


@pytest.mark.parametrize(
    ("text", "parts"),
    [("shop.listeners:app", ("shop.listeners", "app")), ("shop", ("shop", "app")), ("a:b.c", ("a", "b.c"))],
)
def test_the_name_of_an_application(text: str, parts: tuple[str, str]) -> None:
    assert module_and_attribute(text) == parts

"""``jmsbridge run`` with real processes on a broker in a file."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import jmsbridge
from jmsbridge import Queue
from tests.app.support import eventually
from tools.laws.source import ROOT

APPLICATION = """
import os, signal, sys, time
from jmsbridge.app import App

app = App("embedded:broker.db")

@app.listener("orders", deadline=0.5, concurrency=2, prefetch=1)
def on_order(text: str) -> str:
    if text == "die" and not os.path.exists("died"):
        open("died", "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    if text == "leave":
        app.request_stop()
    if text.startswith("sleep"):
        time.sleep(float(text.split()[1]))
    return f"{text} by {os.getpid()}"
"""


class Run:
    """``jmsbridge run`` in a folder of its own; standard error is read by a thread."""

    def __init__(self, folder: Path, *arguments: str, application: str = APPLICATION, app: str = "shop:app") -> None:
        self.folder = folder
        self.url = f"embedded:{folder}/broker.db"
        (folder / "shop.py").write_text(application, encoding="utf-8")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "jmsbridge", "run", app, *arguments],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'backends'}"},
        )
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.append(line)

    def logged(self, words: str) -> bool:
        return any(words in line for line in self.lines)

    def send(self, *texts: str) -> None:
        with jmsbridge.context(self.url) as context:
            for text in texts:
                context.create_producer().set_jms_reply_to(Queue("replies")).send(Queue("orders"), text)

    def replies(self, count: int) -> list[str]:
        with jmsbridge.context(self.url) as context:
            consumer = context.create_consumer(Queue("replies"))
            found = [consumer.receive_body(str, timeout=15) for _ in range(count)]
        assert None not in found, "".join(self.lines)
        return [str(each) for each in found]

    def orders(self) -> int:
        with jmsbridge.connect(self.url) as connection:
            return connection.admin.depth(Queue("orders"))

    def end(self, number: int | None = signal.SIGTERM) -> int:
        if number is not None:
            self.process.send_signal(number)
        code = self.process.wait(20)
        self._reader.join(10)
        assert self.process.stderr is not None
        self.process.stderr.close()
        return code


@pytest.fixture
def runs() -> Iterator[list[Run]]:
    made: list[Run] = []
    yield made
    for each in made:
        if each.process.poll() is None:
            each.process.kill()
            each.process.wait(10)


def health(port: int, path: str = "/") -> tuple[int, Any]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def free_port() -> int:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def test_processes_share_the_work_and_end_in_order(tmp_path: Path, runs: list[Run]) -> None:
    port = free_port()
    run = Run(tmp_path, "--processes", "2", "--health-port", str(port))
    runs.append(run)
    eventually(lambda: run.logged('"message": "listening: on_order"') and len(run.lines) >= 2, 20)
    eventually(lambda: health(port)[0] == 200)
    run.send(*(f"sleep 0.2 {number}" for number in range(8)))
    workers = {reply.rpartition(" ")[2] for reply in run.replies(8)}
    assert len(workers) == 2
    status, told = eventually(lambda: found if sum(_handled(found := health(port, "/ready"))) == 8 else None)
    assert (status, told["state"]) == (200, "connected")
    assert {str(process["pid"]) for process in told["processes"]} == workers
    eventually(lambda: 0 in [each["listeners"][0]["depth"] for each in health(port)[1]["processes"]])
    assert health(port, "/live")[0] == 200
    assert health(port, "/nowhere")[0] == 404
    assert run.end() == 0
    assert all(json.loads(line)["level"] in ("INFO", "WARNING") for line in run.lines)
    assert not [line for line in run.lines if json.loads(line)["thread"].startswith("Dummy")]
    assert sum("all listeners have ended" in line for line in run.lines) == 2


def _handled(answer: tuple[int, Any]) -> list[int]:
    return [listener["handled"] for process in answer[1]["processes"] for listener in process["listeners"]]


def test_a_process_that_dies_is_started_again_and_nothing_is_lost(tmp_path: Path, runs: list[Run]) -> None:
    run = Run(tmp_path)
    runs.append(run)
    run.send("a", "die", "b")
    assert sorted(reply.partition(" ")[0] for reply in run.replies(3)) == ["a", "b", "die"]
    assert run.logged("worker 0 ended with -9; restarted in 1 s")
    assert run.end() == 0
    assert run.orders() == 0


def test_pauses_grow_while_a_process_dies_again_and_again(tmp_path: Path, runs: list[Run]) -> None:
    dying = "import os\nfrom jmsbridge.app import App\napp = App('embedded:')\nos._exit(7)\n"
    run = Run(tmp_path, application=dying)
    runs.append(run)
    eventually(lambda: run.logged("worker 0 ended with 7; restarted in 2 s"), 20)
    assert run.end() == 1


def test_a_stuck_listener_shows_in_the_health_and_in_the_exit_code(tmp_path: Path, runs: list[Run]) -> None:
    port = free_port()
    run = Run(tmp_path, "--health-port", str(port), "--stop-timeout", "200ms")
    runs.append(run)
    run.send("sleep 1000")
    eventually(lambda: run.logged("over its deadline"), 20)
    status, told = eventually(lambda: found if (found := health(port, "/live"))[0] == 503 else None)
    assert (status, told["state"]) == (503, "stuck")
    assert told["processes"][0]["listeners"][0]["stuck"][0] >= 0.5  # of a deadline of 0.5 s, rounded
    assert run.end() == 4
    assert run.orders() == 1


def test_a_second_signal_ends_the_processes_at_once(tmp_path: Path, runs: list[Run]) -> None:
    run = Run(tmp_path)
    runs.append(run)
    run.send("sleep 1000")
    eventually(lambda: run.logged("over its deadline"), 20)
    run.process.send_signal(signal.SIGINT)
    eventually(lambda: run.logged("stopping: SIGTERM"))
    assert run.end(signal.SIGINT) == 130
    assert run.orders() == 1


def test_workers_end_when_the_supervising_process_is_killed(tmp_path: Path, runs: list[Run]) -> None:
    run = Run(tmp_path)
    runs.append(run)
    run.send("a")
    (reply,) = run.replies(1)
    assert run.end(signal.SIGKILL) == -9
    worker = int(reply.rpartition(" ")[2])
    eventually(lambda: not _lives(worker))


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return b") Z " not in Path(f"/proc/{pid}/stat").read_bytes() if os.path.isdir("/proc/self") else True
    except (ProcessLookupError, FileNotFoundError):
        return False


def test_an_application_may_end_itself(tmp_path: Path, runs: list[Run]) -> None:
    run = Run(tmp_path)
    runs.append(run)
    run.send("leave")
    assert run.end(None) == 0


def test_a_process_that_ended_itself_leaves_the_others_ready(tmp_path: Path, runs: list[Run]) -> None:
    port = free_port()
    run = Run(tmp_path, "--processes", "2", "--health-port", str(port))
    runs.append(run)
    eventually(lambda: sum("listening" in line for line in run.lines) == 2, 20)
    run.send("leave")
    eventually(lambda: "ended" in [each["state"] for each in health(port)[1]["processes"]])
    eventually(lambda: health(port, "/ready")[0] == 200)
    assert run.end() == 0


def test_a_process_that_another_program_has_stopped_is_started_again(tmp_path: Path, runs: list[Run]) -> None:
    run = Run(tmp_path)
    runs.append(run)
    run.send("a")
    (reply,) = run.replies(1)
    os.kill(int(reply.rpartition(" ")[2]), signal.SIGTERM)
    eventually(lambda: run.logged("worker 0 ended with 0; restarted in 1 s"))
    run.send("b")
    (after,) = run.replies(1)
    assert after.rpartition(" ")[2] != reply.rpartition(" ")[2]
    assert run.end() == 0


def test_a_process_that_was_killed_before_the_stop_is_no_failure_of_the_stop(tmp_path: Path, runs: list[Run]) -> None:
    run = Run(tmp_path, "--processes", "2")
    runs.append(run)
    eventually(lambda: sum("listening" in line for line in run.lines) == 2, 20)
    run.send("die")
    eventually(lambda: run.logged("ended with -9"))
    assert run.end() == 0


def test_what_the_application_logs_while_it_is_imported_has_the_form_of_the_log(
    tmp_path: Path, runs: list[Run]
) -> None:
    application = f"import logging\nlogging.getLogger('shop').warning('early')\n{APPLICATION}"
    run = Run(tmp_path, application=application)
    runs.append(run)
    eventually(lambda: run.logged("listening"), 20)
    assert run.end() == 0
    assert next(json.loads(line)["message"] for line in run.lines) == "early"


def test_reload_serves_the_changed_source(tmp_path: Path, runs: list[Run]) -> None:
    run = Run(tmp_path, "--reload")
    runs.append(run)
    run.send("a")
    assert run.replies(1)[0].startswith("a by ")
    (tmp_path / "shop.py").write_text(APPLICATION.replace(" by ", " again by "), encoding="utf-8")
    os.utime(tmp_path / "shop.py", (time.time() + 5, time.time() + 5))
    eventually(lambda: run.logged("reloading"))
    eventually(lambda: sum("listening" in line for line in run.lines) == 2, 20)
    run.send("b")
    assert run.replies(1)[0].startswith("b again by ")
    (tmp_path / "shop.py").write_text("this is no Python", encoding="utf-8")
    eventually(lambda: run.logged("shop cannot be imported: SyntaxError"), 20)
    assert run.process.poll() is None  # the next change may mend it
    assert run.end() == 2


def test_a_stop_while_the_application_is_imported_is_no_failure(tmp_path: Path, runs: list[Run]) -> None:
    run = Run(tmp_path, application="import time\nopen('importing', 'w').close()\ntime.sleep(60)\n")
    runs.append(run)
    eventually(lambda: (tmp_path / "importing").exists(), 20)
    assert run.end() == 0


@pytest.mark.parametrize(
    ("app", "words"),
    [
        ("nowhere:app", "there is no module 'nowhere'"),
        ("./shop:app", "'./shop' is no name of a module"),
        ("shop:nothing", "shop has no 'nothing': write MODULE:APP, such as shop.listeners:app"),
        ("shop:sys", "shop:sys is not an App but module"),
    ],
)
def test_an_application_that_is_not_there_is_told_in_words(
    tmp_path: Path, runs: list[Run], app: str, words: str
) -> None:
    run = Run(tmp_path, app=app)
    runs.append(run)
    assert run.end(None) == 2
    assert run.logged(words)


AT_EXIT = """
import atexit, os, sys, time
from jmsbridge.app import App

app = App("embedded:broker.db")
sys.modules["__main__"]._AT_EXIT = 1
atexit.register(time.sleep, 1000)
atexit.register(lambda: open("flushed", "w").close())

@app.listener("orders")
def on_order(text: str) -> None: ...
"""


def test_what_is_registered_with_atexit_runs_and_cannot_keep_the_process(tmp_path: Path, runs: list[Run]) -> None:
    """Such as an exporter of telemetry, which sends its last spans."""
    run = Run(tmp_path, application=AT_EXIT)
    runs.append(run)
    eventually(lambda: run.logged("listening"), timeout=90)
    assert run.end() == 0, "".join(run.lines)
    assert (tmp_path / "flushed").exists()


def test_the_target_of_the_command_line_goes_first(tmp_path: Path, runs: list[Run]) -> None:
    run = Run(tmp_path, "--target", f"embedded:{tmp_path}/broker.db", "-o", "prefetch=3",
              application=APPLICATION.replace("embedded:broker.db", "embedded:elsewhere.db"))  # fmt: skip
    runs.append(run)
    run.send("a")
    run.replies(1)
    assert not (tmp_path / "elsewhere.db").exists()
    assert run.end() == 0

"""Details that users expect of a command line, and its messages when it does something else."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from jmsbridge import Connection, Topic
from jmsbridge.cli import app
from jmsbridge.cli.receive import Tally
from tests.core.emulation.support import Broker

Run = Callable[..., Result]

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("command", [("doctor",), ("bench", "-n", "3"), ("config", "show")])
def test_a_target_is_an_argument_or_an_option(run: Run, command: tuple[str, ...]) -> None:
    url = "embedded:?broker=either-way"
    assert run(*command, url).exit_code == 0
    assert run(*command, "-t", url).exit_code == 0
    assert run(*command, url, "--target", url).exit_code == 0
    result = run(*command, url, "-t", "embedded:")
    assert (result.exit_code, "given twice" in result.stderr) == (2, True)


def test_a_topic_is_waited_for(broker: str, connection: Connection) -> None:
    """The message comes long after the second for which a queue would be waited for."""
    found: list[Result] = []
    waiting = threading.Thread(
        target=lambda: found.append(CliRunner().invoke(app, ["receive", "topic:news", "--count", "1", "-f", "text"]))
    )
    waiting.start()
    producer = connection.create_session().create_producer(Topic("news"))
    while waiting.is_alive():
        producer.send("at last")
        waiting.join(1.3)
    assert (found[0].exit_code, found[0].stdout) == (0, "at last\n")
    assert found[0].stderr == "waiting for messages published from now on; stop with Ctrl-C\n"


def test_receive_from_a_durable_subscription_ends_after_its_backlog(run: Run) -> None:
    read = ("receive", "topic:news", "--durable", "d", "--shared", "d", "--timeout", "20ms")
    assert run(*read).stderr == "no message within 0.02 s (see --timeout)\n"
    run("send", "topic:news", "x")
    assert run(*read).stderr == ""


def test_fewer_messages_than_requested_are_reported(run: Run) -> None:
    run("send", "q", "a", "b")
    result = run("receive", "q", "--count", "5")
    assert result.exit_code == 0
    assert result.stderr == "2 of 5 messages: no further one within 0.02 s (see --timeout)\n"
    assert "no message within" in run("receive", "q").stderr
    run("send", "q", "a")
    assert run("receive", "q", "--count", "1").stderr == ""
    assert run("browse", "q").stderr == "no messages in queue:q\n"
    assert run("browse", "q", "-s", "a = 1").stderr == "no matching messages in queue:q\n"
    assert run("dlq", "show").stderr == "no messages in queue:DLQ\n"


@pytest.mark.parametrize("text", ["1\n2\n", "hello world\n", "[1]\n", '"x"\n', "null\n"])
def test_lines_that_are_not_messages_get_advice_on_the_format(run: Run, text: str) -> None:
    result = run("send", "q", text=text)
    assert result.exit_code == 1
    assert "for lines of plain text, use send --format text" in result.stderr


def test_load_reads_standard_input_where_it_is_asked_to(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"body":"from a file"}\n', encoding="utf-8")
    result = run("load", "--to", "q", "a.jsonl", "-", text='{"body":"from the pipe"}\n')
    assert (result.exit_code, result.stderr.splitlines()[-1]) == (0, "2 loaded")
    bodies = [json.loads(line)["body"] for line in run("receive", "q").stdout.splitlines()]
    assert bodies == ["from a file", "from the pipe"]
    assert run("load", "--to", "q", "nowhere.jsonl").exit_code == 2
    assert run("load", "--to", "q", str(tmp_path)).exit_code == 2


def test_load_reads_a_named_pipe(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=lambda: path.write_text('{"body":"x"}\n', encoding="utf-8"))
    writer.start()
    assert "1 loaded" in run("load", "--to", "q", str(path)).stderr
    writer.join(5)


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("# comment\nspring.rabbitmq.host=h\nspring.rabbitmq.port=1\n", "rabbitmq://h:1"),
        ("spring:\n  rabbitmq:\n    host: h\n    port: 1\n", "rabbitmq://h:1"),
        ("---\nspring: {rabbitmq: {host: h, port: 1}}\n", "rabbitmq://h:1"),
        ("amqp://h:1/v\n", "rabbitmq://h:1/v"),
        ("amqps://u:p@h:1/v?heartbeat=5", "rabbitmqs://h:1/v"),
        ("factory = com.rabbitmq.jms.admin.RMQObjectFactory\nhost : h\n", "rabbitmq://h"),
    ],
)
def test_import_reads_standard_input(run: Run, text: str, url: str) -> None:
    result = run("import", "-", "--json", text=text)
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["profile"]["url"] == url


def test_the_format_of_standard_input_can_be_given(run: Run) -> None:
    text = "spring.rabbitmq.host: h\n"
    for kind in ("properties", "yaml"):
        assert json.loads(run("import", "-", "--json", "--kind", kind, text=text).stdout)["profile"] == {
            "url": "rabbitmq://h"
        }
    assert run("import", "-", "--kind", "url", text=text).exit_code == 2
    assert run("import", "-", text="").exit_code == 2


def test_each_emulation_is_reported_in_one_short_line(run: Run) -> None:
    with Broker() as broker:
        broker.connect()
        url = f"{broker.name}:?broker={broker.name}"
        told = run("receive", "q", "-s", "a = 1", "-t", url).stderr.splitlines()
    assert told[0].endswith(" has no selector on a queue: emulated; `jmsbridge doctor` shows the price")
    assert "no message within" in told[1]
    assert len(told) == 2


INTERRUPTED = {
    ("receive", "q", "--follow"): "0 received",
    ("receive", "topic:news"): "0 received",
    ("send", "q", "-f", "text"): "0 sent",
    ("send", "q", "-f", "bytes"): "0 sent",
    ("load", "-"): "0 loaded",
    ("import", "-"): "interrupted",
    ("bench", "-n", "100000000", "--time", "1h"): "interrupted",
}


@pytest.mark.parametrize("command", INTERRUPTED, ids=" ".join)
def test_ctrl_c_ends_with_130_and_says_how_far_it_came(command: tuple[str, ...], tmp_path: Path) -> None:
    program = (
        "import signal, sys, threading\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # background jobs inherit an ignored SIGINT
        "from jmsbridge.cli import bench, importing, main, receive, send\n"
        "def announced(call):\n"
        "    def announce(*arguments, **options):\n"
        "        threading.Timer(0.2, lambda: print('ready', flush=True)).start()\n"
        "        return call(*arguments, **options)\n"
        "    return announce\n"
        "bench.Bench = announced(bench.Bench)\n"
        "importing._source = announced(importing._source)\n"
        "receive.pump = announced(receive.pump)\n"
        "send._pump = announced(send._pump)\n"
        "main(sys.argv[1:])\n"
    )
    environment = {**os.environ, "JMSBRIDGE_URL": f"embedded:{tmp_path}/broker.db"}
    running = subprocess.Popen(
        [sys.executable, "-c", program, *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        cwd=tmp_path,
    )
    try:
        assert running.stdout is not None
        assert running.stdout.readline() == b"ready\n"
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=30)
    finally:
        running.kill()
        running.communicate(timeout=10)
    lines = err.decode().splitlines()
    assert running.returncode == 130, lines
    assert "interrupted" in lines
    assert INTERRUPTED[command] in lines
    assert "Traceback" not in err.decode()


def test_progress_keeps_the_last_number() -> None:
    tally = Tally()
    seen: list[int] = []
    tally.show = seen.append
    tally(1)
    tally(2)
    assert (tally.count, seen) == (2, [1, 2])


def test_the_help_names_headers_of_jms(run: Run) -> None:
    assert '"JMSPriority > 5"' in run("receive", "--help").stdout


def test_options_of_destinations_keep_their_names(run: Run) -> None:
    shown = run("config", "show", "-o", "redelivery.my-queue.max-redeliveries=unlimited", "-o", "send-timeout=3")
    lines = shown.stdout.splitlines()
    assert "redelivery.my-queue.max_redeliveries\t-1\tcall" in lines
    assert "redelivery.my-queue.delay\t0.1\tdefault" in lines
    assert "send_timeout\t3.0\tcall" in lines


@pytest.mark.parametrize("option", ["password:hunter2", "hunter2 x", "Hunter2", "hunter2"])
def test_an_option_without_a_value_does_not_show_what_may_be_one(run: Run, option: str) -> None:
    result = run("list", "-o", option)
    assert result.exit_code == 2
    assert "must have the form NAME=VALUE" in result.stderr
    assert "hunter2" not in result.stderr.replace("'hunter2'", "") or option == "hunter2"


def test_interrupted_work_says_how_far_it_came(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The broker is interrupted in its second step, whose effect is unknown."""
    run("send", "q", "--format", "text", text="x\n" * 1500)
    steps = [1000]

    class Admin:
        depth = staticmethod(lambda address: 1500)
        dead_letters = None

        def move(self, *arguments: object) -> int:
            if not steps:
                raise KeyboardInterrupt
            return steps.pop()

        def purge(self, *arguments: object) -> int:
            raise KeyboardInterrupt

    monkeypatch.setattr(Connection, "admin", property(lambda self: Admin()))
    moved = run("move", "q", "r")
    assert (moved.exit_code, moved.stderr) == (130, "interrupted\nat least 1000 moved from queue:q to queue:r\n")
    purged = run("purge", "q", "--yes")
    assert (purged.exit_code, purged.stderr) == (130, "interrupted\n1,500 messages left in queue:q\n")
    monkeypatch.setattr("jmsbridge.cli.files.print_browsed", _interrupted)
    exported = run("export", "q", "--output", "x.jsonl")
    assert (exported.exit_code, exported.stderr) == (130, "interrupted\nx.jsonl is not written\n")
    assert not Path("x.jsonl").exists()


def _interrupted(*arguments: object) -> int:
    raise KeyboardInterrupt


@pytest.mark.parametrize("command", [(), ("receive",), ("dlq", "return"), ("config", "show")], ids=" ".join)
def test_a_paragraph_of_the_help_is_as_wide_as_the_terminal(
    run: Run, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.setenv("COLUMNS", "1000")
    about = run(*command, "--help").stdout.partition("Usage: ")[2].partition("Examples:")[0].partition("╭")[0]
    assert [line for line in about.splitlines()[2:] if line.strip() and not line.rstrip().endswith((".", ":"))] == []

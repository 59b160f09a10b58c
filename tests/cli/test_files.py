"""export and load: load restores what export wrote, and no partial file is left."""

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from jmsbridge import JMSError, Message, MessageProducer
from jmsbridge.cli import files

Run = Callable[..., Result]


def browsed(run: Run, queue: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run("browse", queue).stdout.splitlines()]


def essence(message: dict[str, Any]) -> tuple[Any, ...]:
    headers = {name: message["headers"].get(name) for name in ("jms_priority", "jms_type", "jms_delivery_mode")}
    return message["kind"], message["body"], message["properties"], headers


def test_a_file_restores_queues(run: Run) -> None:
    assert run("send", "orders", "one", "two", "-p", "n:byte=3", "--type", "t", "--priority", "7", "-q").exit_code == 0
    assert run("send", "bills", "-q", text='{"kind": "map", "body": {"a": {"short": 1}}}').exit_code == 0
    before = [essence(each) for queue in ("orders", "bills") for each in browsed(run, queue)]
    assert "3 exported" in run("export", "orders", "bills", "--output", "all.jsonl").stderr
    for queue in ("orders", "bills"):
        assert run("receive", queue).exit_code == 0
    assert "3 loaded" in run("load", "all.jsonl").stderr
    assert [essence(each) for queue in ("orders", "bills") for each in browsed(run, queue)] == before


def test_load_can_continue_after_a_bad_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"body": "a"}\n\n{"body": "b"}\n{bad\n{"body": "d"}\n', encoding="utf-8")
    result = run("load", "in.jsonl", "--to", "q")
    assert (result.exit_code, "2 loaded\n--skip 2 continues\nerror: in.jsonl, line 4:" in result.stderr) == (1, True)
    assert "1 loaded" in run("load", "in.jsonl", "--to", "q", "--skip", "3").stderr
    assert [each["body"] for each in browsed(run, "q")] == ["a", "b", "d"]
    assert (run("load", "nowhere.jsonl").exit_code, run("load", str(tmp_path)).exit_code) == (2, 2)
    assert f"error: '{tmp_path}' is a folder\n" in run("load", str(tmp_path)).stderr


def test_load_continues_at_the_message_that_the_broker_refused(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The broker's answers come late: it has messages behind the refused one, and a count would skip that one."""
    all_sent = threading.Event()
    send = MessageProducer.send

    def answered_late(*what: Any, completion_listener: Any, **options: Any) -> None:
        class Answers:
            def on_completion(self, message: Message) -> None:
                assert all_sent.wait(30)
                if message.jms_type == "refused":
                    completion_listener.on_exception(message, JMSError("refused"))
                else:
                    completion_listener.on_completion(message)

            def on_exception(self, message: Message, error: Exception) -> None:
                completion_listener.on_exception(message, error)

        is_last = what[2].jms_type == "last"
        send(*what, completion_listener=Answers(), **options)
        if is_last:
            all_sent.set()

    monkeypatch.setattr(MessageProducer, "send", answered_late)
    past = [{"jms_expiration": 1}] * 2
    headers = past + [{"jms_type": each} for each in ("a", "refused", "b", "last")]
    lines = [json.dumps({"headers": each}) + "\n" for each in headers]
    result = run("load", "--to", "q", "--skip", "1", text="".join(lines))
    assert result.stderr.endswith(
        "3 loaded\n--skip 3 continues; this sends the 2 behind that message again\nerror: message 4: refused\n"
    )
    assert result.exit_code == 1


def test_standard_input_and_output(run: Run) -> None:
    assert run("send", "q", "x", "-q").exit_code == 0
    line = run("export", "q").stdout
    assert json.loads(line)["body"] == "x"
    assert run("load", "--to", "copy", text=line).exit_code == 0
    assert [each["body"] for each in browsed(run, "copy")] == ["x"]


def test_a_file_is_only_overwritten_with_force(run: Run, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine", encoding="utf-8")
    assert run("export", "q", "-O", "out").exit_code == 2
    assert (tmp_path / "out").read_text(encoding="utf-8") == "mine"
    assert run("export", "q", "-O", "out", "--force").exit_code == 0
    assert (tmp_path / "out").read_text(encoding="utf-8") == ""


def test_an_interrupted_export_leaves_no_file(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*arguments: Any) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(files, "print_browsed", stopped)
    assert run("export", "q", "-O", "out").exit_code == 130
    assert list(tmp_path.glob("*out*")) == []

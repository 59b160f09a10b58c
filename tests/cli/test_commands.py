import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer.main
from typer.testing import Result

from jmsbridge import Connection, Message, Queue, TextMessage, Topic
from jmsbridge.cli import app
from jmsbridge.config.features import FEATURES
from jmsbridge.core.plan import Plan
from jmsbridge.spi import registry

Run = Callable[..., Result]


def lines(result: Result) -> list[dict[str, Any]]:
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def receive(connection: Connection, name: str) -> Message | None:
    session = connection.create_session()
    try:
        message: Message | None = session.create_consumer(Queue(name)).receive(timeout=1)
        return message
    finally:
        session.close()


def test_texts_of_the_command_line(run: Run, connection: Connection) -> None:
    result = run("send", "orders", "first", "second", "-p", "n:short=5", "-p", "name=x", "-p", "ok:boolean=true")
    assert result.exit_code == 0
    assert "2 sent" in result.stderr
    assert result.stdout == ""
    message = receive(connection, "orders")
    assert isinstance(message, TextMessage)
    assert message.text == "first"
    assert repr(message.get_object_property("n")) == "Short(5)"
    assert message.get_object_property("ok") is True
    assert message.get_string_property("name") == "x"


def test_headers_of_the_command_line(run: Run, connection: Connection) -> None:
    result = run(
        *("send", "orders", "x", "--priority", "9", "--time-to-live", "1m", "--correlation-id", "c", "--type", "t"),
        *("--reply-to", "topic:answers", "--non-persistent", "--quiet"),
    )
    assert (result.exit_code, result.stderr) == (0, "")
    message = receive(connection, "orders")
    assert message is not None
    assert (message.jms_priority, message.jms_correlation_id, message.jms_type) == (9, "c", "t")
    assert message.jms_reply_to == Topic("answers")
    assert message.jms_delivery_mode == 1
    assert message.jms_expiration - message.jms_timestamp == 60_000


def test_lines_of_text(run: Run) -> None:
    assert run("send", "q", "--format", "text", text="one\ntwo ü\r\n\nlast").exit_code == 0
    assert [line["body"] for line in lines(run("receive", "q"))] == ["one", "two ü\r", "", "last"]
    assert run("send", "q", "--format", "text", text=b"a\n\xff\n").exit_code == 1


def test_all_of_the_input_as_bytes(run: Run) -> None:
    assert run("send", "q", "-f", "bytes", text=b"\0\n\xff").exit_code == 0
    result = run("receive", "q", "-f", "bytes")
    assert result.stdout_bytes == b"\0\n\xff"


def test_receive_as_text(run: Run) -> None:
    run("send", "q", "one", "two")
    assert run("receive", "q", "--format", "text").stdout == "one\ntwo\n"


def test_receive_removes_messages(run: Run) -> None:
    run("send", "q", "one", "two", "three")
    assert len(lines(run("receive", "q", "--count", "2"))) == 2
    assert [line["body"] for line in lines(run("receive", "q", "--timeout", "50ms"))] == ["three"]
    assert lines(run("receive", "q", "--timeout", "0")) == []


def test_receive_with_a_selector(run: Run) -> None:
    run("send", "q", "a", "-p", "n:int=1")
    run("send", "q", "b", "-p", "n:int=2")
    assert [line["body"] for line in lines(run("receive", "q", "-s", "n > 1", "--timeout", "0.1"))] == ["b"]


@pytest.mark.parametrize(
    "command", [("receive",), ("browse",), ("export",), ("purge", "--yes"), ("dlq", "show", "--queue")]
)
def test_a_wrong_selector_is_a_wrong_command_line(run: Run, command: tuple[str, ...]) -> None:
    run("send", "q", "a")
    for wrong in ("n >", "n = 1) OR (n = 2"):
        result = run(*command, "q", "--selector", wrong)
        assert result.exit_code == 2
        assert "at position" in result.stderr


def test_receive_from_an_empty_queue_ends_with_an_exit_code(run: Run) -> None:
    assert run("receive", "q", "--timeout", "0.05").exit_code == 0
    assert run("receive", "q", "--timeout", "0.05", "--fail-if-empty").exit_code == 3
    assert run("browse", "q", "--fail-if-empty").exit_code == 3


def test_browsing_leaves_the_messages(run: Run) -> None:
    run("send", "q", "one", "two")
    assert [line["body"] for line in lines(run("browse", "q"))] == ["one", "two"]
    assert [line["body"] for line in lines(run("browse", "q", "-n", "1"))] == ["one"]
    assert [line["body"] for line in lines(run("receive", "q"))] == ["one", "two"]
    assert run("browse", "topic:t").exit_code == 2


def test_durable_subscription(run: Run) -> None:
    read = ("receive", "topic:news", "--durable", "reader", "--client-id", "me", "--timeout", "0.05")
    assert lines(run(*read)) == []
    run("send", "topic:news", "while away")
    assert [line["body"] for line in lines(run(*read))] == ["while away"]
    shared = ("receive", "topic:news", "--durable", "team", "--shared", "team", "--timeout", "0.05")
    assert lines(run(*shared)) == []
    run("send", "topic:news", "for the team")
    assert [line["body"] for line in lines(run(*shared))] == ["for the team"]


def test_a_durable_subscription_without_a_client_id_says_which_option_is_missing(run: Run) -> None:
    result = run("receive", "topic:news", "--durable", "reader")
    assert result.exit_code == 2
    assert "--durable reader needs --client-id NAME, or also --shared reader" in result.stderr


@pytest.mark.parametrize("quiet", [False, True])
def test_a_note_says_which_messages_may_not_outlast_the_command(run: Run, tmp_path: Path, quiet: bool) -> None:
    send = ("send", "q", "-t", f"embedded:{tmp_path}/kept.db", *(["--quiet"] if quiet else []))
    note = f"note: NON_PERSISTENT messages are dropped when the last process that has {tmp_path}/kept.db open closes it"
    line = '{"body":"x","headers":{"jms_delivery_mode":"NON_PERSISTENT"}}'
    for result in (run(*send, "x", "--non-persistent"), run(*send, text=line)):
        assert result.stderr.splitlines() == ([] if quiet else ["1 sent", note])
    assert run(*send, "x").stderr.splitlines() == ([] if quiet else ["1 sent"])


@pytest.mark.parametrize(
    "arguments",
    [
        ("receive", "q", "--durable", "x"),
        ("receive", "topic:t", "--durable", "x", "--shared", "y"),
        ("receive", "topic:"),
        ("receive",),
        ("receive", "q", "--timeout", "soon"),
        ("send", "q", "x", "-o", "prefetsch=1"),
        ("send", "q", "x", "-o", "prefetch"),
        ("send", "q", "x", "-t", "nowhere"),
        ("send", "q", "x", "-p", "n:short=many"),
        ("send", "q", "x", "-p", "n:tiny=1"),
        ("send", "q", "x", "--priority", "10"),
        ("doctor", "amqqp://host"),
        ("nothing",),
    ],
)
def test_a_wrong_command_line_ends_with_2(run: Run, arguments: tuple[str, ...]) -> None:
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hello\n", "line 1: not JSON"),
        ('{"body": "x"}\n[]\n', "line 2: a message must be a JSON object"),
        ('{"boddy": "x"}', "did you mean 'body'?"),
        ('{"kind": "txt", "body": "x"}', "did you mean 'text'?"),
        ('{"headers": {"jms_prioritty": 3}}', "did you mean 'jms_priority'?"),
        ('{"properties": {"n": {"shrt": 3}}}', "unknown type 'shrt'"),
        ('{"properties": {"n": {"short": 70000}}}', "does not fit"),
        ('{"properties": {"JMSn": 1}}', "JMSn"),
        ('{"properties": 3}', "must be an object"),
        ('{"kind": "map", "body": []}', "an object of fields"),
        ('{"kind": "stream", "body": {}}', "a list of fields"),
        ('{"kind": "bytes", "body": "§"}', "base64"),
        ('{"kind": "text", "body": 3}', "text or null"),
        ('{"kind": "message", "body": 3}', "cannot have a body"),
        ('{"headers": {"jms_delivery_mode": "SAFE"}}', "jms_delivery_mode must be"),
        ('{"headers": {"jms_reply_to": 3}}', "must be text"),
        ('{"headers": {"jms_expiration": "soon"}}', "must be an integer"),
        ('{"headers": {"jms_expiration": 1}}', "expired"),
        ('{"headers": {"jms_destination": "topic:"}}', "a destination needs a name"),
    ],
)
def test_a_bad_line_ends_with_1_and_is_named(run: Run, text: str, expected: str) -> None:
    result = run("send", "q", text=text)
    assert result.exit_code == 1, result.output
    assert expected in result.stderr
    assert "Traceback" not in result.output


def test_lines_before_a_bad_one_are_sent(run: Run) -> None:
    result = run("send", "q", text='{"body":"a"}\n\n{"body":"b"}\nno\n{"body":"c"}\n')
    assert result.exit_code == 1
    assert "2 sent" in result.stderr
    assert [line["body"] for line in lines(run("receive", "q"))] == ["a", "b"]


def test_a_line_may_name_its_destination(run: Run) -> None:
    document = json.dumps({"body": "x", "headers": {"jms_destination": "queue:own"}})
    assert run("send", text=document).exit_code == 0
    assert [line["body"] for line in lines(run("receive", "own"))] == ["x"]
    assert run("send", "other", text=document).exit_code == 0
    assert [line["body"] for line in lines(run("receive", "other"))] == ["x"]
    result = run("send", text='{"body": "x"}')
    assert (result.exit_code, "has no destination" in result.stderr) == (1, True)


def test_a_future_delivery_time_is_kept(run: Run, connection: Connection) -> None:
    run("send", "q", "later", "--delivery-delay", "1h")
    assert lines(run("receive", "q", "--timeout", "0.05")) == []
    message = connection.create_session().create_text_message("x")
    connection.create_session().create_producer(Queue("q2")).send(message)
    later = message.jms_timestamp + 3_600_000
    run("send", "q3", text=json.dumps({"body": "x", "headers": {"jms_delivery_time": later}}))
    assert lines(run("receive", "q3", "--timeout", "0.05")) == []


def test_doctor_shows_values_origins_and_no_secret(run: Run, tmp_path: Path) -> None:
    (tmp_path / "jmsbridge.toml").write_text(
        "[profiles.orders]\nurl = 'embedded:?broker=doctor'\nuser = 'app'\npassword = 'hunter2'\nprefetch = 17\n",
        encoding="utf-8",
    )
    result = run("doctor", "orders", "-o", "send_timeout=2s")
    assert result.exit_code == 0, result.output
    assert "hunter2" not in result.output
    for expected in (
        "17",
        "profile 'orders'",
        "send_timeout",
        "2.0",
        "call",
        "embedded broker",
        "***",
        "and received in",
    ):
        assert expected in result.stdout


def test_doctor_reports_a_refusal(run: Run) -> None:
    result = run("doctor", "embedded:?broker=guarded&credentials=me:hunter2", "--user", "you", "--password", "hunter3")
    assert result.exit_code == 1
    assert "✗" in result.stdout
    assert "hunter" not in result.output


def test_the_password_may_come_from_the_environment(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    url = "embedded:?broker=guarded&credentials=me:hunter2"
    monkeypatch.setenv("JMSBRIDGE_PASSWORD", "hunter2")
    assert run("send", "q", "x", "-t", url, "-u", "me").exit_code == 0
    monkeypatch.setenv("JMSBRIDGE_PASSWORD", "hunter3")
    result = run("send", "q", "x", "-t", url, "-u", "me")
    assert result.exit_code == 1
    assert "hunter" not in result.output


def test_backends_prints_the_table_of_production(run: Run) -> None:
    result = run("backends", "--json")
    document = json.loads(result.stdout)
    native = registry.load("embedded").native
    assert document["embedded"] == {row.name: Plan(native).outcome(row.native) for row in FEATURES}
    text = run("backends").stdout
    assert all(row.text in text for row in FEATURES)


def test_every_command_has_help_with_examples(run: Run) -> None:
    group: Any = typer.main.get_command(app)
    names = [(name, *inner) for name, each in group.commands.items() for inner in _inner(each)]
    assert len(names) > 18
    for words in names:
        result = run(*words, "--help")
        assert result.exit_code == 0
        assert f"jmsbridge {' '.join(words)}" in " ".join(result.stdout.split()).replace("Usage: jmsbridge", "")


def _inner(command: Any) -> list[tuple[str, ...]]:
    return [(name,) for name in command.commands] if hasattr(command, "commands") else [()]


def test_version(run: Run) -> None:
    result = run("--version")
    assert result.exit_code == 0
    assert result.stdout.strip()


def test_a_url_in_place_of_a_destination_is_refused_without_its_password(run: Run) -> None:
    result = run("send", "rabbitmq://app:hunter2@localhost", "orders", "x")
    assert result.exit_code != 0
    assert "--target" in result.stderr
    assert "hunter2" not in result.output + result.stderr


def test_mistakes_name_what_is_wrong(run: Run) -> None:
    for words, text in (
        (("-p", "x y=1"), "--property: 'x y' is not a property name"),
        (("-p", "JMSfoo=1"), "--property: 'JMSfoo' is not a property name"),
        (("-p", "JMSXGroupID:int=1"), "--property: JMSXGroupID must be a String"),
        (("--time-to-live", "9e99"), "--time-to-live: 9e+99 is too long a duration for a message\n"),
        (("--delivery-delay", "9e99"), "--delivery-delay: 9e+99 is too long a duration for a message\n"),
        (("--priority", "10"), "'--priority': it must be less than or equal to 9\n"),
        (("--priority", "x"), "'--priority': it must be a valid integer\n"),
        (("--format", "x"), "'--format' / '-f': 'x' is not one of 'json', 'text', 'bytes'"),
        (("-o", "prefetch=x"), "cannot be 'x': expected a whole number\n"),
        (("-o", "telemetry=x"), "cannot be 'x': expected true or false\n"),
        (("-o", "send_timeout=25d"), "cannot be '25d': expected seconds <= 2147483.647 (24 days)\n"),
    ):
        result = run("send", "orders", "x", *words)
        assert (result.exit_code, text in result.stderr) == (2, True), result.stderr
    result = run("browse", "orders", "--selector", "a = b c")
    assert (result.exit_code, result.stderr) == (
        2,
        "error: invalid selector: this is not allowed here at position 6: 'c'\n",
    )


def test_the_line_of_a_mistake(run: Run, tmp_path: Path) -> None:
    result = run("send", "orders", text='\n{"body": "x"}\n\n{"body": 1.5}\n')
    said = "a plain message cannot have a body: give its kind, bytes, stream or object"
    assert result.stderr.endswith(f"1 sent\nerror: line 4: {said}\n")
    result = run("send", "orders", text='{"body": "x", "properties": {"JMSfoo": 1}}\n')
    assert "error: line 1: 'JMSfoo' is not a property name" in result.stderr
    good, bad = tmp_path / "good.jsonl", tmp_path / "bad.jsonl"
    good.write_bytes(b'\xef\xbb\xbf{"body": "one"}\n\n{"body": "two"}\n')  # with the mark that editors on Windows write
    bad.write_bytes(b'{"body": "three"}\n\xff\xfe\n')
    result = run("load", "--to", "orders", "--skip", "2", str(good), str(bad))
    assert f"1 loaded\n--skip 3 continues\nerror: {bad}, line 2: not UTF-8: " in result.stderr

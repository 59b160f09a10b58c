"""Foreign text is printed literally: no markup, no emoji, no active control characters, no password."""

import io
import json
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import Result

from jmsbridge import Connection, Queue
from jmsbridge.cli.printing import counted, json_text, keep_secret, screen, shown
from jmsbridge.cli.progress import counting, working
from jmsbridge.cli.running import complain, note
from tests.cli.terminal import look, on_terminal

Run = Callable[..., Result]

NAME = "a:smile:b [red]x[/] [/nothing]"
EVIL = "\x1b]0;title\x07\x1b[31mEVIL\x9b2J\u202edrawkcab"
BODY = f":truck: [bold]7[/] {EVIL}\nsecond line"
_STYLE = re.compile(r"\x1b\[[0-9;?]*[mKHAlh]")


def seen(text: str) -> str:
    """A screen without the colours and cursor movements of rich itself."""
    plain = _STYLE.sub("", text)
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e]", plain), repr(plain)
    assert "😄" not in plain
    assert "🚚" not in plain
    return plain


@pytest.fixture
def filled(connection: Connection) -> Connection:
    session = connection.create_session()
    producer = session.create_producer(None)
    for name in (NAME, f"evil {EVIL}"):
        message = session.create_text_message(BODY)
        message.jms_type = f":smile: {EVIL}"
        message.jms_correlation_id = "[green]c[/]"
        message.set_string_property("mood", f":smile:{EVIL}")
        producer.send(Queue(name), message)
    return connection


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (("list",), (f"queue:{NAME}", "evil \\x1b]0;title\\x07\\x1b[31mEVIL\\x9b2J\\u202edrawkcab")),
        (("browse", NAME), (":truck: [bold]7[/] \\x1b]0;", "\nsecond line", "mood", ":smile:\\x1b", "[green]c[/]")),
        (("browse", NAME, "-f", "text"), (":truck: [bold]7[/] \\x1b]0;", "\nsecond line")),
        (("browse", NAME, "-f", "json"), (":truck: [bold]7[/] \\u001b]0;", "\\u009b2J\\u202e", "\\nsecond line")),
        (("receive", NAME, "--timeout", "0.01"), (":truck: [bold]7[/]", ":smile: \\x1b")),
        (("move", NAME, "other :smile:"), (f"1 moved from queue:{NAME} to queue:other :smile:",)),
        (("purge", NAME, "--yes"), (f"1 deleted from queue:{NAME}",)),
        (("remove", NAME, "--yes"), (f"queue:{NAME} removed",)),
        (("create", f"new {EVIL}"), ("queue:new \\x1b]0;title\\x07\\x1b[31mEVIL",)),
        (("export", NAME), ("1 exported",)),
        (("dlq", "list", "--queue", NAME), (f"queue:{NAME}: 1 message",)),
        (("dlq", "show", "--queue", NAME), (":truck: [bold]7[/]",)),
        (("list", "-t", f"no {EVIL}:smile:[red]"), ("unknown profile", "\\x1b[31mEVIL")),
        (("browse", f"topic:{NAME}",), ("only a queue can be browsed",)),
        (("send", NAME, "x", "--reply-to", "topic:"), ("a destination needs a name",)),
        (("config", "show", "-o", f"client_id=:smile:{EVIL}"), (":smile:\\x1b]0;",)),
        (("doctor", "embedded:?broker=:smile:"), (":smile:", "✓")),
        (("receive", "q", "--selector", ":smile: [red]"), ("at position 0: ':'",)),
        ((":smile:",), ("No such command ':smile:'",)),
        (("list", "--:smile:"), (":smile:",)),
        (("import", "no :smile:.yml"), ("no :smile:.yml",)),
    ],
    ids=lambda value: " ".join(value)[:30] if isinstance(value, tuple) else "",
)  # fmt: skip
def test_every_command_prints_foreign_text_literally(
    monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    _, text = look(monkeypatch, *command)
    text = seen(text)
    assert [each for each in expected if each not in text] == [], text


@pytest.mark.usefixtures("filled")
def test_a_line_of_a_pipe_stays_one_line(run: Run, connection: Connection) -> None:
    connection.create_session().create_producer(Queue("tab\there\nline")).send("x")
    lines = run("list").stdout.splitlines()
    assert [line.split("\t")[0] for line in lines if "tab" in line] == ["queue:tab\\there\\nline"]
    assert {line.count("\t") for line in lines} == {4}


def test_progress_and_status_show_names_literally(monkeypatch: pytest.MonkeyPatch) -> None:
    with on_terminal(monkeypatch, "stderr") as screens:
        with working(f"removing {NAME} {EVIL}"):
            note(f"a line beside it {NAME}")
        with counting(":smile: [red]", total=3) as show:
            show(2)
            complain(f"failed {EVIL}")
    text = seen(screens["stderr"].text())
    for expected in (f"removing {NAME} \\x1b]0;", f"a line beside it {NAME}", "error: failed \\x1b", ":smile: [red]"):
        assert expected in text


def test_a_terminal_shows_that_input_is_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    with on_terminal(monkeypatch, "stderr") as screens, counting("sent", waiting="waiting for input") as show:
        wait_for(lambda: "waiting for input" in screens["stderr"].text())
        assert "0 sent" not in screens["stderr"].text()
        show(3)
        wait_for(lambda: "3 sent" in screens["stderr"].text())


def wait_for(condition: Callable[[], bool]) -> None:
    """Wait until the condition is true; AssertionError after 10 seconds."""
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0)


def test_raw_bytes_are_not_printed_on_a_terminal(monkeypatch: pytest.MonkeyPatch, broker: str) -> None:
    code, text = look(monkeypatch, "receive", "q", "-f", "bytes")
    assert (code, "use a file, a pipe" in text) == (2, True)


JSON = st.recursive(st.booleans() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))


@given(JSON)
def test_json_is_the_same_document_and_harmless(document: object) -> None:
    text = json_text(document)
    assert json.loads(text) == document
    assert not re.search("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]", text)


@given(st.text())
def test_text_is_shown_without_controls(text: str) -> None:
    assert not re.search("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]", shown(text))
    assert shown(text, lines=True).count("\n") == text.count("\n")
    if text.isprintable():
        assert shown(text) == text


def test_errors_hide_passwords_from_the_command_line() -> None:
    keep_secret(["send", "rabbitmq:/me:hunter2@host", "--option=tcp://me:hunter3@host"])
    told = shown("cannot do rabbitmq:/me:hunter2@host, nor 'tcp://me:hunter3@host'")
    keep_secret([])
    assert told == "cannot do rabbitmq:/me:***@host, nor 'tcp://me:***@host'"


def test_numbers_and_nouns() -> None:
    assert [counted(count, "message") for count in (0, 1, 2, 12345)] == [
        "0 messages",
        "1 message",
        "2 messages",
        "12,345 messages",
    ]


def test_a_console_prints_text_literally() -> None:
    out = io.StringIO()
    screen(out).print(":smile: [red]x[/] https://example 12")
    assert out.getvalue() == ":smile: [red]x[/] https://example 12\n"


def test_a_file_name_with_a_password_like_form_is_hidden(run: Run, tmp_path: Path) -> None:
    result = run("export", "q", "--output", f"{tmp_path}/no/rabbitmq:me:hunter2@host")
    assert result.exit_code == 2
    assert "hunter2" not in result.stderr

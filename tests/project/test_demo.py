"""The demo does its job and notices when something is wrong."""

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

import jmsbridge
from jmsbridge import Connection, Queue, Topic
from jmsbridge.demo import routes
from jmsbridge.demo.__main__ import main
from jmsbridge.demo.files import TextFile, find_files, lines_of, rebuilt
from jmsbridge.demo.lines import Collected, compare
from jmsbridge.demo.report import Leg, show

FILES = [
    TextFile("a.py", b"one\ntwo\r\n\n  three"),
    TextFile("b/b.md", "ü\u2028split\x0b\x0cmore\n".encode()),
    TextFile("c.py", b"\n" * 300),
]


def test_the_whole_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("JMSBRIDGE_URL", "embedded:?broker=demo")
    for file in FILES:
        path = tmp_path / file.name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(file.content)
    assert main([str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "byte for byte" in shown
    assert shown.count("identical") == 5


def test_the_demo_without_files_or_broker_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path)]) == 1
    (tmp_path / "a.txt").write_text("x", encoding="utf-8")
    monkeypatch.setenv("JMSBRIDGE_URL", "emmbedded:")
    assert main([str(tmp_path)]) == 1
    assert "did you mean 'embedded'" in " ".join(capsys.readouterr().out.split())


def test_lines_joined_are_the_file() -> None:
    lines = [(line.file, line.number, line.text) for file in FILES for line in lines_of(file)]
    assert rebuilt(reversed(lines)) == {file.name: file.content for file in FILES}


def test_only_text_files_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"x\n")
    (tmp_path / "b.txt").write_bytes(b"\xff\xfe")
    (tmp_path / "c.bin").write_bytes(b"x")
    (tmp_path / "d.txt").write_bytes(b"")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "e.txt").write_bytes(b"x")
    (tmp_path / "f.txt").write_bytes(b"x\n" * 10)
    assert [file.name for file in find_files(tmp_path, 5)] == ["a.txt"]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda lines: lines[:-1], "c.py was changed"),
        (lambda lines: [*lines, lines[0]], "a.py was changed"),
        (lambda lines: [line for line in lines if line[0] != "b/b.md"], "b/b.md is missing"),
        (lambda lines: [*lines, ("x", 1, "y")], "x arrived but was not sent"),
    ],
)
def test_what_differs_is_named(
    change: Callable[[list[tuple[str, int, str]]], list[tuple[str, int, str]]], expected: str
) -> None:
    collected = Collected(1)
    collected.lines = change([(line.file, line.number, line.text) for file in FILES for line in lines_of(file)])
    assert compare(FILES, collected) == (expected,)


def test_a_mismatch_is_an_exit_code() -> None:
    out = Console(file=io.StringIO())
    assert show([Leg("queue", 3, 0.1), Leg("topic", 2, 0.0, ("a.py is missing",))], "embedded:", out) == 1
    assert show([Leg("queue", 3, 0.1)], "embedded:", out) == 0


def test_each_route_counts_what_it_moved() -> None:
    connection: Connection
    with jmsbridge.connect("embedded:?broker=routes", client_id="routes") as connection:
        connection.start()
        total = sum(len(lines_of(file)) for file in FILES)
        (queue,) = routes.by_queue(connection, FILES, Queue("q"))
        chosen, durable = routes.by_topic(connection, FILES, Topic("t"), "keeper")
        (moved,) = routes.by_transaction(connection, FILES, Queue("from"), Queue("to"))
        (asked,) = routes.request_and_reply(connection, FILES, Queue("service"))
    assert (queue.messages, durable.messages, moved.messages, asked.messages) == (total, total, total, total)
    assert chosen.messages == sum(len(lines_of(file)) for file in FILES if file.name.endswith(".py"))
    assert [leg.problems for leg in (queue, chosen, durable, moved, asked)] == [()] * 5

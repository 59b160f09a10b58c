"""list, create, remove, purge, move: against a broker that offers administration, and move also without."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import Result

import jmsbridge
from jmsbridge import Connection, JMSException, Queue, Session
from jmsbridge.cli import asking, moving
from jmsbridge.errors import UnsupportedFeatureException
from jmsbridge.spi import Address, NotSupported
from jmsbridge_embedded.file.admin import FileAdmin
from jmsbridge_embedded.memory.admin import MemoryAdmin

Run = Callable[..., Result]


@pytest.fixture
def broker(either_broker: str) -> str:
    return either_broker


def fill(run: Run, queue: str, *texts: str) -> None:
    assert run("send", queue, *texts, "-q").exit_code == 0


def bodies(run: Run, queue: str) -> list[Any]:
    result = run("browse", queue)
    assert result.exit_code == 0, result.output
    return [json.loads(line)["body"] for line in result.stdout.splitlines()]


class TestWithAdministration:
    def test_list(self, run: Run) -> None:
        fill(run, "orders", "one", "two")
        fill(run, "other", "x")
        rows = [line.split("\t") for line in run("list").stdout.splitlines()]
        assert [row[:3] for row in rows] == [["queue:orders", "2", "0"], ["queue:other", "1", "0"]]
        assert rows[0][3].endswith("Z")
        assert rows[0][4] == "-"

    def test_list_as_json_by_pattern(self, run: Run) -> None:
        fill(run, "orders", "one")
        fill(run, "other", "x")
        for pattern in ("ord*", "queue:ord*", "orders"):
            (line,) = run("list", pattern, "--json").stdout.splitlines()
            document = json.loads(line)
            assert (document["destination"], document["depth"], document["consumers"]) == ("queue:orders", 1, 0)
            assert document["oldest"] > 1_700_000_000_000

    def test_create_and_remove(self, run: Run) -> None:
        assert run("create", "orders", "topic:news").exit_code == 0
        assert {line.split("\t")[0] for line in run("list").stdout.splitlines()} == {"queue:orders", "topic:news"}
        assert run("remove", "orders").exit_code == 0
        assert run("list", "queue:*").stdout == ""

    def test_a_queue_with_consumers_is_not_removed(self, run: Run, connection: Connection) -> None:
        connection.create_session().create_consumer(Queue("orders"))
        result = run("remove", "orders")
        assert (result.exit_code, "consumers" in result.stderr) == (1, True)

    def test_purge(self, run: Run) -> None:
        fill(run, "orders", "one", "two")
        assert run("send", "orders", "low", "--priority", "1", "-q").exit_code == 0
        result = run("purge", "orders", "--selector", "JMSPriority < 3", "--json")
        assert json.loads(result.stdout) == {"destination": "queue:orders", "purged": 1}
        assert bodies(run, "orders") == ["one", "two"]
        assert "2 deleted from queue:orders" in run("purge", "orders").stderr
        assert bodies(run, "orders") == []

    def test_destructive_commands_ask_on_a_terminal(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        asked: list[str] = []

        def answer(question: str, *, err: bool) -> bool:
            asked.append(question)
            return len(asked) > 1

        monkeypatch.setattr(asking, "on_terminal", lambda: True)
        monkeypatch.setattr(typer, "confirm", answer)
        fill(run, "orders", "one")
        assert "nothing was changed" in run("purge", "orders").stderr
        assert bodies(run, "orders") == ["one"]
        assert run("remove", "orders").exit_code == 0
        assert asked == ["Delete the 1 message of queue:orders?", "Remove queue:orders with its 1 message?"]
        fill(run, "orders", "again")
        assert run("purge", "orders", "--yes").exit_code == 0
        assert len(asked) == 2

    def test_ctrl_c_at_the_question_ends_with_130(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        def interrupted(question: str, *, err: bool) -> bool:
            raise typer.Abort

        monkeypatch.setattr(asking, "on_terminal", lambda: True)
        monkeypatch.setattr(typer, "confirm", interrupted)
        fill(run, "orders", "one")
        assert run("purge", "orders").exit_code == 130
        assert bodies(run, "orders") == ["one"]

    def test_move(self, run: Run) -> None:
        fill(run, "orders", "one", "two", "three")
        assert run("send", "orders", "eu", "-p", "region=eu", "-q").exit_code == 0
        result = run("move", "orders", "orders.eu", "--selector", "region = 'eu'")
        assert (result.exit_code, "1 moved" in result.stderr) == (0, True)
        assert bodies(run, "orders.eu") == ["eu"]
        result = run("move", "orders", "copy", "-n", "2", "--json")
        assert json.loads(result.stdout) == {"source": "queue:orders", "target": "queue:copy", "moved": 2}
        assert (bodies(run, "copy"), bodies(run, "orders")) == (["one", "two"], ["three"])

    def test_moving_by_a_selector_takes_few_steps(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        limits: list[int] = []

        def noted(kind: type) -> Callable[..., int]:
            move: Callable[..., int] = kind.move  # type: ignore[attr-defined]

            def wrapper(admin: object, source: Address, target: Address, selector: str | None, limit: int) -> int:
                limits.append(limit)
                return move(admin, source, target, selector, limit)

            return wrapper

        for kind in (MemoryAdmin, FileAdmin):
            monkeypatch.setattr(kind, "move", noted(kind))
        monkeypatch.setattr(moving, "_STEP", 2)
        fill(run, "orders", *(str(number) for number in range(5)))
        assert run("send", "orders", *"abcdefghij", "-p", "region=eu", "-q").exit_code == 0
        assert "10 moved" in run("move", "orders", "orders.eu", "--selector", "region = 'eu'").stderr
        assert bodies(run, "orders.eu") == list("abcdefghij")
        assert bodies(run, "orders") == list("01234")
        assert limits == [2, 4, 8, 5]  # never more than there were at first


@pytest.mark.parametrize(
    "arguments",
    [
        ("move", "orders", "orders"),
        ("move", "topic:a", "b"),
        ("move", "orders", "orders", "--to", "embedded:"),
        ("purge", "topic:a"),
        ("export", "topic:a"),
        ("dlq", "x"),
    ],
)
def test_a_wrong_command_line_ends_with_2(run: Run, arguments: tuple[str, ...]) -> None:
    result = run(*arguments)
    assert result.exit_code == 2, result.output


def test_a_move_from_a_misspelt_queue_does_not_create_it(
    run: Run, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object) -> int:
        raise NotSupported("not in one step")

    for kind in (MemoryAdmin, FileAdmin):
        monkeypatch.setattr(kind, "move", refuse)
    result = run("move", "nosuch1", "nosuch2")
    assert (result.exit_code, "0 moved" in result.stderr) == (0, True)
    assert run("list").stdout == ""
    fill(run, "orders", "one")
    assert "1 moved" in run("move", "orders", "copy").stderr


@pytest.fixture
def elsewhere(tmp_path: Path) -> str:
    """Another broker."""
    return f"embedded:{tmp_path / 'elsewhere'}"


@pytest.mark.parametrize("limit", [None, 110])
def test_a_move_to_another_broker_keeps_order_and_headers(run: Run, elsewhere: str, limit: int | None) -> None:
    fill(run, "orders", *(str(number) for number in range(250)))
    assert run("send", "orders", "eu", "-p", "region=eu", "--time-to-live", "1h", "--type", "c", "-q").exit_code == 0
    result = run("move", "orders", "orders", "--to", elsewhere, *(("-n", str(limit)) if limit else ()), "--json")
    assert result.exit_code == 0, result.output
    moved = limit or 251
    assert json.loads(result.stdout) == {"source": "queue:orders", "target": "queue:orders", "moved": moved}
    numbers = [*(str(number) for number in range(250)), "eu"]
    assert bodies(run, "orders") == numbers[moved:]
    with jmsbridge.connect(elsewhere) as connection:
        connection.start()
        found = list(connection.create_session().create_browser(Queue("orders")))
    assert [message.get_body(str) for message in found] == numbers[:moved]
    if not limit:
        assert (found[-1].get_string_property("region"), found[-1].jms_type) == ("eu", "c")
        assert 3500 < found[-1].jms_expiration / 1000 - time.time() <= 3600


def test_a_move_to_another_broker_that_fails_leaves_the_messages(
    run: Run, elsewhere: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(run, "orders", *(str(number) for number in range(150)))
    commit, commits = Session.commit, list[Session]()

    def fails_at_last(session: Session) -> None:
        commits.append(session)
        if len(commits) == 3:
            raise JMSException("the other broker is full")
        commit(session)

    monkeypatch.setattr(Session, "commit", fails_at_last)
    result = run("move", "orders", "new", "--to", elsewhere)
    assert (result.exit_code, "at least 100 moved" in result.stderr, "full" in result.stderr) == (1, True, True)
    assert commits[0] is commits[2] is not commits[1]  # what is sent is committed first
    assert bodies(run, "orders") == [str(number) for number in range(100, 150)]
    with jmsbridge.connect(elsewhere) as connection:
        assert connection.admin.depth(Queue("new")) == 100


def test_a_move_to_the_same_broker_by_another_name_is_refused(run: Run, broker: str) -> None:
    fill(run, "orders", "one")
    result = run("move", "orders", "orders", "--to", broker)
    assert result.exit_code == 2
    assert "same" in result.stderr or "memory" in result.stderr


def test_a_move_to_the_same_broker_that_is_not_recognised_ends_after_one_round(
    run: Run, broker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moving, "_check", lambda *given: None)
    fill(run, "orders", *(str(number) for number in range(150)))
    result = run("move", "orders", "orders", "--to", broker)
    assert (result.exit_code, "same queue of the same broker" in result.stderr) == (2, True)
    assert sorted(map(int, bodies(run, "orders"))) == list(range(150))


def test_a_move_to_another_broker_from_a_misspelt_queue_does_not_create_it(run: Run, elsewhere: str) -> None:
    assert "0 moved" in run("move", "nosuch", "orders", "--to", elsewhere).stderr
    assert run("list").stdout == ""


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> None:
    """The backend offers no administration."""

    def refuse(self: Connection) -> None:
        raise UnsupportedFeatureException("no administration", "admin")

    monkeypatch.setattr(Connection, "admin", property(refuse))


@pytest.mark.usefixtures("without")
def test_without_administration_move_is_done_in_transactions(run: Run) -> None:
    assert run("send", "orders", "last", "--priority", "2", "-q").exit_code == 0
    fill(run, "orders", *(str(number) for number in range(250)))
    result = run("move", "orders", "copy")
    assert (result.exit_code, "251 moved" in result.stderr) == (0, True)
    assert bodies(run, "copy") == [*(str(number) for number in range(250)), "last"]
    assert bodies(run, "orders") == []
    assert run("list").exit_code == 1
    assert "--queue" in run("dlq", "list").stderr

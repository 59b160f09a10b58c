"""Where the broker cannot look itself, and the emulation sees only so many: no command says that this was all."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import Result

from tests.core.emulation.support import Broker

Run = Callable[..., Result]

LIMIT = 5


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A broker without browsers and selectors."""
    with Broker() as made:
        made.connect()
        url = f"{made.name}:?broker={made.name}&emulation_limit={LIMIT}"
        monkeypatch.setenv("JMSBRIDGE_URL", url)
        yield url


def fill(run: Run, queue: str, count: int, **properties: str) -> None:
    lines = [json.dumps({"body": str(number), "properties": properties}) for number in range(count)]
    assert run("send", queue, "-q", text="\n".join(lines)).exit_code == 0


def said(result: Result) -> bool:
    """Whether it ended with 1, and named the option."""
    assert (
        (result.exit_code == 1) == ("error: incomplete" in result.stderr) == ("-o emulation_limit=N" in result.stderr)
    )
    return result.exit_code == 1


def test_an_export_of_a_part_leaves_no_file(run: Run, tmp_path: Path) -> None:
    fill(run, "short", LIMIT)
    fill(run, "big", LIMIT + 1)
    assert not said(run("export", "short", "--output", "short.jsonl"))
    assert said(run("export", "short", "big", "--output", "big.jsonl"))
    assert [path.name for path in tmp_path.glob("*.jsonl")] == ["short.jsonl"]
    assert said(run("export", "big"))
    assert "6 exported" in run("export", "big", "-O", "big.jsonl", "-o", "emulation_limit=9").stderr


def test_a_browse_of_a_part(run: Run) -> None:
    fill(run, "big", LIMIT + 3)
    part = run("browse", "big")
    assert (said(part), len(part.stdout.splitlines())) == (True, LIMIT)
    assert said(run("browse", "big", "--selector", "k = 'last'"))
    assert not said(run("browse", "big", "--count", str(LIMIT)))  # as many as were asked for


def test_dead_letters_of_a_part(run: Run) -> None:
    fill(run, "dead", LIMIT + 3, JMS_jmsbridge_dead_letter_origin="queue:orders")
    listed = run("dlq", "list", "--queue", "dead")
    assert (said(listed), listed.stdout) == (True, f"{LIMIT}\tqueue:orders\t-\n")
    assert said(run("dlq", "show", "--queue", "dead"))
    assert not said(run("dlq", "return", "--queue", "dead", "--limit", "1"))
    returned = run("dlq", "return", "--queue", "dead")
    assert (said(returned), f"{LIMIT} returned" in returned.stderr) == (True, True)
    assert not said(run("dlq", "return", "--queue", "dead"))


def test_what_stands_behind_a_full_park(run: Run) -> None:
    fill(run, "big", 6 * LIMIT)
    fill(run, "big", 1, k="last")
    selected = "big", "--selector", "k = 'last'"
    assert said(run("receive", *selected, "--timeout", "10ms"))  # it may be there by then, and another one not
    assert said(run("move", *selected[:1], "elsewhere", *selected[1:]))
    fill(run, "big", 1, k="last")
    whole = run("receive", *selected, "-n", "1", "--timeout", "20s", "-o", "emulation_limit=50")
    assert (said(whole), len(whole.stdout.splitlines())) == (False, 1)

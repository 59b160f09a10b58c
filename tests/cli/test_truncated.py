"""Emulated browsers and selectors examine a limited number of messages; commands say that the result is incomplete."""

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


def is_truncated(result: Result) -> bool:
    """Whether the command ended with 1 and named the option."""
    assert (
        (result.exit_code == 1) == ("error: incomplete" in result.stderr) == ("-o emulation_limit=N" in result.stderr)
    )
    return result.exit_code == 1


def test_a_truncated_export_leaves_no_file(run: Run, tmp_path: Path) -> None:
    fill(run, "short", LIMIT)
    fill(run, "big", LIMIT + 1)
    assert not is_truncated(run("export", "short", "--output", "short.jsonl"))
    assert is_truncated(run("export", "short", "big", "--output", "big.jsonl"))
    assert [path.name for path in tmp_path.glob("*.jsonl")] == ["short.jsonl"]
    assert is_truncated(run("export", "big"))
    assert "6 exported" in run("export", "big", "-O", "big.jsonl", "-o", "emulation_limit=9").stderr


def test_a_truncated_browse(run: Run) -> None:
    fill(run, "big", LIMIT + 3)
    part = run("browse", "big")
    assert (is_truncated(part), len(part.stdout.splitlines())) == (True, LIMIT)
    assert is_truncated(run("browse", "big", "--selector", "k = 'last'"))
    assert not is_truncated(run("browse", "big", "--count", str(LIMIT)))  # as many as were requested


def test_truncated_dead_letters(run: Run) -> None:
    fill(run, "dead", LIMIT + 3, JMS_jmsbridge_dead_letter_origin="queue:orders")
    listed = run("dlq", "list", "--queue", "dead")
    assert (is_truncated(listed), listed.stdout) == (True, f"{LIMIT}\tqueue:orders\t-\n")
    assert is_truncated(run("dlq", "show", "--queue", "dead"))
    assert not is_truncated(run("dlq", "return", "--queue", "dead", "--limit", "1"))
    returned = run("dlq", "return", "--queue", "dead")
    assert (is_truncated(returned), f"{LIMIT} returned" in returned.stderr) == (True, True)
    assert not is_truncated(run("dlq", "return", "--queue", "dead"))


def test_receive_behind_a_full_unmatched_buffer(run: Run) -> None:
    fill(run, "big", 6 * LIMIT)
    fill(run, "big", 1, k="last")
    selected = "big", "--selector", "k = 'last'"
    assert is_truncated(
        run("receive", *selected, "--timeout", "10ms")
    )  # whether the message is examined in time is not certain
    assert is_truncated(run("move", *selected[:1], "elsewhere", *selected[1:]))
    fill(run, "big", 1, k="last")
    whole = run("receive", *selected, "-n", "1", "--timeout", "20s", "-o", "emulation_limit=50")
    assert (is_truncated(whole), len(whole.stdout.splitlines())) == (False, 1)

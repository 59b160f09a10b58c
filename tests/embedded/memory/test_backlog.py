"""The blocks of a backlog, compared with a plain list."""

import random
from collections import deque
from typing import Any

import pytest

from jmsbridge_embedded.memory.queues import backlog
from jmsbridge_embedded.memory.queues.backlog import GONE, Backlog, Entry
from jmsbridge_embedded.memory.queues.walk import Walk
from jmsbridge_embedded.order import SEQUENCE, key_of
from tests.embedded.memory.support import message


def entry(key: int) -> Entry:
    return Entry(message(key), key)


def check(made: Backlog, expected: dict[int, Entry]) -> None:
    assert [each.key for each in made] == sorted(key for key, each in expected.items() if each.holder is None)
    chunks: list[Any] = made.chunks
    assert all(chunks) or len(chunks) == 1
    assert [type(chunk) for chunk in chunks[1:-1]] == [tuple] * len(chunks[1:-1])
    assert [type(chunks[0]), type(chunks[-1])] == [deque, deque]
    assert max(map(len, chunks)) <= 2 * backlog.CHUNK
    assert len(made) == sum(map(len, chunks))


@pytest.mark.parametrize("seed", range(30))
def test_random_changes_keep_order_and_pieces(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    monkeypatch.setattr(backlog, "CHUNK", 4)
    draw = random.Random(seed)
    made = Backlog()
    there: dict[int, Entry] = {}
    for step in range(600):
        act = draw.choice(["push", "push", "push", "again", "remove", "remove", "peek", "drop", "absent"])
        some = draw.choice(list(there.values())) if there else None
        if act == "push":
            key = step + 1000 if draw.random() < 0.5 else draw.randrange(10**6)
            if key not in there:
                there[key] = entry(key)
                made.push(there[key])
        elif act == "absent":
            made.remove(entry(draw.randrange(10**6)))
        elif some is None:
            assert made.peek() is None
        elif act == "again":
            made.push(some)
        elif act == "remove":
            made.remove(there.pop(some.key))
        elif act == "peek":
            if draw.random() < 0.5:
                some.holder = object()
            waiting = [key for key, each in sorted(there.items()) if each.holder is None]
            first = made.peek()
            assert (first and first.key) == (waiting[0] if waiting else None)
        else:
            gone = [each for _, each in sorted(there.items()) if draw.random() < 0.3]
            for each in gone:
                each.holder = GONE
            if gone:
                made.drop(gone)
        check(made, there)


def test_pages_show_everything_behind_a_key_once() -> None:
    made = Backlog()
    entries = [entry(key) for key in random.Random(1).sample(range(10**6), 2000)]
    for each in entries:
        made.push(each)
    keys: list[int] = []
    after = -1
    while page := made.page(after):
        keys += [each.key for each in page]
        after = draw_between(page)
        keys = [key for key in keys if key <= after]
    assert keys == sorted(each.key for each in entries)


def draw_between(page: list[Entry]) -> int:
    """Continue in the middle of a page."""
    return page[len(page) // 2].key


@pytest.mark.parametrize("seed", range(10))
def test_a_walk_shows_what_was_there_in_order(seed: int) -> None:
    draw = random.Random(seed)
    backlogs = [Backlog(), Backlog(), Backlog()]
    first = [key_of(draw.randrange(10), sequence) for sequence in range(1, 1500)]
    for key in first:
        draw.choice(backlogs).push(entry(key))
    walk = Walk(1499)
    newest = 1499
    shown: list[int] = []
    while not walk.done:
        shown += [each.key for each in walk.page(backlogs)]
        for _ in range(draw.randrange(100)):
            newest += 1
            made = entry(key_of(draw.randrange(10), newest))
            assert walk.has_passed(made)
            draw.choice(backlogs).push(made)
    assert shown == sorted(first)
    assert max(key & SEQUENCE for key in shown) == 1499

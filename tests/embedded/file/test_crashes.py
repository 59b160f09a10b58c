"""Processes killed at any moment: no confirmed message is lost, no settled message comes again."""

import random
from collections import Counter

import pytest

from tests.embedded.file.conftest import Crew
from tests.embedded.file.worker import FIRST, SECOND, connect, receive

ROLES = ("produce", "commit", "relay", "relay", "consume", "consume")


def _check(crew: Crew) -> int:
    """Compare the logs of all processes with the messages in the file; return how many messages were sent."""
    link = connect(crew.path)
    left = {address: receive(link, address) for address in (FIRST, SECOND)}
    link.close()
    sent = {words[1] for words in crew.words("sent")}
    done = Counter(words[1] for words in crew.words("done"))
    got = Counter(words[1] for words in crew.words("got"))
    first_time = Counter(words[1] for words in crew.words("got") if words[2] == "first")
    names = {address: [arrival.envelope.body for arrival in arrivals] for address, arrivals in left.items()}
    remaining = Counter(names[FIRST] + names[SECOND])
    assert max(remaining.values(), default=1) == 1, "a message is there twice"
    assert max(done.values(), default=1) == 1, "a settled message came again"
    assert not done.keys() & remaining.keys(), "a settled message is still there"
    assert max(first_time.values(), default=1) == 1, "a message came again without a mark"
    unmarked = [arrival for arrival in left[SECOND] if not arrival.redelivered and arrival.envelope.body in got]
    assert not unmarked, "a message that was received is there without a mark"
    assert not sent - remaining.keys() - got.keys(), "a confirmed message is lost"
    moved = {words[1] for words in crew.words("moved")}
    assert not moved & set(names[FIRST]), "a moved message is in its old place"
    _check_transactions(remaining.keys() | got.keys())
    return len(sent)


def _check_transactions(known: set[str]) -> None:
    """Of the five messages of a transaction, all or none are known."""
    groups = Counter(name.partition("+")[2] for name in known if "+" in name)
    assert set(groups.values()) <= {5}, "a transaction is incomplete"


def _crash(crew: Crew, kills: int, seed: int) -> int:
    chance = random.Random(seed)
    for role in ROLES:
        crew.start(role)
    slow = min(6.0, crew.wait(lambda: len(crew.words("up")) == len(ROLES)))  # on a busy machine a process starts slowly
    for _ in range(kills):
        crew.pause(chance.uniform(0.0, max(0.9, slow / 3)))
        role, victim = chance.choice(crew.alive)
        crew.kill(victim)
        crew.start(role)
    crew.pause(1.0)
    crew.end()
    return _check(crew)


@pytest.mark.timeout(240)
def test_fifty_kills(crew: Crew) -> None:
    assert _crash(crew, 50, 1) > 100
    assert not [file for file in crew.path.parent.iterdir() if file.name not in ("logs", "orders.db")]


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(4))
def test_hundreds_of_kills(crew: Crew, seed: int) -> None:
    assert _crash(crew, 150, 100 + seed) > 300

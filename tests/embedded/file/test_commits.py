"""When the file is synced to disk, and which calls wait for it."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from jmsbridge.spi import Interest, Link, Outcome
from jmsbridge_embedded.file import store
from tests.embedded.file.worker import FIRST, Answer, Inbox, connect, message, send


class Disk:
    """Counts the syncs; ``gate`` delays them."""

    def __init__(self) -> None:
        self.asked = 0
        self.began = threading.Event()
        self.gate = threading.Event()
        self.gate.set()

    def sync(self, file: int) -> None:
        self.asked += 1
        self.began.set()
        assert self.gate.wait(20.0)
        os.fsync(file)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    made = Disk()
    monkeypatch.setattr(store, "_sync", made.sync)
    return made


@pytest.fixture
def link(path: Path, disk: Disk) -> Iterator[Link]:
    made = connect(path)
    disk.asked = 0
    yield made
    disk.gate.set()
    made.close()


def test_asynchronous_sends_share_one_sync(link: Link, disk: Disk) -> None:
    send(link.channel(False), *(message(str(number)) for number in range(2000)))
    assert 0 < disk.asked <= 200


def test_sends_of_many_threads_share_one_sync(link: Link, disk: Disk) -> None:
    first, *answers = [Answer() for _ in range(51)]
    channels = [link.channel(False) for _ in answers]
    disk.gate.clear()
    disk.began.clear()
    channels[0].send(message("first"), first)
    assert disk.began.wait(20.0)
    senders = [
        threading.Thread(target=channel.send, args=(message("more"), answer))
        for channel, answer in zip(channels, answers, strict=True)
    ]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join(20.0)
    disk.gate.set()
    for answer in [first, *answers]:
        answer.wait(20.0)
    assert disk.asked < 10


def test_no_confirmation_before_the_sync(link: Link, disk: Disk) -> None:
    box = Inbox()
    plain, transacted = link.channel(False), link.channel(True)
    subscription = plain.subscribe(Interest(address=FIRST), box)
    subscription.grant(10)
    send(plain, message("1"))
    token = box.wait(1)[0].token
    transacted.send(message("3"), None)
    for act in (
        lambda answer: plain.send(message("2"), answer),
        lambda answer: subscription.settle([token], Outcome.ACCEPTED, answer),
        transacted.commit,
    ):
        disk.gate.clear()
        disk.began.clear()
        answer = Answer()
        act(answer)
        assert disk.began.wait(20.0)
        assert not answer.done.wait(0.05)
        disk.gate.set()
        answer.wait(20.0)


def test_sends_without_tickets_do_not_sync(link: Link, disk: Disk) -> None:
    box = Inbox()
    channel = link.channel(False)
    subscription = channel.subscribe(Interest(address=FIRST), box)
    subscription.grant(100)
    for number in range(100):
        channel.send(message(str(number)), None)
    subscription.settle([arrival.token for arrival in box.wait(100)], Outcome.ACCEPTED)
    drained = Answer()
    subscription.drain(drained)
    drained.wait(20.0)
    assert disk.asked == 0

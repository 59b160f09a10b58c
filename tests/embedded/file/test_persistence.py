"""What survives the last connection: messages, subscriptions, counts, duplicate ids; and what does not."""

import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from jmsbridge.spi import (
    DEAD_LETTER_ORIGIN,
    Address,
    AddressInUse,
    AddressRefused,
    Admin,
    BodyKind,
    Byte,
    Char,
    Float,
    Interest,
    Long,
    Mode,
    Outcome,
    SendRefused,
    Short,
)
from jmsbridge_embedded.file.disk.wire import Damaged, decode, encode
from tests.embedded.file.worker import FIRST, SECOND, Answer, Inbox, connect, message, receive, send

NEWS = Address("news", True)


def test_messages_counts_and_dead_letters_survive(path: Path) -> None:
    link = connect(path)
    send(link.channel(False), message("seen"), message("bad"), message("large " + "x" * 5000, priority=9))
    channel, box = link.channel(False), Inbox()
    subscription = channel.subscribe(Interest(address=FIRST), box)
    subscription.grant(3)
    large, seen, bad = box.wait(3)
    assert large.envelope.priority == 9
    for token, outcome, failures in ((seen, Outcome.FAILED, 3), (bad, Outcome.REJECTED, 1)):
        done = Answer()
        subscription.settle([token.token], outcome, done, failures)
        done.wait()
    link.close()
    link = connect(path)
    found = receive(link)
    assert [(one.envelope.body[:5], one.delivery_count) for one in found] == [("large", 2), ("seen", 4)]
    dead = receive(link, Address("DLQ"))[0].envelope
    assert dead.body == "bad"
    assert dead.properties[DEAD_LETTER_ORIGIN] == "queue:first"
    link.close()


def test_non_persistent_messages_live_only_as_long_as_some_process(path: Path) -> None:
    link, other = connect(path), connect(path)
    send(link.channel(False), message("kept"), message("not", persistent=False))
    link.close()
    box = Inbox()
    browser = other.channel(False).subscribe(Interest(address=FIRST, mode=Mode.BROWSE), box)
    browser.grant(10)
    assert [one.envelope.body for one in box.wait(2)] == ["kept", "not"]
    other.close()
    link = connect(path)
    assert [one.envelope.body for one in receive(link)] == ["kept"]
    link.close()


def test_duplicate_ids_are_known_after_a_restart_up_to_the_window(path: Path) -> None:
    link = connect(path, duplicate_window=3)
    send(link.channel(False), *(message(str(number), duplicate_id=str(number)) for number in range(5)))
    link.close()
    link = connect(path, duplicate_window=3)
    channel = link.channel(True)
    send(channel, *(message(f"again {number}", duplicate_id=str(number)) for number in (4, 3, 2)))
    done = Answer()
    channel.commit(done)
    done.wait()
    send(link.channel(False), message("forgotten", duplicate_id="1"), message("elsewhere", SECOND, duplicate_id="4"))
    assert [one.envelope.body for one in receive(link)] == ["0", "1", "2", "3", "4", "forgotten"]
    assert [one.envelope.body for one in receive(link, SECOND)] == ["elsewhere"]
    link.close()


def test_delayed_messages_and_subscriptions_survive(path: Path) -> None:
    link = connect(path, client_id="me")
    interest: dict[str, Any] = {"address": NEWS, "key": "sub", "durable": True, "selector": "n > 1"}
    link.channel(False).subscribe(Interest(**interest), Inbox())
    due = time.time_ns() // 1_000_000 + 300
    send(link.channel(False), *(message(str(n), NEWS, properties={"n": n}) for n in range(4)))
    send(link.channel(False), message("later", delivery_time=due))
    link.close()
    link = connect(path, client_id="me")
    box, late = Inbox(), Inbox()
    link.channel(False).subscribe(Interest(**interest), box).grant(10)
    link.channel(False).subscribe(Interest(address=FIRST), late).grant(1)
    assert [one.envelope.body for one in box.wait(2)] == ["2", "3"]
    late.wait(1)
    assert time.time_ns() // 1_000_000 >= due
    link.close()


def test_subscriptions_share_a_large_body_until_the_last_has_it(path: Path) -> None:
    link = connect(path, client_id="me")
    for key in "abc":
        link.channel(False).subscribe(Interest(address=NEWS, key=key, durable=True, shared=True), Inbox())
    bodies = [letter * 100_000 for letter in "xy"]
    send(link.channel(False), *(message(body, NEWS) for body in bodies), message(bodies[0]))
    link.close()
    assert path.stat().st_size < 1_000_000  # each is 200,000 bytes with its message id
    link = connect(path, client_id="me")
    for key, left in (("a", 3), ("b", 3), ("c", 1)):
        got = receive(link, NEWS, key=key, durable=True, shared=True)
        assert [one.envelope.body for one in got] == bodies
        assert _bodies(path) == left
    assert [one.envelope.body for one in receive(link)] == bodies[:1]
    assert _bodies(path) == 0
    link.close()


def _bodies(path: Path) -> int:
    with closing(sqlite3.connect(path)) as file:
        return int(file.execute("SELECT count(*) FROM body").fetchone()[0])


def test_the_limit_of_messages_is_enforced_exactly(path: Path) -> None:
    link = connect(path, max_messages=3)
    channel = link.channel(False)
    send(channel, *(message(str(number)) for number in range(3)))
    answer = Answer()
    channel.send(message("too many"), answer)
    with pytest.raises(SendRefused, match=r"max_messages \(3\)"):
        answer.wait()
    assert len(receive(link)) == 3
    send(channel, message("room again"))
    link.close()


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (BodyKind.TEXT, "a lone \ud800 surrogate"),
        (BodyKind.MAP, {"\udfff": "\ud800", "b": b"\x00\xff", "c": Char("\ud800"), "y": Byte(-1), "n": None}),
        (BodyKind.STREAM, [Short(-2), Long(3), Float(0.1), 4, 0.1, True, "t"]),
    ],
)
def test_the_written_form_keeps_every_type(kind: BodyKind, body: Any) -> None:
    from jmsbridge.spi import Envelope

    sent = Envelope(FIRST, kind, body, {"p": Byte(1), "q": "\ud800"}, None, 5, False, 0, 6, 7, b"id", SECOND, "t", "d")
    data = encode(sent)
    got = decode(data, FIRST)
    assert repr(got) == repr(sent)
    with pytest.raises(Damaged):
        decode(data[:5] + bytes([data[5] ^ 1]) + data[6:], FIRST)


def test_administration(path: Path) -> None:
    link = connect(path)
    assert isinstance(link, Admin)
    link.create(SECOND)
    link.create(NEWS)
    link.create(NEWS)
    send(link.channel(False), *(message(str(n), properties={"n": n}) for n in range(600)))
    channel, box = link.channel(False), Inbox()
    channel.subscribe(Interest(address=FIRST), box).grant(2)
    box.wait(2)
    assert [(str(p.address), p.depth, p.consumers) for p in link.list_destinations()] == [
        ("queue:first", 600, 1),
        ("topic:news", 0, 0),
        ("queue:second", 0, 0),
    ]
    with pytest.raises(AddressInUse):
        link.remove(FIRST)
    assert link.move(FIRST, SECOND, "n >= 100", 400) == 400
    assert link.purge(FIRST, "n < 500") == 98
    assert link.purge(FIRST) == 100
    channel.close()
    assert [one.envelope.address for one in receive(link, SECOND)] == [SECOND] * 400
    assert [one.envelope.body for one in receive(link)] == ["0", "1"]
    link.remove(FIRST)
    link.remove(NEWS)
    with pytest.raises(AddressRefused):
        link.purge(FIRST)
    assert [str(info.address) for info in link.list_destinations()] == ["queue:second"]
    link.close()

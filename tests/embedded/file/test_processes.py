"""Several processes on one file."""

import os
import sqlite3
import time
from typing import Any

import pytest

from jmsbridge.spi import Address, AddressInUse, AddressRefused, ClientIdRefused, Interest, SubscriptionRefused
from jmsbridge_embedded.file.link import FileLink
from tests.embedded.file.conftest import Crew
from tests.embedded.file.worker import FIRST, Answer, Inbox, connect, message, send


def _cpu(pid: int) -> float:
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_messages_of_a_killed_process_are_requeued(crew: Crew) -> None:
    link = connect(crew.path)
    send(link.channel(False), *(message(str(number)) for number in range(10)))
    holder = crew.start("hold")
    crew.wait(lambda: crew.words("holding"))
    box = Inbox()
    link.channel(False).subscribe(Interest(address=FIRST), box).grant(100)
    crew.kill(holder)
    assert crew.wait(lambda: len(box.arrivals) == 10) < 5.0
    assert box.bodies == [str(number) for number in range(10)]
    assert {(arrival.redelivered, arrival.delivery_count) for arrival in box.arrivals} == {(True, 2)}
    link.close()
    assert not [file for file in crew.path.parent.iterdir() if file.name not in ("logs", "orders.db")]


@pytest.mark.long  # measures time and CPU, so it needs a quiet machine
def test_other_processes_see_a_message_at_once_and_are_idle_until_then(crew: Crew) -> None:
    waiting = crew.start("idle")
    crew.wait(lambda: crew.words("ready"))
    link = connect(crew.path)
    channel = link.channel(False)
    send(channel, message("to warm up"))
    crew.wait(lambda: crew.words("at"))
    mine, theirs, started = time.process_time(), _cpu(waiting.pid), time.monotonic()
    crew.pause(3.0)
    elapsed = time.monotonic() - started
    assert time.process_time() - mine < 0.01 * elapsed
    assert _cpu(waiting.pid) - theirs <= 0.01 * elapsed + 0.01
    delays = []
    for number in range(2, 22):
        sent = time.monotonic()
        channel.send(message(str(number)), None)
        crew.wait(lambda number=number: len(crew.words("at")) >= number)  # type: ignore[misc]
        delays.append(float(crew.words("at")[-1][1]) - sent)
    assert sorted(delays)[len(delays) * 9 // 10] < 0.05
    link.close()


class Recovering:
    """The broker's connection while another process recovers the log: for a while nothing can be read."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.refused = 0
        self._connection = connection

    def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
        if statement == "PRAGMA data_version" and self.refused < 2:
            self.refused += 1
            error = sqlite3.OperationalError("database is locked")
            error.sqlite_errorcode = sqlite3.SQLITE_BUSY_RECOVERY
            raise error
        return self._connection.execute(statement, *values)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


def test_a_file_that_is_briefly_unreadable_is_read_again(crew: Crew) -> None:
    link = connect(crew.path)
    assert isinstance(link, FileLink)
    recovering = link.store._sql = Recovering(link.store._sql)  # type: ignore[assignment]
    crew.start("idle")
    crew.wait(lambda: crew.words("ready"))
    crew.wait(lambda: recovering.refused == 2)
    send(link.channel(False), message("1"))
    crew.wait(lambda: crew.words("at"))
    assert link.client.lost is None
    link.close()


def test_client_ids_and_durable_subscriptions_are_exclusive_across_processes(crew: Crew) -> None:
    other = crew.start("client")
    crew.wait(lambda: crew.words("ready"))
    with pytest.raises(ClientIdRefused, match="'one'"):
        connect(crew.path, client_id="one")
    link = connect(crew.path)
    interest = Interest(address=Address("news", True), key="sub", durable=True)
    with pytest.raises(SubscriptionRefused):
        link.channel(False).subscribe(interest, Inbox())
    send(link.channel(False), message("kept", Address("news", True)))
    crew.kill(other)
    mine = connect(crew.path, client_id="one")
    box = Inbox()
    mine.channel(False).subscribe(interest, box).grant(1)
    assert [arrival.envelope.body for arrival in box.wait(1)] == ["kept"]
    mine.close()
    link.close()


def test_each_message_goes_to_one_of_several_processes(crew: Crew) -> None:
    for _ in range(3):
        crew.start("idle")
    crew.wait(lambda: len(crew.words("ready")) == 3)
    link = connect(crew.path)
    send(link.channel(False), *(message(str(number)) for number in range(300)))
    crew.wait(lambda: len(crew.words("at")) >= 300)
    crew.pause(0.3)
    assert len(crew.words("at")) == 300
    link.close()


def test_a_temporary_destination_dies_with_its_process(crew: Crew) -> None:
    other = crew.start("temporary")
    crew.wait(lambda: crew.words("made"))
    made = Address(crew.words("made")[0][1], temporary=True)
    link = connect(crew.path)
    channel = link.channel(False)
    send(channel, message("an answer", made))
    with pytest.raises(AddressInUse):
        channel.subscribe(Interest(address=made), Inbox())
    crew.kill(other)
    gone = Answer()

    def is_refused() -> bool:
        nonlocal gone
        gone = Answer()
        channel.send(message("too late", made), gone)
        return gone.done.wait(10.0) and gone.error is not None

    crew.wait(is_refused, 10.0)
    assert isinstance(gone.error, AddressRefused)
    link.close()


def test_the_last_process_cleans_up_after_dead_ones(crew: Crew) -> None:
    other = crew.start("temporary")
    crew.wait(lambda: crew.words("made"))
    link = connect(crew.path)
    crew.kill(other)
    link.close()
    assert not [file for file in crew.path.parent.iterdir() if file.name not in ("logs", "orders.db")]

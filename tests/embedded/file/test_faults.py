"""Failures of a file: a clear error each time, and no confirmed message is lost."""

import errno
import os
import sqlite3
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import jmsbridge
from jmsbridge.spi import (
    Admin,
    BackendError,
    ConnectFailed,
    Interest,
    Link,
    LinkLost,
    Outcome,
    SendRefused,
    TransactionRolledBack,
)
from jmsbridge_embedded.file import store
from jmsbridge_embedded.file.batch import Batch
from jmsbridge_embedded.file.disk import schema
from jmsbridge_embedded.file.link import FileLink
from jmsbridge_embedded.file.operations import Call
from tests.embedded.file.conftest import Crew
from tests.embedded.file.worker import FIRST, SECOND, Answer, Heard, Inbox, connect, message, receive, send


def _refused(link: Link, *, size: int = 10) -> BackendError:
    answer = Answer()
    link.channel(False).send(message("x" * size), answer)
    assert answer.done.wait(20.0)
    assert answer.error is not None
    return answer.error


def _run(link: Link, statement: str) -> None:
    """Run a statement on the broker's connection to the database."""
    assert isinstance(link, FileLink)
    link.store.call(lambda batch: batch.entries.sql.execute(statement).fetchall())


def test_a_full_disk_refuses_messages_and_keeps_what_it_has(path: Path) -> None:
    link = connect(path)
    send(link.channel(False), *(message(str(number)) for number in range(100)))
    box = Inbox()
    channel = link.channel(False)
    subscription = channel.subscribe(Interest(address=FIRST), box)
    subscription.grant(5)
    box.wait(5)
    _run(link, "PRAGMA max_page_count = 1")  # SQLite then uses the present size
    error = _refused(link, size=1_000_000)
    assert isinstance(error, SendRefused)
    assert "disk is full" in str(error)
    assert str(path) in str(error)
    transacted = link.channel(True)
    transacted.send(message("x" * 1_000_000), None)
    answer = Answer()
    transacted.commit(answer)
    assert answer.done.wait(10.0)
    assert isinstance(answer.error, TransactionRolledBack)
    settled = Answer()
    subscription.settle([arrival.token for arrival in box.arrivals], Outcome.ACCEPTED, settled)
    settled.wait()
    _run(link, "PRAGMA max_page_count = 1000000")
    send(link.channel(False), message("100"))
    channel.close()
    link.close()
    assert [arrival.envelope.body for arrival in receive(connect(path))] == [str(number) for number in range(5, 101)]


def test_a_message_that_does_not_fit_does_not_fail_the_others(path: Path) -> None:
    link = connect(path)
    channel = link.channel(False)
    send(channel, *(message(str(number)) for number in range(200)))
    receive(link)
    _run(link, "PRAGMA max_page_count = 1")
    answers = [Answer() for _ in range(30)]
    for number, answer in enumerate(answers):
        channel.send(message("x" * (3_000_000 if number % 10 == 5 else 10)), answer)
    assert all(answer.done.wait(20.0) for answer in answers)
    assert [number for number, answer in enumerate(answers) if answer.error] == [5, 15, 25]
    assert len(receive(link)) == 27
    link.close()


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda path: path.write_bytes(b"no database, " * 1000), "not a database"),
        (lambda path: path.mkdir(), "this is a folder"),
        (lambda path: _database(path, "PRAGMA user_version = 7"), "another program"),
        (lambda path: _database(path, "CREATE TABLE theirs(x)"), "another program"),
        (lambda path: _database(path, "PRAGMA application_id = 1785557858", "PRAGMA user_version = 9"), "format 9"),
    ],
)
def test_a_file_of_another_kind_is_refused_and_left_alone(
    path: Path, make: Callable[[Path], object], text: str
) -> None:
    make(path)
    before = path.read_bytes() if path.is_file() else b""
    with pytest.raises(ConnectFailed, match=text) as caught:
        connect(path)
    assert str(path) in str(caught.value)
    assert before == (path.read_bytes() if path.is_file() else b"")
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def _database(path: Path, *statements: str) -> None:
    with sqlite3.connect(path) as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


def test_a_pipe_or_a_device_is_refused_and_nothing_is_made_beside_it(path: Path) -> None:
    os.mkfifo(path)
    for wrong in (path, Path("/dev/null")):
        with pytest.raises(ConnectFailed, match="is a pipe, a socket or a device; give the path of a file"):
            connect(wrong)
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_an_error_names_the_whole_time_for_opening_not_what_was_left(path: Path) -> None:
    keeper = connect(path)
    assert isinstance(keeper, FileLink)
    busy, end = threading.Event(), threading.Event()

    def hold(batch: Batch) -> None:
        busy.set()
        end.wait(10.0)

    keeper.store.submit(Call(hold))
    assert busy.wait(10.0)
    with pytest.raises(BackendError, match=r"did not answer within 7 s"):
        keeper.store.enter(keeper, 0.0, 7.0)
    end.set()
    keeper.close()


def test_a_folder_that_is_not_there_is_named(path: Path) -> None:
    with pytest.raises(ConnectFailed, match="does not exist; create it"):
        connect(path / "orders.db")
    with pytest.raises(ConnectFailed, match="/proc"):
        connect("/proc/orders.db")


def test_a_deleted_file_ends_the_link_with_a_reason(path: Path) -> None:
    heard = Heard()
    link = connect(path, heard)
    channel, answer = link.channel(False), Answer()
    send(channel, message("1"))
    path.unlink()
    channel.send(message("2"), answer)
    with pytest.raises(LinkLost, match="deleted or replaced"):
        answer.wait()
    while not heard.losses:
        time.sleep(0.01)  # sleep: nothing reports the deletion of a log
    assert [type(loss) for loss in heard.losses] == [LinkLost]
    with pytest.raises(LinkLost, match="deleted or replaced"):
        link.channel(False)
    link.close()
    path.with_name(f"{path.name}-wal").unlink()
    again = connect(path)
    send(again.channel(False), message("2"))
    assert [arrival.envelope.body for arrival in receive(again)] == ["2"]
    again.close()


def test_the_log_of_a_missing_file_is_kept_until_the_file_is_restored(path: Path) -> None:
    heard = Heard()
    link = connect(path, heard)
    send(link.channel(False), message("1"))
    elsewhere = path.rename(path.with_name("elsewhere.db"))
    _is_lost(link, heard, "restore the file to get its messages back")
    why = "is missing or empty, but its log .*orders.db-wal has messages; restore the file, or delete the log as well"
    for _ in range(2):
        with pytest.raises(ConnectFailed, match=why):
            connect(path)
        path.touch()
    elsewhere.replace(path)
    again = connect(path)
    assert [arrival.envelope.body for arrival in receive(again)] == ["1"]
    again.close()


def test_a_file_with_two_names_is_refused(path: Path) -> None:
    """Each name would have a log of its own, and the last one that is closed would overwrite the other's messages."""
    link = connect(path)
    send(link.channel(False), message("1"))
    other = path.with_name("other.db")
    other.hardlink_to(path)
    for name in (path, other):
        with pytest.raises(ConnectFailed, match=f"{name.name} has another name"):
            schema.open_file(name, False, 1.0)
    send(link.channel(False), message("2"))
    other.unlink()
    other.symlink_to(path)
    linked = connect(other)
    assert [arrival.envelope.body for arrival in receive(linked)] == ["1", "2"]
    linked.close()
    link.close()


def _is_lost(link: Link, heard: Heard, why: str) -> None:
    """The next call raises the reason, and the link reports it."""
    with pytest.raises(LinkLost, match=why):
        link.channel(False)
    pause = threading.Event()
    while not heard.losses:
        pause.wait(0.01)
    assert [type(loss) for loss in heard.losses] == [LinkLost]
    link.close()


def test_a_replaced_file_ends_the_link(path: Path) -> None:
    heard = Heard()
    link = connect(path, heard)
    other = connect(path.with_name("other.db"))
    send(other.channel(False), message("theirs"))
    other.close()
    path.with_name("other.db").replace(path)
    _is_lost(link, heard, "deleted or replaced")
    path.with_name(f"{path.name}-wal").unlink(missing_ok=True)


def test_a_deleted_log_ends_the_link_before_more_is_confirmed(path: Path) -> None:
    heard = Heard()
    link = connect(path, heard)
    send(link.channel(False), message("1"))
    path.with_name(f"{path.name}-wal").unlink()
    _is_lost(link, heard, "orders.db-wal was deleted while .* do not delete it")


def test_a_deleted_shared_memory_ends_the_link_before_another_process_is_overwritten(crew: Crew) -> None:
    heard = Heard()
    link = connect(crew.path, heard)
    send(link.channel(False), message("before"))
    crew.path.with_name(f"{crew.path.name}-shm").unlink()
    crew.start("produce")
    crew.wait(lambda: len(crew.words("sent")) > 20 and heard.losses)
    assert "orders.db-shm was deleted" in str(heard.losses[0])
    crew.kill(crew.alive[0][1])
    confirmed = {words[1] for words in crew.words("sent")}
    link = connect(crew.path)
    kept = {arrival.envelope.body for arrival in receive(link)}
    assert "before" in kept
    assert confirmed <= kept
    link.close()


def test_a_process_that_others_considered_dead_ends_its_links(crew: Crew) -> None:
    heard, box = Heard(), Inbox()
    link = connect(crew.path, heard)
    send(link.channel(False), *(message(str(number)) for number in range(10)))
    channel = link.channel(False)
    subscription = channel.subscribe(Interest(address=FIRST), box)
    subscription.grant(10)
    tokens = [arrival.token for arrival in box.wait(10)]
    for file in crew.path.with_name("orders.db.d").glob("*.lock"):
        file.unlink()
    crew.start("hold")
    crew.wait(lambda: crew.words("holding"))
    answer = Answer()
    subscription.settle(tokens, Outcome.ACCEPTED, answer)
    with pytest.raises(LinkLost, match=r"took this one for dead, because its lock file in .*orders\.db\.d is gone"):
        answer.wait()
    _is_lost(link, heard, "took this one for dead")
    crew.end()
    again = connect(crew.path)
    assert [(one.envelope.body, one.redelivered) for one in receive(again)] == [(str(n), True) for n in range(10)]
    again.close()


@pytest.mark.parametrize("transacted", [False, True])
def test_a_disk_that_fails_after_commit_leaves_it_in_doubt(
    path: Path, monkeypatch: pytest.MonkeyPatch, transacted: bool
) -> None:
    with jmsbridge.connect(f"embedded:{path}", reconnect_attempts=0) as connection:
        session = connection.create_session(transacted)
        producer = session.create_producer(session.create_queue("first"))

        def fail(wal: int) -> None:
            raise OSError(errno.EIO, "Input/output error")

        monkeypatch.setattr(store, "_sync", fail)
        with pytest.raises(jmsbridge.InDoubt, match=f"{path}: the disk failed .*Input/output error"):
            producer.send("perhaps")
            session.commit()
        monkeypatch.undo()
    link = connect(path)
    assert [arrival.envelope.body for arrival in receive(link)] in ([], ["perhaps"])
    link.close()


def test_a_lock_of_another_program_is_waited_for_and_then_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = connect(path)
    send(link.channel(False), message("1"))
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    answer = Answer()
    link_channel = link.channel
    threading.Timer(0.3, lambda: other.execute("ROLLBACK")).start()
    channel = link_channel(False)  # waits for the lock
    channel.send(message("2"), answer)
    answer.wait()
    monkeypatch.setattr(store, "LOCK_WAIT", 0.2)
    monkeypatch.setattr(schema, "LOCK_WAIT", 0.2)
    other.execute("BEGIN IMMEDIATE")
    late = Answer()
    channel.send(message("3"), late)
    assert late.done.wait(10.0)
    assert isinstance(late.error, SendRefused)
    assert "another program has locked the file" in str(late.error)
    other.execute("ROLLBACK")
    other.close()
    send(channel, message("4"))
    assert [arrival.envelope.body for arrival in receive(link)] == ["1", "2", "4"]
    link.close()


def test_calls_of_a_link_wait_as_long_as_it_may_take_to_connect(path: Path) -> None:
    keeper, link = connect(path), connect(path, timeout=0.3)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(BackendError, match=r"did not answer within 0\.3 s; another program may have locked it"):
        link.channel(False)
    with pytest.raises(ConnectFailed, match=r"within 0\.3 s"):
        connect(path, timeout=0.3)
    other.execute("ROLLBACK")
    other.close()
    send(link.channel(False), message("1"))
    link.close()
    keeper.close()
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_locked_file_is_not_opened(path: Path) -> None:
    connect(path).close()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    started = time.monotonic()
    with pytest.raises(ConnectFailed, match=r"locked the file for 0\.3 s; end that program"):
        connect(path, timeout=0.3)
    assert 0.3 <= time.monotonic() - started < 5.0
    other.execute("ROLLBACK")
    other.close()
    connect(path).close()
    assert path.exists()


def test_a_clock_set_back_changes_no_order(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = connect(path)
    channel = link.channel(False)
    now = 2_000_000_000_000
    for number in range(6):
        monkeypatch.setattr(store, "_now", lambda number=number: now - number * 86_400_000)
        send(channel, message(str(number)))
    assert [arrival.envelope.body for arrival in receive(link)] == [str(number) for number in range(6)]
    link.close()


def test_a_clock_set_back_affects_only_delays_and_expiry(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    day, now = 86_400_000, 2_000_000_000_000
    monkeypatch.setattr(store, "_now", lambda: now)
    link = connect(path)
    channel, box = link.channel(False), Inbox()
    send(channel, message("gone", expiration=now + 1))
    monkeypatch.setattr(store, "_now", lambda: now + 10)
    send(channel, message("delayed", delivery_time=now + 500), message("kept", expiration=now + 500))
    monkeypatch.setattr(store, "_now", lambda: now - day)
    send(channel, message("brief", expiration=now - day + 5), message("1"))
    monkeypatch.setattr(store, "_now", lambda: now - day + 10)
    channel.subscribe(Interest(address=FIRST), box).grant(10)
    assert [arrival.envelope.body for arrival in box.wait(2)] == ["kept", "1"]
    assert isinstance(link, Admin)
    assert [info.depth for info in link.list_destinations()] == [3], "expired messages are gone, delayed ones wait"
    monkeypatch.setattr(store, "_now", lambda: now + 500)
    send(channel, message("2", SECOND))
    assert [arrival.envelope.body for arrival in box.wait(3)] == ["kept", "1", "delayed"]
    link.close()


def _damage(path: Path, where: Callable[[bytes], int], what: bytes) -> None:
    data = bytearray(path.read_bytes())
    start = where(bytes(data))
    data[start : start + len(what)] = what
    path.write_bytes(data)


def test_a_changed_message_is_reported_and_not_delivered(path: Path) -> None:
    link = connect(path)
    send(link.channel(False), message("before"), message("THE MESSAGE"), message("after"))
    link.close()
    _damage(path, lambda data: data.index(b"THE MESSAGE"), b"THE MASSAGE")
    heard, box = Heard(), Inbox()
    link = connect(path, heard)
    link.channel(False).subscribe(Interest(address=FIRST), box).grant(10)
    pause = threading.Event()
    while not heard.losses:
        pause.wait(0.01)
    assert "checksum" in str(heard.losses[0])
    assert str(path) in str(heard.losses[0])
    assert box.arrivals == []
    link.close()


def test_a_missing_body_is_reported(path: Path) -> None:
    link = connect(path)
    send(link.channel(False), message("x" * 5000))
    link.close()
    with sqlite3.connect(path) as salvaged:
        assert salvaged.execute("DELETE FROM body").rowcount == 1
    salvaged.close()
    link = connect(path)
    with pytest.raises(BackendError, match="the body of a message in"):
        receive(link)
    link.close()


def test_a_damaged_page_is_reported_also_when_it_is_opened_again(path: Path) -> None:
    link = connect(path)
    send(link.channel(False), *(message(f"{number} " + "x" * 300) for number in range(300)))
    link.close()
    pages = path.stat().st_size // 4096
    for page in range(pages * 2 // 3, pages):
        _damage(path, lambda data, page=page: page * 4096, b"\xff" * 4096)  # type: ignore[misc]
    assert "damaged" in _first_error(path)
    with pytest.raises(ConnectFailed, match=r"is damaged .* restore it"):
        connect(path)


def _first_error(path: Path) -> str:
    """The error that a consumer of all messages gets."""
    try:
        link = connect(path)
        answer = Answer()
        subscription = link.channel(False).subscribe(Interest(address=FIRST), Inbox())
        subscription.grant(1000)
        subscription.drain(answer)
        answer.wait(10.0)
    except (ConnectFailed, LinkLost) as error:
        return str(error)
    return "none"


def test_a_fork_leaves_the_file_to_the_parent(path: Path) -> None:
    link = connect(path)
    send(link.channel(False), message("1"))
    child = os.fork()
    if child == 0:
        try:
            link.channel(False)
        except LinkLost as error:
            os._exit(0 if "another process" in str(error) else 2)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    send(link.channel(False), message("2", SECOND))
    assert [arrival.envelope.body for arrival in receive(link)] == ["1"]
    link.close()
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_fork_waits_for_the_transaction_of_another_thread(path: Path) -> None:
    """The child would inherit its lock on the file, and nothing in it would release that."""
    link = connect(path)
    assert isinstance(link, FileLink)
    file = link.store
    inside, go_on = threading.Event(), threading.Event()

    def hold(batch: Batch) -> None:
        inside.set()
        go_on.wait(10.0)

    holding = threading.Thread(target=lambda: file.call(hold))
    holding.start()
    assert inside.wait(10.0)
    threading.Timer(0.2, go_on.set).start()
    child = os.fork()
    if child == 0:
        try:
            send(connect(path).channel(False), message("1"))
        finally:
            os._exit(0 if sys.exc_info()[0] is None else 1)
    assert go_on.is_set()
    holding.join(10.0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert [arrival.envelope.body for arrival in receive(link)] == ["1"]

"""The pipelines as real jobs on embedded file brokers; the command line in processes of its own."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import jmsbridge
from jmsbridge import Message, Session
from jmsbridge.documents import to_document
from jmsbridge.errors import ConfigurationError
from jmsbridge.spark import pipelines
from jmsbridge.spi import DEAD_LETTER_ORIGIN, DEAD_LETTER_REASON

pytestmark = [pytest.mark.server, pytest.mark.timeout(300)]  # the first test starts Java

SENT = 40


@pytest.fixture
def urls(tmp_path: Path) -> tuple[str, str]:
    """Two brokers; the first has messages of every kind."""
    here, there = (f"embedded:{tmp_path / name}.db" for name in ("here", "there"))
    with jmsbridge.connect(here) as connection:
        session = connection.create_session(True)
        producer = session.create_producer(jmsbridge.Queue("orders"))
        for number in range(SENT):
            message = _message(session, number)
            message.set_int_property("n", number)
            message.set_string_property("region", "eu" if number % 2 else "us")
            message.jms_correlation_id = f"c-{number}"
            producer.send(message, priority=number % 10)
        session.commit()
    return here, there


def _message(session: Session, number: int) -> Message:
    kind = number % 5
    if kind == 0:
        fields = session.create_map_message()
        fields.set_short("amount", number)
        return fields
    if kind == 1:
        data = session.create_bytes_message()
        data.write_bytes(bytes([number, 255]))
        return data
    if kind == 2:
        stream = session.create_stream_message()
        stream.write_long(number)
        return stream
    return session.create_object_message([number]) if kind == 3 else session.create_text_message(f"text {number}")


def documents(url: str, queue: str = "orders") -> dict[int, dict[str, Any]]:
    """The messages of a queue by their number, without what the provider sets."""
    found = {}
    with jmsbridge.connect(url) as connection:
        for message in connection.create_session().create_browser(jmsbridge.Queue(queue)):
            document = to_document(message)
            for name in ("jms_message_id", "jms_timestamp", "jms_delivery_time"):
                document["headers"].pop(name, None)
            number = message.get_int_property("n")
            assert number not in found
            found[number] = document
    return found


def ended(query: Any) -> None:
    assert query.awaitTermination(120)
    assert query.exception() is None


def test_a_bridge_keeps_everything(spark: Any, urls: tuple[str, str], tmp_path: Path) -> None:
    here, there = urls
    before = documents(here)
    source = {"url": here, "queue": "orders", "maxMessagesPerTrigger": 15}
    for _ in range(2):
        ended(pipelines.bridge(spark, source, {"url": there}, root=str(tmp_path / "job")))
    assert documents(there) == before
    assert not documents(here)


@pytest.mark.parametrize("transform", ["SELECT * FROM messages WHERE properties['region'] = 'eu'", "function"])
def test_a_bridge_changes_messages(spark: Any, urls: tuple[str, str], tmp_path: Path, transform: str) -> None:
    here, there = urls
    chosen = transform if transform != "function" else lambda frame: frame.where("properties['region'] = 'eu'")
    sink = {"url": there, "queue": "eu"}
    ended(pipelines.bridge(spark, {"url": here, "queue": "orders"}, sink, root=str(tmp_path / "job"), transform=chosen))
    assert sorted(documents(there, "eu")) == [number for number in range(SENT) if number % 2]


def test_a_bridge_whose_batches_are_too_large_for_exactness_is_refused(spark: Any, tmp_path: Path) -> None:
    source = {"url": "embedded:", "queue": "orders", "maxMessagesPerTrigger": 30_000}
    with pytest.raises(ConfigurationError, match=r"30000.*only 20000 ids"):
        pipelines.bridge(spark, source, {"url": "embedded:"}, root=str(tmp_path))


def test_an_archive_is_replayed(spark: Any, urls: tuple[str, str], tmp_path: Path) -> None:
    here, there = urls
    before = documents(here)
    archived = str(tmp_path / "archive")
    ended(pipelines.archive(spark, {"url": here, "queue": "orders"}, archived, root=str(tmp_path / "a")))
    assert not documents(here)
    folders = [path.name for path in Path(archived).glob("date=*/destination=*")]
    assert len(folders) >= 1
    assert pipelines.replayed(spark, archived, "priority = 3").count() == SENT // 10
    for _ in range(2):  # the second run finds nothing new
        ended(pipelines.replay(spark, archived, {"url": there}, root=str(tmp_path / "r"), where="priority < 5"))
    kept = {number: each for number, each in before.items() if number % 10 < 5}
    assert documents(there) == kept


@pytest.mark.parametrize("is_marked", [True, False])
def test_a_folder_belongs_to_one_pipeline(spark: Any, urls: tuple[str, str], tmp_path: Path, is_marked: bool) -> None:
    """Spark would not write the batches of another one, whose numbers the folder has."""
    source, to = {"url": urls[0], "queue": "orders"}, str(tmp_path / "files")
    ended(pipelines.archive(spark, source, to, root=str(tmp_path / "a")))
    if not is_marked:  # as an earlier version left it
        shutil.rmtree(f"{to}/_jmsbridge")
    with pytest.raises(ConfigurationError, match="files of another stream"):
        pipelines.archive(spark, source, to, root=str(tmp_path / "b"))
    with pytest.raises(ConfigurationError, match="files of another stream"):
        pipelines.drained_to(spark, source, to, "parquet", root=str(tmp_path / "b"))
    ended(pipelines.archive(spark, source, to, root=str(tmp_path / "a")))
    assert spark.read.parquet(to).count() == SENT


def test_a_folder_belongs_to_one_checkpoint(spark: Any, urls: tuple[str, str], tmp_path: Path) -> None:
    """With another one, numbers of batches begin anew, and Spark would write none of them."""
    source, to, root = {"url": urls[0], "queue": "orders"}, str(tmp_path / "files"), tmp_path / "a"
    ended(pipelines.archive(spark, source, to, root=str(root)))
    shutil.rmtree(root / "checkpoint")
    with pytest.raises(ConfigurationError, match="checkpoint"):
        pipelines.archive(spark, source, to, root=str(root))
    ended(pipelines.archive(spark, source, str(tmp_path / "new"), root=str(root)))


def test_a_drain_gives_batches(spark: Any, urls: tuple[str, str], tmp_path: Path) -> None:
    got: dict[int, int] = {}
    source = {"url": urls[0], "queue": "orders", "maxMessagesPerTrigger": 15}
    ended(pipelines.drain(spark, source, lambda rows, number: got.update({number: rows.count()}), root=str(tmp_path)))
    assert got == {0: 15, 1: 15, 2: 10}


def test_an_analysis_counts_by_time_and_property(spark: Any, urls: tuple[str, str], tmp_path: Path) -> None:
    here, to = urls[0], str(tmp_path / "table")
    settings: dict[str, Any] = {"by": ["region"], "value": "n", "window": "1 second", "delay": "0 seconds"}
    source = {"url": here, "queue": "orders"}
    ended(pipelines.analyse(spark, source, to, root=str(tmp_path / "job"), **settings))
    time.sleep(2)  # sleep: until the windows of the first messages are over
    with jmsbridge.connect(here) as connection:  # a later message, which ends the windows before it
        session = connection.create_session()
        session.create_producer(jmsbridge.Queue("orders")).send(session.create_text_message("later"))
    ended(pipelines.analyse(spark, source, to, root=str(tmp_path / "job"), **settings))
    totals = spark.read.parquet(to).groupBy("region").sum("count", "sum").collect()
    numbers = {"us": range(0, SENT, 2), "eu": range(1, SENT, 2)}
    assert {row[0]: (row[1], row[2]) for row in totals} == {
        region: (len(each), float(sum(each))) for region, each in numbers.items()
    }


def test_an_analysis_counts_messages_without_a_timestamp(spark: Any, tmp_path: Path) -> None:
    url, to = f"embedded:{tmp_path / 'untimed.db'}", str(tmp_path / "table")
    settings: dict[str, Any] = {"window": "1 second", "delay": "0 seconds", "root": str(tmp_path / "job")}
    with jmsbridge.connect(url) as connection:
        session = connection.create_session()
        producer = session.create_producer(jmsbridge.Queue("clicks"))
        producer.disable_message_timestamp = True
        for _ in range(2):
            producer.send(session.create_text_message("x"))
            ended(pipelines.analyse(spark, {"url": url, "queue": "clicks"}, to, **settings))
            time.sleep(2)  # sleep: until the window of the message is over
    assert [row["count"] for row in spark.read.parquet(to).collect()] == [1]


@pytest.mark.parametrize("by", [["Count"], ["a", "a"], ["max"]])
def test_an_analysis_by_a_name_of_its_own_columns_is_refused(spark: Any, by: list[str], tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="by: the table has a column"):
        pipelines.analyse(spark, {"url": "embedded:", "queue": "a"}, "/x", root=str(tmp_path), by=by, value="n")


def test_a_dry_run_counts_what_would_expire(spark: Any, tmp_path: Path) -> None:
    archived = str(tmp_path / "archive")
    row = "'queue:short' AS destination, 'x' AS body, timestamp'2020-01-01 00:00:00' AS expiration"
    spark.sql(f"SELECT {row}").write.parquet(archived)
    for ttl, expired in (({}, 1), ({"ttl": 0}, 0)):
        (counted,) = pipelines.replay_counts(spark, archived, {"url": "embedded:", **ttl}).collect()
        assert tuple(counted) == ("queue:short", 1, expired)


@pytest.fixture
def letters(tmp_path: Path) -> str:
    url = f"embedded:{tmp_path / 'letters.db'}"
    with jmsbridge.connect(url) as connection:
        session = connection.create_session()
        producer = session.create_producer(jmsbridge.Queue("dead"))
        for number in range(3):
            message = session.create_text_message("x")
            message.set_string_property(DEAD_LETTER_ORIGIN, "queue:orders" if number else "queue:other")
            message.set_string_property(DEAD_LETTER_REASON, "too often")
            producer.send(message)
    return url


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "jmsbridge.spark", *arguments]
    return subprocess.run(line, capture_output=True, text=True, timeout=200, check=False)


def test_the_command_reports_dead_letters(letters: str) -> None:
    done = command("dlq-report", "--from", letters, "--queue", "dead", "--json")
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(row["origin"], row["reason"], row["count"]) for row in found] == [
        ("queue:orders", "too often", 2),
        ("queue:other", "too often", 1),
    ]


def test_a_job_file_moves_messages_and_says_how_many(urls: tuple[str, str], tmp_path: Path) -> None:
    here, there = urls
    before = documents(here)
    job = tmp_path / "job.toml"
    job.write_text(
        f'pipeline = "bridge"\nroot = "{tmp_path}/root"\n'
        f'[source]\nurl = "{here}"\nqueue = "orders"\n[sink]\nurl = "{there}"\n'
    )
    done = command("run", str(job))
    assert done.returncode == 0, done.stderr
    assert f"{SENT} moved" in done.stderr
    assert documents(there) == before


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('pipeline = "brigde"', "brigde"),
        ('pipeline = "bridge"\nroot = "/x"\n[source]\n', "sink"),
        ('pipeline = "archive"\nroot = "/x"\nto = "/y"\nroots = 1\n[source]\n', "roots"),
        ("pipeline = ", "job.toml"),
    ],
)
def test_a_wrong_job_file_is_refused(text: str, problem: str, tmp_path: Path) -> None:
    from jmsbridge.spark.jobs import job_of

    path = tmp_path / "job.toml"
    path.write_text(text)
    with pytest.raises(ConfigurationError, match=problem):
        job_of(path)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ("archive --from embedded: --to /x --root /y -o que=orders", "did you mean 'queue'"),
        ("bridge --from embedded: -q orders --to embedded: --root /y -s tll=3", "did you mean 'ttl'"),
        ("bridge --from embedded: -q orders --to embedded: --root /y -o maxMessagesPerTrigger=30000", "only 20000 ids"),
        ("replay /x --to embedded:", "root is missing"),
        ("dlq-report --from embedded:", "queue is missing"),
        ("archive --from embedded: -q orders --to /x --root /y --trigger 10s", "trigger is '10s'"),
        ("bridge --from embedded: -q orders --to embedded: --root /y --trigger soon", "trigger is 'soon'"),
        ("drain --from embedded: -q orders --to /x --root /y -f parqet", "did you mean 'parquet'"),
        ("drain --from embedded: -q orders --to /x --root /y -f CSV", "no maps.*includeProperties=false.*json, orc"),
        ("drain --from embedded: -q orders --to /x --root /y -f text -o includeProperties=false", "it has one column"),
        ("drain --from embedded: -q orders --to /x --root /y -f xml", "rowTag"),
        ("analyse --from embedded: -q orders --to /x --root /y --by count", "column 'count' of its own"),
    ],
)
def test_a_wrong_option_ends_the_command_with_2_before_java_starts(
    arguments: str, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    done = command(*arguments.split())
    assert done.returncode == 2, done.stderr
    assert re.search(problem, " ".join(done.stderr.split()))
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["bridge", "--to", "embedded:", "--transform", "SELECT nosuch FROM messages"], "nosuch"),
        (["bridge", "--to", "embedded:", "--transform", "SELEKT"], "PARSE_SYNTAX_ERROR"),
        (["drain", "--to", "files", "-f", "delta"], "DATA_SOURCE_NOT_FOUND"),
        (["analyse", "--to", "files", "--window", "5m"], "CANNOT_PARSE_INTERVAL"),
    ],
)
def test_what_spark_refuses_ends_the_command_with_2(arguments: list[str], problem: str, tmp_path: Path) -> None:
    given = [str(tmp_path / each) if each == "files" else each for each in arguments]
    done = command(*given, "--from", f"embedded:{tmp_path / 'b.db'}", "-q", "orders", "--root", str(tmp_path / "root"))
    assert done.returncode == 2, done.stderr
    assert problem in done.stderr
    assert "Traceback" not in done.stderr
    assert "at org.apache" not in done.stderr


def test_archived_files_that_are_not_there_end_the_command_with_1(tmp_path: Path) -> None:
    done = command("replay", str(tmp_path / "nothing"), "--to", "embedded:", "--root", str(tmp_path / "root"))
    assert done.returncode == 1, done.stderr
    assert "PATH_NOT_FOUND" in done.stderr


@pytest.mark.parametrize("rate", [0, -1])
def test_a_rate_that_sends_nothing_is_refused(rate: int, spark: Any, tmp_path: Path) -> None:
    from jmsbridge.spark.jobs import Replay

    sink = {"url": "embedded:"}
    with pytest.raises(ConfigurationError, match=f"rate is {rate}"):
        Replay(archived="/x", sink=sink, root="/y", rate=rate).check()
    with pytest.raises(ConfigurationError, match=f"rate is {rate}"):
        pipelines.replay(spark, "/x", sink, root=str(tmp_path), rate=rate)


@pytest.mark.parametrize("trigger", ["available-now", "0 seconds", "interval 1 hour 30 minutes", " 1.5 SECONDS "])
def test_triggers_of_spark(trigger: str) -> None:
    pipelines.check_trigger(trigger)
    with pytest.raises(ConfigurationError, match="give an interval in words"):
        pipelines.check_trigger(f"{trigger} later")


def test_a_drain_without_properties_may_be_csv(spark: Any, urls: tuple[str, str], tmp_path: Path) -> None:
    to, source = str(tmp_path / "files"), {"url": urls[0], "queue": "orders", "includeProperties": False}
    ended(pipelines.drained_to(spark, source, to, "csv", root=str(tmp_path / "root")))
    assert spark.read.csv(to).count() == SENT


@pytest.mark.parametrize(
    ("ending", "send"), [(signal.SIGINT, os.kill), (signal.SIGTERM, os.kill), (signal.SIGTERM, os.killpg)]
)
def test_an_endless_job_stops_and_goes_on(
    urls: tuple[str, str], tmp_path: Path, ending: signal.Signals, send: Callable[[int, int], None]
) -> None:
    """Also where Java gets the signal, too, as from systemd."""
    here, there = urls
    before = documents(here)
    line = ["bridge", "--from", here, "-q", "orders", "--to", there, "--root", str(tmp_path / "root")]
    with subprocess.Popen(
        [sys.executable, "-m", "jmsbridge.spark", *line, "--trigger", "0 seconds"],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as running:
        deadline = time.monotonic() + 120
        while not Path(there.removeprefix("embedded:")).exists():
            assert time.monotonic() < deadline
            assert running.poll() is None
            time.sleep(0.2)  # sleep: between two looks at another process
        send(running.pid, ending)
        _, said = running.communicate(timeout=120)
    assert running.returncode == 130, said
    assert "moved" in said
    assert "Traceback" not in said
    assert send == os.killpg or "\tat org.apache" not in said
    assert command(*line).returncode == 0
    assert documents(there) == before

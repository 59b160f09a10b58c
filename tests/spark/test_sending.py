"""Rows sent to the embedded file broker, without Spark: pipelined, confirmed, killed at named points and sent again."""

import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import jmsbridge
from jmsbridge.errors import ConfigurationError, JMSException
from jmsbridge.spark.options import WriteOptions, write_options
from jmsbridge.spark.sending import Sender, Sent, cached, check_ids, forget

ROWS = [{"messageId": f"ID:{number}", "body": f"body {number}"} for number in range(60)]


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"embedded:{tmp_path / 'broker.db'}"


def sent(options: WriteOptions, rows: list[dict[str, Any]]) -> Sent:
    """What a task does with these rows, in batches of 25."""
    with jmsbridge.connect(options.url) as connection:
        sender = Sender(options, connection)
        try:
            names = {name for row in rows for name in row}
            whole = [dict.fromkeys(names) | row for row in rows]
            for start in range(0, len(rows), 25):
                sender.send(pa.RecordBatch.from_pylist(whole[start : start + 25]))
            return sender.finish()
        finally:
            sender.close()


def bodies(url: str, queue: str = "orders") -> Counter[str]:
    with jmsbridge.connect(url) as connection:
        browser = connection.create_session().create_browser(jmsbridge.Queue(queue))
        return Counter(str(message.get_body(str)) for message in browser)


def test_rows_are_messages_and_rows_sent_again_are_dropped(url: str) -> None:
    options = write_options({"url": url, "queue": "orders", "confirmWindow": "7"})
    first = sent(options, ROWS)
    assert (first.rows, first.without_id, first.guarantee) == (60, 0, "exactly-once")
    assert first.ids == {"queue:orders": {row["messageId"] for row in ROWS}}
    sent(options, ROWS[::-1])
    assert bodies(url) == Counter(row["body"] for row in ROWS)


def test_rows_without_an_id_are_at_least_once_and_counted(url: str) -> None:
    options = write_options({"url": url, "queue": "orders"})
    nameless = [row | {"messageId": None} for row in ROWS[:2]]
    got = sent(options, [*nameless, *ROWS[2:]])
    assert (got.without_id, got.guarantee) == (2, "at-least-once: some rows have no id")
    for given in ({"dedupId": "none"}, {"transacted": "true"}):
        assert sent(write_options({"url": url, "queue": "orders"} | given), ROWS).guarantee == "at-least-once"
    assert bodies(url)["body 5"] == 3


def test_any_column_can_be_the_id(url: str) -> None:
    options = write_options({"url": url, "queue": "orders", "dedupId": "key"})
    for _ in range(2):
        sent(options, [row | {"key": row["body"], "messageId": None} for row in ROWS])
    assert sum(bodies(url).values()) == 60


def test_more_rows_than_the_broker_remembers_are_refused(url: str) -> None:
    options = write_options({"url": url, "queue": "orders", "duplicateWindow": "30"})
    with pytest.raises(ConfigurationError, match=r"31 rows for queue:orders.*maxMessagesPerTrigger.*duplicateWindow"):
        sent(options, ROWS)
    sent(write_options({"url": url, "queue": "orders"}), ROWS)  # what arrived before the refusal is dropped now
    assert sum(bodies(url).values()) == 60
    tasks = [Sent(ids={"queue:a": {f"{task} {number}" for number in range(15)}}) for task in range(3)]
    check_ids(options, tasks[:2])
    with pytest.raises(ConfigurationError, match="45 rows for queue:a"):
        check_ids(options, tasks)


def test_an_id_of_several_rows_is_refused(url: str) -> None:
    """The broker would keep one of them, and drop the others as sent again."""
    options = write_options({"url": url, "queue": "orders"})
    with pytest.raises(ConfigurationError, match=r"for queue:orders have 'ID:5' in the column messageId.*dedupId=none"):
        sent(options, [*ROWS, ROWS[5]])
    tasks = [sent(options, ROWS[:30]), sent(options, ROWS[30:])]
    check_ids(options, tasks)
    with pytest.raises(ConfigurationError, match="have 'ID:7' in the column messageId"):
        check_ids(options, [*tasks, Sent(ids={"queue:orders": {"ID:7"}})])
    elsewhere = [ROWS[0] | {"destination": "a"}, ROWS[0] | {"destination": "b"}]
    assert sent(write_options({"url": url}), elsewhere).rows == 2


def test_an_empty_text_is_no_id(url: str) -> None:
    nameless = [row | {"messageId": ""} for row in ROWS[:3]]
    assert sent(write_options({"url": url, "queue": "orders"}), nameless).without_id == 3
    assert sum(bodies(url).values()) == 3


def test_a_transaction_appears_as_a_whole_or_not_at_all(url: str) -> None:
    options = write_options({"url": url, "queue": "orders", "transacted": "true", "transactionSize": "40"})
    with pytest.raises(JMSException):
        sent(options, [*ROWS[:30], {"messageId": "x", "body": "y", "priority": 10}])
    assert not bodies(url)
    with pytest.raises(JMSException):
        sent(options, [*ROWS, {"messageId": "x", "body": "y", "priority": 10}])
    assert sum(bodies(url).values()) == 40
    sent(options, ROWS)
    assert sum(bodies(url).values()) == 100


def test_each_row_says_where_it_goes_unless_an_option_does(url: str) -> None:
    rows = [ROWS[0] | {"destination": "a"}, ROWS[1] | {"destination": "queue:b"}]
    sent(write_options({"url": url}), rows)
    assert (bodies(url, "a"), bodies(url, "b")) == (Counter(["body 0"]), Counter(["body 1"]))
    sent(write_options({"url": url, "destination": "c"}), rows)
    assert len(bodies(url, "c")) == 2
    with pytest.raises(JMSException, match=r"row 1 of this task.*no destination: give the option queue"):
        sent(write_options({"url": url}), ROWS)


def test_options_of_the_sink_win_over_columns(url: str) -> None:
    given = {"url": url, "queue": "orders", "ttl": "0", "priority": "9", "deliveryMode": "NON_PERSISTENT"}
    with jmsbridge.connect(url) as connection:
        sent(write_options(given), [ROWS[0] | {"expiration": None, "priority": 1, "deliveryMode": "PERSISTENT"}])
        connection.start()
        got = connection.create_session().create_consumer(jmsbridge.Queue("orders")).receive(timeout=30)
        assert got is not None
        assert (got.jms_priority, got.jms_expiration) == (9, 0)
        assert got.jms_delivery_mode == jmsbridge.DeliveryMode.NON_PERSISTENT


def test_rows_are_sent_at_a_rate(url: str) -> None:
    began = time.monotonic()
    sent(write_options({"url": url, "queue": "orders", "maxRate": "100"}), ROWS[:21])
    assert time.monotonic() - began >= 0.2
    assert sum(bodies(url).values()) == 21


def test_an_error_names_row_destination_broker_and_remedy(url: str) -> None:
    options = write_options({"url": url, "queue": "orders"})
    bad = [ROWS[0], ROWS[1] | {"bodyType": "map"}]
    with pytest.raises(JMSException, match=r"row 2 of this task, for queue:orders at embedded:.*not JSON.*correct it"):
        sent(options, bad)


@pytest.mark.parametrize("priority", [77, -1])
def test_a_priority_that_does_not_exist_is_an_error_of_the_row(url: str, priority: int) -> None:
    rows = [{"body": "x", "priority": priority}]
    with pytest.raises(JMSException, match=rf"row 1 .* priority is {priority}, and a priority is 0 to 9; correct it"):
        sent(write_options({"url": url, "queue": "orders"}), rows)
    assert sent(write_options({"url": url, "queue": "orders", "priority": "3"}), rows).rows == 1


def test_a_broker_that_confirms_nothing_ends_the_task(url: str) -> None:
    with jmsbridge.connect(url) as connection:
        sender = Sender(write_options({"url": url, "queue": "orders", "confirmTimeout": "50ms"}), connection)
        sender._confirmations.begin()  # a send whose confirmation never comes
        with pytest.raises(JMSException, match=r"none of 1 sends for 0.05 s \(confirmTimeout\)"):
            sender.finish()


def test_tasks_share_the_connection_of_their_process_until_an_error(url: str) -> None:
    options = write_options({"url": url, "queue": "orders"})
    first = cached(options)
    assert cached(write_options({"url": url, "queue": "orders"})) is first
    forget(options)
    second = cached(options)
    assert second is not first
    for number in range(4):
        cached(write_options({"url": url, "queue": f"other {number}"}))
    assert cached(options) is not second
    for each in (options, *(write_options({"url": url, "queue": f"other {number}"}) for number in range(4))):
        forget(each)


KILLED = """
import os, signal, sys
import jmsbridge, pyarrow as pa
from jmsbridge.spark.options import write_options
from jmsbridge.spark.sending import Sender

point, url = sys.argv[1:3]
rows = [{"messageId": f"ID:{n}", "body": f"body {n}"} for n in range(60)]
options = write_options({"url": url, "queue": "orders"} | dict(each.split("=") for each in sys.argv[3:]))
sender = Sender(options, jmsbridge.connect(url))
sender.send(pa.RecordBatch.from_pylist(rows[:40] if point == "mid-way" else rows))
if point != "unconfirmed":
    sender.finish()
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("point", ["mid-way", "unconfirmed", "after all"])
@pytest.mark.parametrize("transacted", ["true", "false"])
def test_killed_and_sent_again_in_another_order(url: str, point: str, transacted: str) -> None:
    """As when Spark repeats a task, or a batch whose plan is not deterministic: no row is lost; none twice with ids."""
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, point, url, f"transacted={transacted}"], timeout=50, check=False
    )
    assert killed.returncode == -9
    again = random.Random(4).sample(ROWS, len(ROWS))
    options = write_options({"url": url, "queue": "orders", "transacted": transacted})
    sent(options, again)
    got = bodies(url)
    assert set(got) == {row["body"] for row in ROWS}
    if transacted == "false":
        assert max(got.values()) == 1
    else:
        assert sum(got.values()) == 60 + {"mid-way": 40, "unconfirmed": 0, "after all": 60}[point]

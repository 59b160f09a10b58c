"""100,000 messages of all kinds, with all property types, from one broker to another and back, killed on the way."""

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import jmsbridge
from integration.lab.broker import Broker
from integration.lab.fixtures import StartBroker
from integration.spark.brokers import DETECTING, NOT_DETECTING
from integration.spark.killing import kill_all
from jmsbridge import Message, Session
from jmsbridge.documents import to_document

pytestmark = [
    pytest.mark.long,
    pytest.mark.broker(NOT_DETECTING, DETECTING),
    pytest.mark.timeout(2400),
    pytest.mark.filterwarnings("ignore::jmsbridge.errors.EmulationWarning"),  # transactions to send many at once
]

SENT, BATCH = 100_000, 10_000
QUEUE = jmsbridge.Queue("orders")
_PATIENCE = 600.0
_OF_THE_PROVIDER = ("jms_message_id", "jms_timestamp", "jms_delivery_time", "jms_redelivered", "jms_destination")


def test_a_migration_and_back_keeps_all_messages_and_types(own_broker: StartBroker, tmp_path: Path) -> None:
    """Each leg is killed once. Exactly once to the broker that detects duplicates; some twice on the way back."""
    here, there = own_broker(NOT_DETECTING), own_broker(DETECTING)
    with _timed("sent"):
        before = _send(here)
    with _timed("moved there"):
        _move(here, there, tmp_path / "there")
    with jmsbridge.connect(there.url()) as connection:
        assert connection.admin.depth(QUEUE) == SENT
    with _timed("moved back"):
        _move(there, here, tmp_path / "back")
    with _timed("received"):
        after = _received(here)
    lost, changed = before.keys() - after.keys(), after.keys() - before.keys()
    assert not lost, (
        f"{len(lost)} are lost or changed, such as {min(lost)}, {len(changed)} are new, {changed and min(changed)}"
    )
    assert not changed
    print(f"{after.total() - SENT} came twice")
    assert after.total() <= SENT + BATCH


@contextmanager
def _timed(what: str) -> Iterator[None]:
    began = time.monotonic()
    yield
    print(f"{what}: {time.monotonic() - began:.1f} s")


def _send(broker: Broker) -> Counter[str]:
    sent: Counter[str] = Counter()
    with jmsbridge.connect(broker.url()) as connection:
        session = connection.create_session(True)
        producer = session.create_producer(QUEUE)
        for number in range(SENT):
            message = _message(session, number)
            producer.send(message, priority=number % 10)
            sent[_text(message)] += 1
            if number % 1000 == 999:
                session.commit()
    assert len(sent) == SENT
    return sent


def _received(broker: Broker) -> Counter[str]:
    got: Counter[str] = Counter()
    with jmsbridge.connect(broker.url()) as connection:
        connection.start()
        consumer = connection.create_session(True).create_consumer(QUEUE, prefetch=2000)
        while (message := consumer.receive(timeout=5)) is not None:
            got[_text(message)] += 1
    return got


def _text(message: Message) -> str:
    """All of a message that is not the provider's, one text for the same message."""
    document = to_document(message)
    for name in _OF_THE_PROVIDER:
        document["headers"].pop(name, None)
    document["properties"].pop("JMSXDeliveryCount", None)
    return json.dumps(document, sort_keys=True)


def _message(session: Session, number: int) -> Message:
    message = _KINDS[number % len(_KINDS)](session, number)
    message.jms_correlation_id = f"c-{number}"
    message.jms_type = "order"
    message.jms_reply_to = jmsbridge.Queue("replies")
    message.set_boolean_property("boolean", bool(number % 2))
    message.set_byte_property("byte", number % 128)
    message.set_short_property("short", number % 32768)
    message.set_int_property("int", number)
    message.set_long_property("long", number << 33)
    message.set_float_property("float", number / 8)
    message.set_double_property("double", number / 7)
    message.set_string_property("string", f"grün {number}")
    return message


def _map(session: Session, number: int) -> Message:
    fields = session.create_map_message()
    fields.set_short("short", number % 32768)
    fields.set_char("char", "x")
    fields.set_float("float", 0.5)
    fields.set_bytes("bytes", bytes([number % 256]))
    fields.set_string("string", f"{number}")
    return fields


def _bytes(session: Session, number: int) -> Message:
    data = session.create_bytes_message()
    data.write_bytes(number.to_bytes(4, "big") + b"\xff")
    return data


def _stream(session: Session, number: int) -> Message:
    stream = session.create_stream_message()
    stream.write_long(number)
    stream.write_boolean(True)
    stream.write_byte(7)
    return stream


_KINDS = (
    _map,
    _bytes,
    _stream,
    lambda session, number: session.create_object_message([number, {"a": 2.5}]),
    lambda session, number: session.create_text_message(f"text {number} grün"),
    lambda session, number: session.create_message(),
)


def _move(source: Broker, target: Broker, folder: Path) -> None:
    """The pipeline, killed after three batches, and started again."""
    folder.mkdir()
    killed = _bridge(source, target, folder)
    deadline = time.monotonic() + _PATIENCE
    while not (folder / "root" / "checkpoint" / "commits" / "2").exists():
        assert killed.poll() is None, killed.communicate()[1][-3000:]
        assert time.monotonic() < deadline
        time.sleep(0.1)  # sleep: a file of another process wakes nobody
    kill_all(folder)
    killed.communicate()
    again = _bridge(source, target, folder)
    try:
        _, said = again.communicate(timeout=_PATIENCE)
    finally:
        kill_all(folder)
    assert again.returncode == 0, said[-3000:]
    print(said.splitlines()[-1])


def _bridge(source: Broker, target: Broker, folder: Path) -> "subprocess.Popen[str]":
    env = {"JOB_FOLDER": str(folder), "SOURCE_PASSWORD": source.password, "SINK_PASSWORD": target.password}
    line = [sys.executable, "-m", "jmsbridge.spark", "bridge", "--root", str(folder / "root"), "--queue", "orders"]
    line += ["--from", source.url(user=None), "--to", target.url(user=None), "-o", f"maxMessagesPerTrigger={BATCH}"]
    for broker, option, name in ((source, "-o", "SOURCE"), (target, "-s", "SINK")):
        if broker.login:
            line += [option, f"user={broker.user}", option, f"passwordEnv={name}_PASSWORD"]
    return subprocess.Popen(line, env=os.environ | env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
